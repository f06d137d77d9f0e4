//! Token usage as a server reports it, and why an answer ended.

use serde::{Deserialize, Serialize};

/// Tokens of one request. `input` includes the cached ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, cached or not.
    pub input: u64,
    /// Of `input`, those served from the prompt cache.
    #[serde(default)]
    pub cached: u64,
    /// Of `input`, those newly written to the prompt cache (billed dearer by some providers).
    #[serde(default)]
    pub cache_write: u64,
    pub output: u64,
    /// Of `output`, those spent on thinking.
    #[serde(default)]
    pub reasoning: u64,
}

impl Usage {
    /// Tokens that were read and written.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Adds another request's tokens.
    pub fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.input, other.input),
            (&mut self.cached, other.cached),
            (&mut self.cache_write, other.cache_write),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }

    /// What was added to `before`.
    pub fn since(&self, before: Self) -> Self {
        Self {
            input: self.input - before.input,
            cached: self.cached - before.cached,
            cache_write: self.cache_write - before.cache_write,
            output: self.output - before.output,
            reasoning: self.reasoning - before.reasoning,
        }
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    Stop,
    ToolCalls,
    /// The output limit or the window was reached.
    Length,
    /// The window was reached, and the server says so.
    WindowFull,
    ContentFilter,
    /// The model declined to answer; why, as far as the server says.
    Refused(String),
    /// The server wants the same again with what it has said so far.
    Paused,
    Other(String),
}
