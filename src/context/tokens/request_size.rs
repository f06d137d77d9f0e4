//! What a request takes, in estimated tokens, with its framing: the one place that says so. The ledger adds up cached
//! figures of the same functions, so that its sum is the size of what is sent.

use super::estimate;
use super::tokenizer::Encoding;
use super::upper_bound;
use crate::model::call::ToolSpec;
use crate::model::request::{Message, Request};

/// What the name, the id and the JSON frame of a call take beside its arguments.
const CALL_FRAME: u32 = 8;
/// What the frame of a schema takes beside its words.
const SCHEMA_FRAME: u32 = 12;

/// Estimated tokens of a whole request, from its bytes alone.
pub fn request_tokens(request: &Request) -> u64 {
    let system: u64 = request.system.iter().map(|block| u64::from(block_tokens(&block.text))).sum();
    let messages: u64 = request.messages.iter().map(|message| u64::from(message_tokens(message))).sum();
    system + u64::from(schema_tokens(&request.tools)) + messages
}

/// Estimated tokens of one block of the system prompt.
pub fn block_tokens(text: &str) -> u32 {
    estimate::estimate(text) + estimate::MESSAGE_OVERHEAD
}

/// Estimated tokens of the tool schemas.
pub fn schema_tokens(specs: &[ToolSpec]) -> u32 {
    specs
        .iter()
        .map(|spec| {
            let words = estimate::estimate(&spec.description) + estimate::estimate(&spec.name);
            words + estimate::estimate(&spec.schema.to_string()) + SCHEMA_FRAME
        })
        .sum()
}

/// Estimated tokens of one message.
pub fn message_tokens(message: &Message) -> u32 {
    counted(message, |text| Some(estimate::estimate(text))).unwrap_or(0)
}

/// Tokens of one message by the model's own tokenizer; `None` where it cannot say: what a server has sealed it bills by
/// what was inside.
pub fn exact_message(message: &Message, encoding: Encoding) -> Option<u32> {
    if matches!(message, Message::Reasoning(reasoning) if reasoning.opaque.is_some()) {
        return None;
    }
    counted(message, |text| encoding.count(text))
}

/// Tokens of one block of the system prompt by the model's own tokenizer; `None` where it cannot say.
pub fn exact_block(text: &str, encoding: Encoding) -> Option<u32> {
    Some(encoding.count(text)? + estimate::MESSAGE_OVERHEAD)
}

/// Tokens of the tool schemas by the model's own tokenizer; `None` where it cannot say.
pub fn exact_schemas(specs: &[ToolSpec], encoding: Encoding) -> Option<u32> {
    let one = |spec: &ToolSpec| {
        let words = encoding.count(&spec.description)? + encoding.count(&spec.name)?;
        Some(words + encoding.count(&spec.schema.to_string())? + SCHEMA_FRAME)
    };
    specs.iter().map(one).sum()
}

/// The most tokens that one message may take.
pub fn message_ceiling(message: &Message) -> u32 {
    counted(message, |text| Some(upper_bound::ceiling(text))).unwrap_or(0)
}

/// The most tokens that system prompt and tool schemas may take.
pub fn fixed_ceiling(system: &str, specs: &[ToolSpec]) -> u32 {
    let told = |spec: &ToolSpec| format!("{}{}{}", spec.name, spec.description, spec.schema);
    let schemas: u32 = specs.iter().map(|spec| upper_bound::ceiling(&told(spec)) + SCHEMA_FRAME + 4).sum();
    upper_bound::ceiling(system) + schemas
}

fn counted(message: &Message, count: impl Fn(&str) -> Option<u32>) -> Option<u32> {
    let text = match message {
        Message::User(text) | Message::Assistant(text) | Message::Result { text, .. } => count(text)?,
        Message::Reasoning(reasoning) => {
            let opaque = match &reasoning.opaque {
                Some(opaque) => count(&opaque.to_string())?,
                None => 0,
            };
            count(&reasoning.text)?.max(opaque)
        }
        Message::Call(call) => count(&call.args)? + count(&call.name)? + CALL_FRAME,
    };
    Some(text + estimate::MESSAGE_OVERHEAD)
}
