//! The half of reading that each dialect does itself, and what the dialects share of it.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::error_mapping;
use super::sse::SseEvent;
use crate::call_ids::CallIds;
use base::model::provider::ProviderError;
use base::model::stream::StreamEvent;
use base::model::usage::{FinishReason, Usage};
use base::secret::Secret;
use base::text;

/// Largest text, thinking or arguments of one reply, in bytes.
pub const MAX_REPLY_BYTES: usize = 16 * 1024 * 1024;
/// More tokens than any model could have read or written.
const MAX_TOKENS: f64 = 1e9;

/// `Break` when the reply has ended.
pub type Flow = Result<ControlFlow<()>, ProviderError>;

/// A dialect's half of reading: turns one reply's events into ours. Made anew for each try.
pub trait Decoder: Send {
    /// Takes one event; `Break` when it ended the reply.
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Flow;

    /// Takes a reply that came whole although a stream was asked for.
    fn whole(&mut self, reply: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Ends the reply: what is still open is as complete as it will get.
    fn close(&mut self, out: &mut Vec<StreamEvent>);

    fn state(&self) -> &ReplyState;

    /// The connection has ended without a formal end.
    /// Errors: `Broken` when the reply is not complete; `Protocol` when it was never one of this dialect.
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if !self.state().is_settled() {
            return Err(self.state().incomplete());
        }
        self.close(out);
        Ok(())
    }
}

/// What every decoder keeps of its reply.
#[derive(Debug, Default)]
pub struct ReplyState {
    pub ids: CallIds,
    /// Taken out of the server's messages.
    key: Option<Secret>,
    finish: Option<FinishReason>,
    /// An event of this dialect has come.
    pub understood: bool,
    /// An event of another dialect has come.
    pub foreign: bool,
}

impl ReplyState {
    pub fn new(ids: CallIds, key: Option<Secret>) -> Self {
        Self { ids, key, ..Self::default() }
    }

    /// An error object that came inside the reply.
    pub fn error(&self, error: &Value) -> ProviderError {
        error_mapping::from_event(error, self.key.as_ref())
    }

    /// The reply has said why it ended, in the words of any dialect: imitators mix them.
    pub fn finish_with(&mut self, reason: &str) {
        self.finish = Some(match reason {
            "stop" | "end_turn" | "stop_sequence" | "eos" => FinishReason::Stop,
            "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
            "length" | "max_tokens" | "max_output_tokens" | "model_length" => FinishReason::Length,
            "model_context_window_exceeded" => FinishReason::WindowFull,
            "content_filter" | "sensitive" => FinishReason::ContentFilter,
            "refusal" => FinishReason::Refused(String::new()),
            "pause_turn" => FinishReason::Paused,
            other => FinishReason::Other(other.to_owned()),
        });
    }

    /// Why the model declined, if it did.
    pub fn explain_refusal(&mut self, why: String) {
        if let Some(FinishReason::Refused(reason)) = &mut self.finish {
            *reason = why;
        }
    }

    /// Whether the reply has said why it ended, so that only formalities are missing.
    pub fn is_settled(&self) -> bool {
        self.finish.is_some()
    }

    /// The connection ended before the reply did.
    fn incomplete(&self) -> ProviderError {
        if self.foreign && !self.understood {
            ProviderError::Protocol { message: "its events belong to another API".to_owned() }
        } else {
            ProviderError::Broken { message: "it ended without a finish reason".to_owned() }
        }
    }

    /// The end of the reply.
    pub fn done(&mut self, has_calls: bool, usage: Option<Usage>) -> StreamEvent {
        let finish = match self.finish.take() {
            // Several servers say `stop` where they mean calls.
            None | Some(FinishReason::Stop) if has_calls => FinishReason::ToolCalls,
            finish => finish.unwrap_or(FinishReason::Stop),
        };
        StreamEvent::Done { finish, usage }
    }
}

/// An event's data.
pub fn parse(data: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(data).map_err(|error| ProviderError::Protocol {
        message: format!("an event is not valid JSON ({error}): {}", text::one_line(data, 100)),
    })
}

/// A number of tokens, however it is written: some servers send floats or text. `None` when it is not a number, negative, or
/// impossibly large.
pub fn token_count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (0.0..=MAX_TOKENS).contains(&number).then_some(number as u64)
}

/// `0.7` and not the `0.699999988079071` that a plain widening prints.
pub fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, |number| json!(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts() {
        for (value, expected) in [
            (json!(12), Some(12)),
            (json!(12.0), Some(12)),
            (json!("12"), Some(12)),
            (json!(0), Some(0)),
            (json!(-5), None),
            (json!(u64::MAX), None),
            (json!(1e300), None),
            (json!("NaN"), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(token_count(&value), expected, "{value}");
        }
    }
}
