//! How dialects read replies, and what they share.

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

/// For text, thinking or arguments of one reply.
pub const MAX_REPLY_BYTES: usize = 16 * 1024 * 1024;
/// Items, blocks or calls of one reply.
const MAX_PARTS: usize = 1_000;
/// More than any model could have read or written.
const MAX_TOKENS: f64 = 1e9;

pub type Events = Vec<StreamEvent>;

pub type Decoded = Result<(), ProviderError>;

pub type Flow = Result<ControlFlow<()>, ProviderError>;

/// Turns one reply's events into ours. Created for each attempt.
pub trait Decoder: Send {
    fn event(&mut self, event: &SseEvent, out: &mut Events) -> Flow;

    /// A reply in one piece although a stream was requested.
    fn whole(&mut self, reply: &Value, out: &mut Events) -> Decoded;

    /// Ends the reply: unfinished parts are as complete as they will get.
    fn close(&mut self, out: &mut Events);

    fn state(&self) -> &ReplyState;

    /// The connection ended without a formal end, which is an error unless the reply is complete.
    fn end(&mut self, out: &mut Events) -> Decoded {
        if !self.state().is_settled() {
            return Err(self.state().incomplete());
        }
        self.close(out);
        Ok(())
    }
}

#[derive(Debug, Default)]
pub struct ReplyState {
    pub ids: CallIds,
    /// Removed from the server's messages.
    key: Option<Secret>,
    finish: Option<FinishReason>,
    pub understood: bool,
    pub foreign: bool,
}

impl ReplyState {
    pub fn new(ids: CallIds, key: Option<Secret>) -> Self {
        Self { ids, key, ..Self::default() }
    }

    pub fn error(&self, error: &Value) -> ProviderError {
        error_mapping::from_event(error, self.key.as_ref())
    }

    /// Accepts the finish reasons of all dialects, because imitators mix them. An error if the reply broke off: DeepSeek's and
    /// Z.ai's docs, vLLM's `abort`, Gemini's names, bare and behind `content_filter: ` (November 2026).
    pub fn finish_with(&mut self, reason: &str) -> Decoded {
        let lower = reason.to_ascii_lowercase();
        self.finish = Some(match lower.strip_prefix("content_filter: ").unwrap_or(&lower) {
            "error"
            | "abort"
            | "cancelled"
            | "network_error"
            | "insufficient_system_resource"
            | "malformed_function_call" => {
                let message = format!("the model's server stopped responding ({reason})");
                return Err(self.error(&json!({"message": message})));
            }
            "stop" | "end_turn" | "stop_sequence" | "eos" => FinishReason::Stop,
            "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
            "length" | "max_tokens" | "max_output_tokens" | "model_length" => FinishReason::Length,
            "model_context_window_exceeded" => FinishReason::WindowFull,
            "sensitive" | "safety" | "recitation" | "blocklist" | "prohibited_content" | "spii" => {
                FinishReason::ContentFilter
            }
            _ if lower.starts_with("content_filter") => FinishReason::ContentFilter,
            "refusal" => FinishReason::Refused(String::new()),
            "pause_turn" => FinishReason::Paused,
            _ => FinishReason::Stop,
        });
        Ok(())
    }

    /// Ignored unless the model refused.
    pub fn explain_refusal(&mut self, why: String) {
        if let Some(FinishReason::Refused(reason)) = &mut self.finish {
            *reason = why;
        }
    }

    /// Whether the reply has a finish reason, so that only formalities are missing.
    pub fn is_settled(&self) -> bool {
        self.finish.is_some()
    }

    fn incomplete(&self) -> ProviderError {
        if self.foreign && !self.understood {
            ProviderError::Protocol("its events belong to another API".to_owned())
        } else {
            ProviderError::Broken("it ended without a finish reason".to_owned())
        }
    }

    pub fn done(&mut self, has_calls: bool, usage: Option<Usage>) -> StreamEvent {
        let finish = match self.finish.take() {
            // Several servers say `stop` even with calls.
            None | Some(FinishReason::Stop) if has_calls => FinishReason::ToolCalls,
            finish => finish.unwrap_or(FinishReason::Stop),
        };
        StreamEvent::Done { finish, usage }
    }
}

