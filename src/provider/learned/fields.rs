//! Fields that a server may refuse and a request can do without. A 400 that names one is answered with the same
//! request without it, or with the field under its other name. One row per field; nothing else is given up.
//! Texts of refusals: openai-python#2072 (`max_completion_tokens`), Continue#9607 and #9779 (`reasoning.summary`),
//! and the pydantic paths of Anthropic, vLLM and FastAPI; read in November 2026.

use serde_json::Value;

use base::model::provider::ProviderError;

#[derive(Debug, PartialEq, Eq)]
pub struct FieldRule {
    /// From the body's top; `*` is every element of a list, `**` any depth.
    pub path: &'static str,
    becomes: Option<&'static str>,
    /// In lower case, any of them; without one, the path or its last name.
    said: &'static [&'static str],
}

const fn without(path: &'static str, said: &'static [&'static str]) -> FieldRule {
    FieldRule { path, becomes: None, said }
}

const fn renamed(path: &'static str, other: &'static str) -> FieldRule {
    FieldRule { path, becomes: Some(other), said: &["max_completion_tokens"] }
}

/// The most specific first.
static RULES: [FieldRule; 25] = [
    renamed("max_tokens", "max_completion_tokens"),
    renamed("max_completion_tokens", "max_tokens"),
    without("max_tokens", &[]),
    without("max_output_tokens", &[]),
    without("temperature", &["temperature"]),
    without("reasoning_effort", &["reasoning_effort", "reasoning effort"]),
    without("stream_options", &[]),
    without("reasoning.summary", &["reasoning.summary", "reasoning summar"]),
    without("reasoning.effort", &["reasoning.effort"]),
    without(
        "include",
        &["encrypted_content", "encrypted content is not supported", "'include'", "(include)"],
    ),
    without("reasoning", &[]),
    without("text", &["verbosity"]),
    without("parallel_tool_calls", &[]),
    without("prompt_cache_key", &[]),
    without("thinking.display", &["thinking.display", "adaptive.display"]),
    without("thinking", &["thinking.type", "adaptive thinking", "'thinking'", "`thinking`", "\"thinking\""]),
    without("output_config", &["output_config", "effort parameter"]),
    without("tools.*.strict", &[]),
    without("tools.**.additionalProperties", &["additionalproperties"]),
    without("**.cache_control", &["cache_control"]),
    without("**.detail", &[]),
    without("messages.*.reasoning_content", &[]),
    without("messages.*.reasoning_details", &[]),
    without("messages.*.tool_calls.*.extra_content", &[]),
    without("messages.*.tool_calls.*.provider_specific_fields", &[]),
];

/// For servers and models that refuse tools: the request is written out (`text_tools.rs`), so no field is changed.
pub static TOOLS: FieldRule = FieldRule { path: "tools", becomes: Some("text"), said: &[] };

impl FieldRule {
    pub fn named(label: &str) -> Option<&'static Self> {
        RULES.iter().chain([&TOOLS]).find(|rule| rule.label() == label)
    }

    /// For the user, and in records.
    pub fn label(&self) -> String {
        self.becomes.map_or_else(|| self.path.to_owned(), |other| format!("{} (sent as {other})", self.path))
    }

    /// The rule for what `error` refuses of `body`, a request's text.
    pub fn for_refusal(error: &ProviderError, body: &str, required: &[&str]) -> Option<&'static Self> {
        let message = match error {
            ProviderError::BadRequest { status: 400 | 422, message }
            | ProviderError::Server { status: 500 | 501, message, .. } => message.to_lowercase(),
            _ => return None,
        };
        if ["missing", "required"].iter().any(|word| message.contains(word)) {
            return None;
        }
        let mut named = RULES.iter().filter(|rule| !required.contains(&rule.path) && rule.is_meant(&message));
        let mut first = named.next()?;
        let body: Value = serde_json::from_str(body).ok()?;
        loop {
            let mut changed = body.clone();
            first.apply(&mut changed);
            if changed != body {
                return Some(first);
            }
            first = named.next()?;
        }
    }

    fn is_meant(&self, message: &str) -> bool {
        match self.said {
            [] => names(message, self.path.rsplit('.').next().unwrap_or(self.path)),
            said => said.iter().any(|words| message.contains(words)),
        }
    }

    pub fn apply(&self, body: &mut Value) {
        let way: Vec<&str> = self.path.split('.').collect();
        change(body, &way, self.becomes);
    }
}

/// A plain word must be marked as a name.
fn names(message: &str, field: &str) -> bool {
    message.match_indices(field).any(|(at, _)| {
        let (before, after) = (&message[..at], &message[at + field.len()..]);
        let within = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
        let marked = || before.ends_with(['\'', '"', '`', '(', '.']) || before.ends_with(": ");
        !within(before.chars().last()) && !within(after.chars().next()) && (field.contains('_') || marked())
    })
}

fn change(value: &mut Value, way: &[&str], becomes: Option<&str>) {
    match (way, value) {
        ([field], Value::Object(map)) => match becomes {
            None => drop(map.shift_remove(*field)),
            Some(other) if map.contains_key(*field) => {
                // In its place, so that the messages stay last.
                let renamed = |(name, value)| (if name == *field { other.to_owned() } else { name }, value);
                *map = std::mem::take(map).into_iter().map(renamed).collect();
            }
            Some(_) => {}
        },
        (["*", rest @ ..], Value::Array(list)) => {
            list.iter_mut().for_each(|value| change(value, rest, becomes));
        }
        (["**", rest @ ..], value) => {
            change(value, rest, becomes);
            match value {
                Value::Array(list) => list.iter_mut().for_each(|value| change(value, way, becomes)),
                // A call's arguments are the model's.
                Value::Object(map) => map
                    .iter_mut()
                    .filter(|(name, value)| *name != "input" || value.is_array())
                    .for_each(|(_, value)| change(value, way, becomes)),
                _ => {}
            }
        }
        ([field, rest @ ..], Value::Object(map)) => {
            if let Some(value) = map.get_mut(*field) {
                change(value, rest, becomes);
            }
        }
        _ => {}
    }
}
