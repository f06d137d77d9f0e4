//! The size of a request and of its parts in tokens, framing included: estimated, at most, or exact. The ledger adds up
//! these figures part by part, so that its sum is the size of what is sent.

use std::sync::Arc;

use serde::Serialize;

use super::estimate::{MESSAGE_OVERHEAD, estimate};
use super::tokenizer::Encoding;
use super::upper_bound::upper_bound;
use base::model::call::ToolSpec;
use base::model::request::{Message, Request};

/// What the name, the id and the JSON frame of a call take beside its arguments.
const CALL_FRAME: u32 = 8;
/// What the frame of a schema takes beside its words.
const SCHEMA_FRAME: u32 = 12;

/// How tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Right on average; needs no tokenizer.
    Estimate,
    /// At most so many.
    UpperBound,
    /// By the model's own tokenizer, once its tables are loaded.
    Exact(Encoding),
}

impl Counting {
    fn text(self, text: &str) -> Option<u32> {
        match self {
            Self::Estimate => Some(estimate(text)),
            Self::UpperBound => Some(upper_bound(text)),
            Self::Exact(encoding) => encoding.count(text),
        }
    }
}

/// A part of a request that has a size of its own: a block of the system prompt, the tool schemas, or a message.
pub trait Countable: Serialize {
    /// Its tokens with the framing; `None` where the tokenizer cannot say (the other two always can).
    fn tokens(&self, counting: Counting) -> Option<u32>;

    fn estimated(&self) -> u32 {
        self.tokens(Counting::Estimate).unwrap_or(0)
    }

    fn upper_bound(&self) -> u32 {
        self.tokens(Counting::UpperBound).unwrap_or(0)
    }

    fn exact(&self, encoding: Encoding) -> Option<u32> {
        self.tokens(Counting::Exact(encoding))
    }
}

impl Countable for Arc<str> {
    fn tokens(&self, counting: Counting) -> Option<u32> {
        Some(counting.text(self)? + MESSAGE_OVERHEAD)
    }
}

impl Countable for Arc<[ToolSpec]> {
    fn tokens(&self, counting: Counting) -> Option<u32> {
        let one = |spec: &ToolSpec| {
            let words = counting.text(&spec.description)? + counting.text(&spec.name)?;
            Some(words + counting.text(&spec.schema.to_string())? + SCHEMA_FRAME)
        };
        self.iter().map(one).sum()
    }
}

impl Countable for Message {
    fn tokens(&self, counting: Counting) -> Option<u32> {
        let text = match self {
            Self::User(text) | Self::System(text) | Self::Result { text, .. } => counting.text(text)?,
            Self::Assistant(said) => counting.text(&said.text)?,
            Self::Reasoning(reasoning) => match (&reasoning.opaque, counting) {
                // What a server has sealed it bills by what was inside.
                (Some(_), Counting::Exact(_)) => return None,
                (Some(opaque), _) => counting.text(&reasoning.text)?.max(counting.text(&opaque.to_string())?),
                (None, _) => counting.text(&reasoning.text)?,
            },
            // Billed by its size, not by its letters; what the label takes is in the frame.
            Self::Image(image) if counting == Counting::UpperBound => image.most_tokens(),
            Self::Image(image) => image.tokens,
            Self::Call(call) => counting.text(&call.args)? + counting.text(&call.name)? + CALL_FRAME,
        };
        Some(text + MESSAGE_OVERHEAD)
    }
}

/// Estimated tokens of a whole request, from its bytes alone.
pub fn request_tokens(request: &Request) -> u64 {
    let system: u64 = request.system.iter().map(|block| u64::from(block.text.estimated())).sum();
    let messages: u64 = request.messages.iter().map(|message| u64::from(message.estimated())).sum();
    system + u64::from(request.tools.estimated()) + messages
}
