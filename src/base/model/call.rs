//! A tool call as the model made it, and the specification of a tool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::json_repair;
use crate::text::one_line;

/// `args` is the model's text, verbatim even if it is invalid JSON, because it is shown, logged and replayed exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, made unique within the session; pairs the call with its result.
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub args: Arc<str>,
}

impl ToolCall {
    /// One line from logged data, for resumed sessions.
    pub fn title(&self) -> String {
        let args: Value = serde_json::from_str(&self.args).unwrap_or_default();
        let key = ["command", "path", "pattern", "query", "id", "name", "description", "summary"]
            .iter()
            .find_map(|key| args.get(*key).and_then(Value::as_str));
        match key {
            Some(value) => format!("{} {}", self.name, one_line(value, 200)),
            None => self.name.to_string(),
        }
    }

    /// Empty text and `null` count as `{}`; an object inside a string is unwrapped. The error goes back to the model.
    pub fn parsed_args(&self) -> Result<Value, String> {
        let args = if self.args.trim().is_empty() { "{}" } else { &self.args };
        match serde_json::from_str::<Value>(args) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(Value::Null) => Ok(serde_json::json!({})),
            Ok(Value::String(inner)) if inner.trim_start().starts_with('{') => serde_json::from_str(&inner)
                .ok()
                .filter(Value::is_object)
                .ok_or_else(|| "the arguments must be a JSON object, not text".to_owned()),
            Ok(Value::Array(mut list)) if list.len() == 1 && list[0].is_object() => Ok(list.remove(0)),
            Ok(_) => Err("the arguments must be a JSON object".to_owned()),
            Err(error) => json_repair::object(args).ok_or_else(|| {
                format!("the arguments are not valid JSON: {error}, near `{}`", near(args, &error))
            }),
        }
    }
}

/// The text before the error, because the model sees its broken call without arguments.
fn near(args: &str, error: &serde_json::Error) -> String {
    let line = args.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = &line[..line.floor_char_boundary(error.column())];
    let from = before.char_indices().rev().nth(NEAR_CHARS).map_or(0, |(at, _)| at);
    before[from..].to_owned()
}

const NEAR_CHARS: usize = 40;

/// A tool's specification for the model; part of layer L1, byte-stable within a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub schema: Value,
}