/// An error if more has arrived than any model would send.
pub fn check_size(bytes: usize, parts: usize) -> Result<(), ProviderError> {
    if bytes <= MAX_REPLY_BYTES && parts <= MAX_PARTS {
        return Ok(());
    }
    let megabytes = MAX_REPLY_BYTES >> 20;
    Err(ProviderError::TooLarge(format!(
        "the answer is larger than {megabytes} MiB or has more than {MAX_PARTS} parts"
    )))
}

pub fn parse(data: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(data).map_err(|error| {
        ProviderError::Protocol(format!(
            "an event is not valid JSON ({error}): {}",
            text::one_line(data, 100)
        ))
    })
}

/// Some servers send floats or text. `None` if it isn't a number, or is negative or impossibly large.
pub fn token_count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (0.0..=MAX_TOKENS).contains(&number).then_some(number as u64)
}

/// For OpenAI's two dialects, which name the counts differently. `None` if all are zero, as some servers send for unknown usage.
/// xAI and Gemini count reasoning in the total only, and bill it as output (docs.x.ai reasoning, November 2026).
pub fn openai_usage(usage: &Value, input: &str, output: &str) -> Option<Usage> {
    let count = |value: &Value| token_count(value).unwrap_or(0);
    let of_input = &usage[format!("{input}_details").as_str()];
    let cached = [&of_input["cached_tokens"], &usage["prompt_cache_hit_tokens"], &usage["cached_tokens"]];
    let (input, said) = (count(&usage[input]), count(&usage[output]));
    let cached = cached.into_iter().find_map(token_count).unwrap_or(0);
    // LiteLLM has Anthropic's name.
    let cache_write =
        count(&of_input["cache_write_tokens"]).max(count(&usage["cache_creation_input_tokens"]));
    let more = count(&usage["total_tokens"]).saturating_sub(input + said);
    // Some servers count cached input in the total only.
    let is_input = input == 0 || [cached, cache_write, cached + cache_write].contains(&more);
    // OpenRouter's (openrouter.ai/docs usage-accounting, November 2026).
    let charged = usage["cost"].as_f64().filter(|cost| (0.0..1e4).contains(cost)).unwrap_or(0.0);
    let read = Usage {
        charged: (charged * 1e9) as u64,
        input,
        cached,
        cache_write,
        output: if is_input { said } else { said + more },
        reasoning: count(&usage[format!("{output}_details").as_str()]["reasoning_tokens"]),
    };
    (read.input > 0 || read.output > 0).then_some(read)
}

/// `0.7` instead of the `0.699999988079071` of a plain conversion.
pub fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, |number| json!(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::config::provider::models;

    #[test]
    fn what_the_server_charged() {
        let usage = json!({"prompt_tokens": 9, "completion_tokens": 2, "cost": 0.5});
        let read = openai_usage(&usage, "prompt_tokens", "completion_tokens").unwrap_or_default();
        assert_eq!(models::cost("openrouter/auto", &read, 0), Some(0.5));
        assert_ne!(models::cost("gpt-4o", &read, 0), Some(0.5), "the table's price");
    }

    #[test]
    fn reasoning_outside_the_output() {
        for (said, total, expected) in [(100, 6_100, 5_100), (100, 1_100, 100), (100, 0, 100)] {
            let usage = json!({"prompt_tokens": 1_000, "completion_tokens": said, "total_tokens": total});
            let read = openai_usage(&usage, "prompt_tokens", "completion_tokens");
            assert_eq!(read.map(|usage| usage.output), Some(expected));
        }
        let usage = json!({
            "prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 6_100,
            "prompt_tokens_details": {"cached_tokens": 5_000},
        });
        let read = openai_usage(&usage, "prompt_tokens", "completion_tokens");
        assert_eq!(read.map(|usage| usage.output), Some(100), "cached input isn't output");
    }

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
