//! What a provider streams while it answers. Deltas are only shown; finished items enter the history.

use std::time::Duration;

use super::item::Item;
use super::usage::{FinishReason, Usage};

/// An answer is any number of deltas and items, then exactly one `Done`.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// The next piece of the answer.
    TextDelta(String),
    /// The next piece of the reasoning.
    ReasoningDelta(String),
    /// A call has started; its arguments are still arriving.
    CallStarted { name: String },
    /// Bytes of a call's arguments so far, for progress display.
    CallProgress { bytes: usize },
    /// A finished `Assistant`, `Reasoning` or `ToolCall` item, in the model's order.
    Item(Item),
    /// No data of the answer for some time; gives up after `left` more, if ever. `alive`: other bytes still arrive.
    Silent { since: Duration, left: Option<Duration>, alive: bool },
    /// Everything since the start of this answer is void; the request will be sent again.
    Restarted {
        attempt: u32,
        /// Total attempts, if the next ones fail in the same way.
        of: u32,
        wait: Duration,
        reason: String,
    },
    Done {
        finish: FinishReason,
        /// `None` if the server didn't report it.
        usage: Option<Usage>,
    },
}

impl StreamEvent {
    pub fn is_answer(&self) -> bool {
        !matches!(self, Self::Silent { .. } | Self::Restarted { .. })
    }
}
