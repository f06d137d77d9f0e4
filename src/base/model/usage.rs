//! Token usage as a server reports it, and why an answer ended.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    /// The part of `input` read from the prompt cache.
    #[serde(default)]
    pub cached: u64,
    /// The part of `input` written to the prompt cache (more expensive with some providers).
    #[serde(default)]
    pub cache_write: u64,
    pub output: u64,
    #[serde(default)]
    pub reasoning: u64,
    /// What the server charged, in billionths of a dollar; 0 if it didn't say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub charged: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    pub fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.input, other.input),
            (&mut self.cached, other.cached),
            (&mut self.cache_write, other.cache_write),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
            (&mut self.charged, other.charged),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }

    pub fn since(&self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
            charged: self.charged.saturating_sub(before.charged),
        }
    }
}

/// Which of a model's prices a cost is based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceUsed {
    #[default]
    Usual,
    /// A price that applies from a certain day on.
    Later,
    /// At hours with higher prices.
    Peak,
    Mixed,
}

impl PriceUsed {
    pub fn with(self, other: Self) -> Self {
        if self == other { self } else { Self::Mixed }
    }

    pub fn note(self) -> &'static str {
        match self {
            Self::Usual => "",
            Self::Later => " (the new price)",
            Self::Peak => " (peak hours)",
            Self::Mixed => " (in part peak hours or a new price)",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    Stop,
    ToolCalls,
    Length,
    /// The server says that the window is full.
    WindowFull,
    ContentFilter,
    /// The model declined to answer; the reason, if the server gives one.
    Refused(String),
    /// The server wants the same request again, with its output so far.
    Paused,
}
