//! How large the next request is: estimated, at most, and against the window's limits.

use super::fixed_prompt::FixedPrompt;
use crate::session::conversation::Conversation;
use base::config::settings::ContextSettings;
use context::compaction::policy;

/// What a message and what was done about it need at least, in tokens.
const WORKING_TOKENS: u64 = 1_500;

/// A view of everything that the size depends on. All figures are in tokens.
#[derive(Clone, Copy)]
pub struct RequestSizes<'a> {
    pub prompt: &'a FixedPrompt,
    pub conversation: &'a Conversation,
    pub settings: &'a ContextSettings,
}

impl RequestSizes<'_> {
    /// The next request as far as it is known now, calibrated.
    pub fn estimated(&self) -> u64 {
        self.calibrated(self.prompt.tokens() + self.conversation.history.tokens())
    }

    /// What an estimate is worth by what the server has reported.
    pub fn calibrated(&self, tokens: u64) -> u64 {
        self.conversation.usage.calibration.apply(tokens)
    }

    /// The most that the next request may take. What a server has counted is known; what arrived since, and everything
    /// before the first reply, is taken at its upper bound.
    pub fn at_most(&self) -> u64 {
        let history = &self.conversation.history;
        let bound = self.prompt.upper_bound() + history.upper_bound();
        if !self.conversation.usage.calibration.is_learned() {
            return (bound as f64 * self.settings.token_ratio.max(1.0)) as u64;
        }
        let now = history.requests();
        let unsure: u64 = history
            .entries()
            .iter()
            .rev()
            .take_while(|entry| entry.arrived_at + 1 >= now)
            .map(|entry| u64::from(entry.upper_bound().saturating_sub(entry.tokens())))
            .sum();
        let estimated = (self.prompt.tokens() + history.tokens()) as f64;
        let corrected = (self.estimated() as f64).max(estimated / 2.0);
        let known = (corrected * 1.1) as u64 + unsure;
        if corrected > estimated * 1.1 {
            return known.max(bound);
        }
        // In scripts of many characters the bound is far too high, and what was reported tells it; elsewhere a report
        // of less says little that the bound does not.
        if bound as f64 > estimated * 1.6 { known.min(bound) } else { bound }
    }

    /// Left for the reply.
    pub fn free(&self) -> u64 {
        self.settings.window_tokens.saturating_sub(self.at_most())
    }

    /// Compaction begins here.
    pub fn limit(&self) -> u64 {
        policy::limit(self.settings)
    }

    /// Compaction lands at or under this.
    pub fn low_water(&self) -> u64 {
        policy::low_water(self.settings)
    }

    /// The smallest window in which there is still something to work with.
    pub fn smallest_window(&self) -> u64 {
        // An eighth is for the reply.
        (self.prompt.upper_bound() + WORKING_TOKENS) * 8 / 7
    }
}
