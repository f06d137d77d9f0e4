//! How reasoning is sent back to a Chat Completions server: only what it made itself, under the same field name, and in
//! messages that also have calls. Some servers refuse a history without it, others refuse one with it:
//! - DeepSeek, Kimi and GLM want `reasoning_content` with calls (api-docs.deepseek.com thinking_mode;
//!   kimi-cli#2446 and #2498, which want it in every assistant message where thinking is preserved). A space
//!   replaces missing reasoning, because gateways drop an empty field (nanobot#946).
//! - Gemini wants the signature of a step's first call (ai.google.dev/gemini-api/docs/thought-signatures),
//!   and accepts a fixed word for calls that it didn't make.
//! - Mistral and Groq refuse unknown fields.
//!
//! The model table has the defaults; missing reasoning is added after an error, refused fields are handled in `learned/fields.rs`.
//! Read in November 2026. A rule that depended on the current turn would change old bytes, and so break the prompt cache.

use serde_json::{Value, json};

use base::config::provider::models::{self, Replay};
use base::model::item::Reasoning;
use base::model::provider::ProviderError;

pub const OPAQUE_KIND: &str = "openai-reasoning-content";
/// The field name for thinking inside the content.
pub const INLINE: &str = "content";
/// Servers' additions to their calls, which must be sent back.
pub const CALL_EXTRAS: [&str; 2] = ["extra_content", "provider_specific_fields"];

const CONTENT: &str = "reasoning_content";
const MADE_UP_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    Optional,
    WithCalls,
    Everywhere,
}

/// What a server demands of reasoning that is sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    content: Wanted,
    signature: bool,
    no_reasoning: bool,
    no_extras: bool,
}

impl Demands {
    /// `strict`: the server refuses unknown fields.
    pub fn at(strict: bool, model: &str) -> Self {
        if strict {
            return Self { no_reasoning: true, no_extras: true, ..Self::default() };
        }
        let replay = models::facts(model).and_then(|facts| facts.replay);
        let content = if replay == Some(Replay::Content) { Wanted::WithCalls } else { Wanted::Optional };
        Self { content, signature: replay == Some(Replay::Signature), ..Self::default() }
    }

    /// Adds a demand from an error about missing reasoning; `None` if it isn't new.
    pub fn after(self, error: &ProviderError) -> Option<Self> {
        let message = match error {
            ProviderError::BadRequest { message, .. }
            | ProviderError::ReasoningRejected(message)
            | ProviderError::Server { message, .. } => message.to_lowercase(),
            _ => return None,
        };
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        const MISSING: [&str; 6] =
            ["missing", "must be passed back", "must include", "must contain", "required", "requires"];
        let next = if says(&["thought_signature", "thought signature"]) && says(&MISSING) {
            Self { signature: true, no_extras: false, ..self }
        } else if says(&[CONTENT]) && says(&MISSING) {
            Self { content: Wanted::Everywhere, no_reasoning: false, ..self }
        } else {
            self
        };
        (next != self).then_some(next)
    }

    /// Adds reasoning to its message and calls, with what the server accepts in place of missing parts.
    pub fn apply(self, reasoning: &[&Reasoning], message: &mut Value, calls: &mut [Value]) {
        let own = reasoning.iter().filter_map(|reasoning| {
            let opaque = reasoning.opaque.as_ref().filter(|opaque| opaque["kind"] == OPAQUE_KIND)?;
            Some((&*reasoning.text, opaque))
        });
        if !self.no_extras {
            own.clone().for_each(|(_, opaque)| add_extras(opaque, calls));
        }
        let everywhere = self.content == Wanted::Everywhere;
        if !self.no_reasoning && (everywhere || !calls.is_empty()) {
            for (text, opaque) in own {
                add_reasoning(text, opaque, everywhere, message);
            }
        }
        let has = |fields: [&str; 2]| fields.iter().any(|field| !message[*field].is_null());
        let sealed = has(["reasoning_details", "thinking_blocks"]);
        let replayed = sealed || has([CONTENT, "reasoning"]);
        let wanted = match self.content {
            Wanted::Optional => false,
            Wanted::WithCalls => !calls.is_empty() && !replayed,
            Wanted::Everywhere => message[CONTENT].is_null(),
        };
        if wanted {
            message[CONTENT] = json!(" ");
        }
        // A gateway finds its calls' signatures in the signed blocks.
        if self.signature
            && !sealed
            && !calls.iter().any(|call| CALL_EXTRAS.iter().any(|extra| call[*extra].is_object()))
            && let Some(first) = calls.first_mut()
        {
            first["extra_content"] = json!({"google": {"thought_signature": MADE_UP_SIGNATURE}});
        }
    }
}

fn add_extras(opaque: &Value, calls: &mut [Value]) {
    for call in calls {
        let Some(extras) = call["id"].as_str().and_then(|id| opaque["extras"].get(id)) else { continue };
        let fields: Vec<_> =
            CALL_EXTRAS.iter().filter_map(|name| Some((*name, extras.get(*name)?))).collect();
        for (name, value) in &fields {
            call[*name] = (*value).clone();
        }
        // Older logs have only this field's value.
        if fields.is_empty() {
            call["extra_content"] = extras.clone();
        }
    }
}

fn add_reasoning(text: &str, opaque: &Value, everywhere: bool, message: &mut Value) {
    let field = opaque["field"].as_str().unwrap_or(CONTENT);
    let sealed = opaque["details"].as_array();
    if let Some(details) = sealed {
        let name = if field == "thinking_blocks" { field } else { "reasoning_details" };
        match message[name].as_array_mut() {
            Some(earlier) => earlier.extend(details.iter().cloned()),
            None => message[name] = json!(details),
        }
    }
    let name = match field {
        _ if text.is_empty() || sealed.is_some() && !everywhere => return,
        _ if everywhere => CONTENT,
        INLINE => {
            let said = message["content"].as_str().unwrap_or_default();
            message["content"] = json!(format!("<think>\n{text}\n</think>\n\n{said}"));
            return;
        }
        "reasoning" => field,
        _ => CONTENT,
    };
    let earlier = message[name].as_str().unwrap_or_default();
    message[name] = json!(format!("{earlier}{text}"));
}
