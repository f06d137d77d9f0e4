//! What servers taught about single models, such as necessary field rules; kept for this session and, if there is a file, for later ones.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::known_servers::{KnownServers, ModelKey};
use crate::text_tools;
use base::clock;
use base::config::provider::models;
use base::config::settings::{ProviderSettings, ToolCalls};
use base::model::provider::ProviderError;
use base::model::request::{Message, Request};
use base::process::task;

#[derive(Debug)]
pub struct PerModel<T>(Mutex<HashMap<Arc<str>, T>>);

impl<T> Default for PerModel<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> PerModel<T> {
    pub fn get(&self, model: &str) -> Option<T> {
        self.0.lock().get(model).cloned()
    }

    pub fn set(&self, model: &str, learned: T) -> Option<T> {
        self.0.lock().insert(model.into(), learned)
    }
}

pub type Rules = Vec<&'static FieldRule>;

#[derive(Debug, Default)]
pub struct Lessons {
    kept: Option<KnownServers>,
    server: String,
    /// The user's settings, for all models.
    set: Rules,
    models: PerModel<Rules>,
}

impl Lessons {
    pub fn new(settings: &ProviderSettings, server: String) -> Self {
        let kept = settings.servers.as_deref().map(KnownServers::new);
        let set = if settings.tool_calls == ToolCalls::Text { vec![&TOOLS] } else { Rules::new() };
        Self { kept, server, set, models: PerModel::default() }
    }

    pub async fn of(&self, model: &Arc<str>) -> Rules {
        if let Some(rules) = self.models.get(model) {
            return rules;
        }
        let mut rules: Rules = match self.kept.clone() {
            Some(kept) => {
                let place = self.place(model);
                let refused = task::blocking(move || kept.get(&place).refused_fields(clock::now_ms())).await;
                refused.unwrap_or_default().iter().filter_map(|label| FieldRule::named(label)).collect()
            }
            None => Rules::new(),
        };
        rules.extend(self.set.iter().copied().filter(|set| !rules.contains(set)).collect::<Rules>());
        self.models.set(model, rules.clone());
        rules
    }

    /// Stores the rules after a request with them was answered.
    pub async fn keep(&self, model: &Arc<str>, rules: &Rules) {
        self.models.set(model, rules.clone());
        if let Some(kept) = self.kept.clone() {
            let (place, fields) = (self.place(model), rules.iter().map(|rule| rule.label()).collect());
            let _ = task::blocking(move || kept.refuses(&place, fields)).await;
        }
    }

    fn place(&self, model: &Arc<str>) -> ModelKey {
        ModelKey { server: self.server.clone(), model: model.to_string() }
    }
}

/// Models to use if the account can't use its vendor's default.
#[derive(Debug, Default)]
pub struct Instead {
    /// The default comes first.
    models: Vec<Arc<str>>,
    used: AtomicUsize,
}

impl Instead {
    pub fn new(settings: &ProviderSettings) -> Self {
        let next = settings.next_models.iter().cloned();
        Self { models: std::iter::once(Arc::clone(&settings.model)).chain(next).collect(), ..Self::default() }
    }

    pub fn of(&self, model: &mut Arc<str>) {
        if self.models.first() == Some(model) {
            *model = Arc::clone(&self.models[self.used.load(Ordering::Relaxed)]);
        }
    }

    /// Switches to the next model; `false` if there is none.
    pub fn learn(&self, model: &mut Arc<str>, error: &ProviderError) -> bool {
        let (ProviderError::NotFound { message, .. } | ProviderError::Auth { status: 403, message }) = error
        else {
            return false;
        };
        let at = self.models.iter().position(|known| known == model);
        let at = at.filter(|at| message.to_lowercase().contains("model") && at + 1 < self.models.len());
        if let Some(at) = at {
            *model = Arc::clone(&self.models[at + 1]);
            self.used.store(at + 1, Ordering::Relaxed);
        }
        at.is_some()
    }
}

pub fn tools_as_text(rules: &[&FieldRule]) -> bool {
    rules.contains(&&TOOLS)
}

/// Applies the rules to `body`; `stop` is the dialect's field for stop words.
pub fn under(rules: &[&FieldRule], body: String, stop: Option<&str>) -> String {
    if rules.is_empty() {
        return body;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(&body) else { return body };
    rules.iter().filter(|rule| **rule != &TOOLS).for_each(|rule| rule.apply(&mut value));
    if let (Some(field), true, Value::Object(map)) = (stop, tools_as_text(rules), &mut value) {
        map.shift_insert(0, field.to_owned(), json!([text_tools::STOP]));
    }
    value.to_string()
}

#[derive(Debug, PartialEq, Eq)]
pub struct FieldRule {
    /// From the top of the body; `*` is every element of a list, `**` any depth.
    pub path: &'static str,
    becomes: Option<&'static str>,
    /// Lowercase words, one of which must occur; if empty, the path or its last name.
    said: Vec<&'static str>,
}

static RULES: LazyLock<Vec<FieldRule>> = LazyLock::new(|| {
    let rows = include_str!("field_rules.txt").lines().filter(|row| !row.starts_with('#'));
    let rule = |row: &'static str| {
        let (field, said) = row.split_once(": ").unwrap_or((row, ""));
        let (path, becomes) = match field.split_once(" -> ") {
            Some((path, other)) => (path, Some(other)),
            None => (field, None),
        };
        let said = said.split(" | ").filter(|words| !words.is_empty()).collect();
        FieldRule { path, becomes, said }
    };
    rows.map(rule).collect()
});

