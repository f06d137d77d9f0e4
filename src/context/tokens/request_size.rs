//! The size of a request and its parts in tokens, framing included: estimated, at most, or exact. The ledger
//! adds up these parts, so its sum is the size of what is sent.

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
    /// Right on average; needs no tokenizer.
    Estimate,
    UpperBound,
    Exact(&'a Tokenizer),
}

impl Counting<'_> {
    fn text(self, text: &str) -> Option<u32> {
        match self {
            Self::Estimate => Some(estimate(text)),
            Self::UpperBound => Some(upper_bound(text)),
            Self::Exact(tokenizer) => tokenizer.count(text),
        }
    }
}

/// A part of a request with its own size: a system prompt block, the tool schemas, or a message.
pub trait Countable: Serialize {
    /// Including framing; `None` if the tokenizer can't say (the other two always can).
    fn tokens(&self, counting: Counting<'_>) -> Option<u32>;

    fn estimated(&self) -> u32 {
        self.tokens(Counting::Estimate).unwrap_or(0)
    }

    fn upper_bound(&self) -> u32 {
        self.tokens(Counting::UpperBound).unwrap_or(0)
    }
}

impl Countable for Arc<str> {
    fn tokens(&self, counting: Counting<'_>) -> Option<u32> {
        Some(counting.text(self)? + MESSAGE_OVERHEAD)
    }
}

impl Countable for Arc<[ToolSpec]> {
    fn tokens(&self, counting: Counting<'_>) -> Option<u32> {
        let one = |spec: &ToolSpec| {
            let words = counting.text(&spec.description)? + counting.text(&spec.name)?;
            Some(words + counting.text(&spec.schema.to_string())? + SCHEMA_FRAME)
        };
        self.iter().map(one).sum()
    }
}

impl Countable for Message {
    fn tokens(&self, counting: Counting<'_>) -> Option<u32> {
        let text = match self {
            Self::User(text) | Self::System(text) | Self::Result { text, .. } => counting.text(text)?,
            Self::Assistant(said) => counting.text(&said.text)?,
            Self::Reasoning(reasoning) => match (&reasoning.opaque, counting) {
                // Servers bill sealed reasoning by its hidden content.
                (Some(_), Counting::Exact(_)) => return None,
                (Some(opaque), _) => counting.text(&reasoning.text)?.max(counting.text(&opaque.to_string())?),
                (None, _) => counting.text(&reasoning.text)?,
            },
            // Billed by its size, not by its letters; the framing covers the label.
            Self::Image(image) if matches!(counting, Counting::UpperBound) => image.most_tokens(),
            Self::Image(image) => image.tokens,
            Self::Call(call) => counting.text(&call.args)? + counting.text(&call.name)? + CALL_FRAME,
        };
        Some(text + MESSAGE_OVERHEAD)
    }
}

/// Exact tokens of a request; what can't be counted (sealed reasoning) is estimated. `None` if it fails.
pub fn exact(request: &Request, tokenizer: &Tokenizer) -> Option<u64> {
    let count = |part: &dyn Fn(Counting<'_>) -> Option<u32>| {
        part(Counting::Exact(tokenizer)).or_else(|| part(Counting::Estimate)).map(u64::from)
    };
    let system = request.system.iter().map(|block| count(&|counting| block.text.tokens(counting)));
    let tools = count(&|counting| request.tools.tokens(counting));
    let messages = request.messages.iter().map(|message| count(&|counting| message.tokens(counting)));
    system.chain([tools]).chain(messages).sum()
}
