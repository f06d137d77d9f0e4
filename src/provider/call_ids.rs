//! Gives each call a unique id, because servers leave ids out, repeat them, or count from zero in each answer.

use std::collections::HashSet;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::Value;

use base::model::call::ToolCall;
use base::model::request::{Message, Request};

const MAX_ID_BYTES: usize = 256;
const MAX_NAME_BYTES: usize = 200;

#[derive(Clone, Debug, Default)]
pub struct CallIds {
    taken: HashSet<Arc<str>>,
    last: usize,
}

impl CallIds {
    pub fn of(request: &Request) -> Self {
        let taken: HashSet<Arc<str>> = request
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Call(call) => Some(Arc::clone(&call.id)),
                _ => None,
            })
            .collect();
        Self { last: taken.len(), taken }
    }

    /// `wanted` if it is free and valid, otherwise a new id: `call_<n>`, or `<wanted>_<n>` for a repeated one.
    pub fn claim(&mut self, wanted: &str) -> Arc<str> {
        // Servers refuse ids that are too long or not plain text when they come back.
        let usable = wanted.len() <= MAX_ID_BYTES && wanted.bytes().all(|byte| byte.is_ascii_graphic());
        let wanted = if usable { wanted } else { "" };
        let mut id: Arc<str> = wanted.into();
        while id.is_empty() || self.taken.contains(&id) {
            self.last += 1;
            let stem = if wanted.is_empty() { "call" } else { wanted };
            id = format!("{stem}_{}", self.last).into();
        }
        self.taken.insert(Arc::clone(&id));
        id
    }
}

pub fn bounded_name(name: &str) -> Arc<str> {
    name[..name.floor_char_boundary(MAX_NAME_BYTES)].into()
}

/// Several servers parse arguments of old calls and refuse a request if they aren't a JSON object.
pub fn arguments(call: &ToolCall) -> String {
    match call.parsed_args() {
        // Repaired arguments are sent back repaired.
        Ok(_) if call.args.trim_start().starts_with('{') && is_json(&call.args) => call.args.to_string(),
        Ok(args) => args.to_string(),
        // The call's result quotes the error.
        Err(_) => "{}".to_owned(),
    }
}

/// The arguments in a reply, given as text or as an object.
pub fn argument_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        whole => whole.to_string(),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// In Anthropic's format; other servers' ids may contain dots and colons.
pub fn safe_id(id: &str) -> String {
    id.chars().map(safe_char).collect()
}

/// In a format that every server accepts, because an invented name such as `functions.Read` would break all later requests.
pub fn safe_name(name: &str) -> String {
    let safe: String = name.chars().take(64).map(safe_char).collect();
    if safe.is_empty() { "unnamed".to_owned() } else { safe }
}

fn safe_char(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_unique() {
        let call = ToolCall { id: "a".into(), name: "Read".into(), args: "{}".into() };
        let request = Request { messages: vec![Message::Call(Arc::new(call))], ..Request::default() };
        let mut ids = CallIds::of(&request);
        assert_eq!(&*ids.claim("b"), "b");
        assert_eq!(&*ids.claim("b"), "b_2");
        assert_eq!(&*ids.claim("a"), "a_3");
        assert_eq!(&*ids.claim(""), "call_4");
        assert_eq!(&*ids.claim("call_5"), "call_5");
        assert_eq!(&*ids.claim(""), "call_6");
        assert_eq!(&*ids.claim(&"x".repeat(10_000)), "call_7");
        assert_eq!(&*ids.claim("a\u{1b}[31m"), "call_8");
    }

    #[test]
    fn safe_names() {
        assert_eq!(safe_name("Read"), "Read");
        assert_eq!(safe_name("functions.Read:0"), "functions_Read_0");
        assert_eq!(safe_name(""), "unnamed");
    }
}
