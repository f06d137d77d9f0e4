//! What a provider streams while it answers. Deltas are only shown; a finished item enters history.

use std::time::Duration;

use super::item::Item;
use super::usage::{FinishReason, Usage};

/// One event of an answer. A well-formed answer is any number of deltas and items, then exactly one `Done`.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// A piece of the visible answer.
    TextDelta(String),
    /// A piece of visible thinking.
    ReasoningDelta(String),
    /// A tool call has begun; its arguments are still arriving.
    CallStarted { name: String },
    /// More bytes of a call's arguments have arrived (the total so far), for progress display.
    CallProgress { bytes: usize },
    /// A finished `Assistant`, `Reasoning` or `ToolCall` item, in the order in which the model made them.
    Item(Item),
    /// Nothing of the answer has come for some time; it is given up when `left` has passed, too.
    Silent { since: Duration, left: Duration },
    /// Everything since the start of this answer is void: the request is about to be sent again.
    Restarted {
        attempt: u32,
        /// Tries in all, if the next ones fail in the same way.
        of: u32,
        wait: Duration,
        /// What went wrong, for the user.
        reason: String,
    },
    /// The answer is complete.
    Done {
        finish: FinishReason,
        /// `None` when the server did not say.
        usage: Option<Usage>,
    },
}
