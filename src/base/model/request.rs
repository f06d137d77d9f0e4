//! A request independent of dialects. Built by the context builder, translated by a provider.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::call::{ToolCall, ToolSpec};
use super::item::{Image, Reasoning, ReplyPhase};

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub text: Arc<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AssistantText {
    pub text: Arc<str>,
    pub phase: Option<ReplyPhase>,
}

impl<T: Into<Arc<str>>> From<T> for AssistantText {
    fn from(text: T) -> Self {
        Self { text: text.into(), phase: None }
    }
}

/// Without a phase it is only the text, so that fingerprints in older logs stay valid.
impl Serialize for AssistantText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.phase {
            None => self.text.serialize(serializer),
            Some(phase) => (phase, &self.text).serialize(serializer),
        }
    }
}

/// Providers join adjacent ones if their dialect requires it (reasoning, text and calls of a reply; several results).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Message {
    User(Arc<str>),
    /// The program's own text; a system message, if the model accepts one in the middle.
    System(Arc<str>),
    Assistant(AssistantText),
    Reasoning(Arc<Reasoning>),
    Call(Arc<ToolCall>),
    Result {
        call_id: Arc<str>,
        text: Arc<str>,
        error: bool,
    },
    Image(Arc<Image>),
}

/// A system message as part of the user's text, for models that don't accept one in the middle.
pub fn reminder(text: &str) -> String {
    format!("<system-reminder>{text}</system-reminder>")
}

#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Params {
    pub model: Arc<str>,
    /// Limit for the answer, in tokens. `None` leaves it to the server if the dialect allows that.
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f32>,
    pub reasoning_effort: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Arc<str>>,
    /// The schema for the answer, if the model can be bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Arc<Value>>,
    /// The cached prefix should outlive the user's pauses, if that can be requested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long_cache: bool,
}

/// The wire order is system, tools, messages.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Request {
    pub system: Vec<Block>,
    pub tools: Arc<[ToolSpec]>,
    pub messages: Vec<Message>,
    /// Message counts after which the prefix is worth caching (ascending, at most three; system and tools always are).
    pub cache_marks: Vec<usize>,
    pub params: Params,
}
