//! Sizes of a request's parts in tokens, framing included. The ledger adds up these parts, so its sum is
//! the size of what is sent.

use std::sync::Arc;

use serde::Serialize;

use super::estimate::{MESSAGE_OVERHEAD, estimate, upper_bound};
use super::tokenizer::Tokenizer;
use base::model::call::ToolSpec;
use base::model::request::{Message, Request};

const CALL_FRAME: u32 = 8;
const SCHEMA_FRAME: u32 = 12;

#[derive(Clone, Copy)]
pub enum Counting<'a> {
    Estimate,
    UpperBound,
    Exact(&'a Tokenizer),
}

impl Counting<'_> {
    fn text(self, text: &str) -> u32 {
        match self {
            Self::Estimate => estimate(text),
            Self::UpperBound => upper_bound(text),
            Self::Exact(tokenizer) => tokenizer.count(text),
        }
    }
}

/// A part of a request with its own size: a system prompt block, the tool schemas, or a message.
pub trait Countable: Serialize {
    fn tokens(&self, counting: Counting<'_>) -> u32;

    fn estimated(&self) -> u32 {
        self.tokens(Counting::Estimate)
    }

    fn upper_bound(&self) -> u32 {
        self.tokens(Counting::UpperBound)
    }
}

impl Countable for Arc<str> {
    fn tokens(&self, counting: Counting<'_>) -> u32 {
        counting.text(self) + MESSAGE_OVERHEAD
    }
}

impl Countable for Arc<[ToolSpec]> {
    fn tokens(&self, counting: Counting<'_>) -> u32 {
        let one = |spec: &ToolSpec| {
            let words = counting.text(&spec.description) + counting.text(&spec.name);
            words + counting.text(&spec.schema.to_string()) + SCHEMA_FRAME
        };
        self.iter().map(one).sum()
    }
}

impl Countable for Message {
    fn tokens(&self, counting: Counting<'_>) -> u32 {
        let text = match self {
            Self::User(text) | Self::System(text) | Self::Result { text, .. } => counting.text(text),
            Self::Assistant(said) => counting.text(&said.text),
            Self::Reasoning(reasoning) => {
                let sealed = reasoning.opaque.as_ref().map_or(0, |opaque| counting.text(&opaque.to_string()));
                counting.text(&reasoning.text).max(sealed)
            }
            // Images are billed by their size; the framing covers the label.
            Self::Image(image) if matches!(counting, Counting::UpperBound) => image.most_tokens(),
            Self::Image(image) => image.tokens,
            Self::Call(call) => counting.text(&call.args) + counting.text(&call.name) + CALL_FRAME,
        };
        text + MESSAGE_OVERHEAD
    }
}

pub fn exact(request: &Request, tokenizer: &Tokenizer) -> u64 {
    let counting = Counting::Exact(tokenizer);
    let system = request.system.iter().map(|block| block.text.tokens(counting));
    let messages = request.messages.iter().map(|message| message.tokens(counting));
    system.chain([request.tools.tokens(counting)]).chain(messages).map(u64::from).sum()
}
