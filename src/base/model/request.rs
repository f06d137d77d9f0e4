//! What is sent to a model, in no provider's dialect. Built by the context builder, translated by a provider.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::call::{ToolCall, ToolSpec};
use super::item::{Image, Phase, Reasoning};

/// One piece of the system prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub text: Arc<str>,
}

/// Text of the model's, with what it was to it.
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantText {
    pub text: Arc<str>,
    pub phase: Option<Phase>,
}

impl<T: Into<Arc<str>>> From<T> for AssistantText {
    fn from(text: T) -> Self {
        Self { text: text.into(), phase: None }
    }
}

/// Without a phase as the text alone, so that the fingerprints in older logs hold.
impl Serialize for AssistantText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.phase {
            None => self.text.serialize(serializer),
            Some(phase) => (phase, &self.text).serialize(serializer),
        }
    }
}

/// One message of the conversation. Providers join neighbors that their dialect wants in one message (an assistant's
/// reasoning, text and calls; several results).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Message {
    User(Arc<str>),
    /// Words of the program's own, in the middle: as a system message where the model takes one there.
    System(Arc<str>),
    Assistant(AssistantText),
    Reasoning(Arc<Reasoning>),
    Call(Arc<ToolCall>),
    Result {
        call_id: Arc<str>,
        text: Arc<str>,
        /// The tool reported an error.
        error: bool,
    },
    /// What the user or a result before it shows.
    Image(Arc<Image>),
}

/// A system message for those who take none in the middle: as part of what the user says.
pub fn reminder(text: &str) -> String {
    format!("<system-reminder>{text}</system-reminder>")
}

/// How the model should answer.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Params {
    pub model: Arc<str>,
    /// Upper bound for the answer, in tokens. `None` leaves it to the server where the dialect allows that.
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f32>,
    /// `low`, `medium`, `high` for models that think; passed on as the dialect says it.
    pub reasoning_effort: Option<Arc<str>>,
    /// How much it says, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<Arc<str>>,
    /// The cached prefix should outlive the user's pauses, where that can be asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long_cache: bool,
}

/// One request. The wire order is system, tools, messages.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Request {
    pub system: Vec<Block>,
    pub tools: Arc<[ToolSpec]>,
    pub messages: Vec<Message>,
    /// Prompt-cache marks for dialects that bill them: after each of these message counts the prefix is worth caching
    /// (ascending; the system and tools always are). At most three.
    pub cache_marks: Vec<usize>,
    pub params: Params,
}