/// For servers and models that refuse tools. The request is sent as text (`text_tools.rs`), so no field is changed.
pub static TOOLS: FieldRule = FieldRule { path: "tools", becomes: Some("text"), said: Vec::new() };

impl FieldRule {
    pub fn named(label: &str) -> Option<&'static Self> {
        RULES.iter().chain([&TOOLS]).find(|rule| rule.label() == label)
    }

    pub fn label(&self) -> String {
        self.becomes.map_or_else(|| self.path.to_owned(), |other| format!("{} (sent as {other})", self.path))
    }

    pub fn for_refusal(error: &ProviderError, body: &str, required: &[&str]) -> Option<&'static Self> {
        let message = match error {
            ProviderError::BadRequest { status: 400 | 422, message }
            | ProviderError::Server { status: 500 | 501, message, .. } => message.to_lowercase(),
            _ => return None,
        };
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        // A schema may be refused because something in it is missing, but then the request itself lacks nothing.
        let of_schema = says(&["text.format", "response_format", "output_config.format"]);
        if !of_schema && says(&["missing", "required"]) {
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
        match &self.said[..] {
            [] => names(message, self.path.rsplit('.').next().unwrap_or(self.path)),
            said => said.iter().any(|words| words.split(" + ").all(|part| message.contains(part))),
        }
    }

    pub fn apply(&self, body: &mut Value) {
        let way: Vec<&str> = self.path.split('.').collect();
        change(body, &way, self.becomes);
    }
}

/// Whether the message names the field; a plain word must be marked as a name.
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
        ([field], Value::Object(map)) if field.contains('=') => {
            let value =
                field.split_once('=').and_then(|(name, old)| map.get_mut(name).filter(|value| *value == old));
            if let (Some(value), Some(other)) = (value, becomes) {
                *value = json!(other);
            }
        }
        ([field], Value::Object(map)) => match becomes {
            None => drop(map.shift_remove(*field)),
            Some(other) if map.contains_key(*field) => {
                // Renamed in place, so that the messages stay last.
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
                // A call's arguments belong to the model.
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

#[derive(Debug, Default)]
pub struct Sight {
    blind: PerModel<()>,
    /// The data of images that a server couldn't read.
    unreadable: Mutex<Vec<Arc<str>>>,
}

/// What servers say of one image: Anthropic (claude-code#56016), OpenAI (November 2026).
const UNREADABLE: [&str; 4] =
    ["could not process image", "unsupported image", "image is valid", "invalid image"];

impl Sight {
    pub fn of<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let (sees, unreadable) = (self.sees(&request.params.model), self.unreadable.lock());
        if !has_images(request) || sees && unreadable.is_empty() {
            return Cow::Borrowed(request);
        }
        let mut request = request.clone();
        for message in &mut request.messages {
            if let Message::Image(image) = message
                && (!sees || unreadable.contains(&image.data))
            {
                let why = if sees { "; the server can't read it" } else { "; this model can't see images" };
                *message = Message::User(image.placeholder(why).into());
            }
        }
        Cow::Owned(request)
    }

    fn sees(&self, model: &str) -> bool {
        self.blind.get(model).is_none() && models::facts(model).is_none_or(|facts| facts.images)
    }

    /// Whether an error says, for the first time, that images aren't accepted, or that one can't be read, likely the newest.
    pub fn learn(&self, request: &Request, error: &ProviderError) -> bool {
        let message = match error {
            ProviderError::BadRequest { message, .. }
            | ProviderError::NotFound { message, .. }
            | ProviderError::Server { message, .. } => message.to_lowercase(),
            _ => return false,
        };
        // OpenRouter: "No endpoints found that support image input"; llama.cpp mentions the `mmproj` file.
        let about_images =
            ["image", "vision", "multimodal", "mmproj"].iter().any(|word| message.contains(word));
        let model = &request.params.model;
        if UNREADABLE.iter().any(|words| message.contains(words)) && self.sees(model) {
            let mut unreadable = self.unreadable.lock();
            let newest = request.messages.iter().rev().find_map(|message| match message {
                Message::Image(image) => Some(&image.data).filter(|data| !unreadable.contains(*data)),
                _ => None,
            });
            return newest.map(|data| unreadable.push(Arc::clone(data))).is_some();
        }
        about_images && has_images(request) && self.sees(model) && self.blind.set(model, ()).is_none()
    }
}

fn has_images(request: &Request) -> bool {
    request.messages.iter().any(|message| matches!(message, Message::Image(_)))
}
