//! The size of the next request: estimated, at most, and against the window's limits.

use super::fixed_prompt::FixedPrompt;
use crate::session::conversation::Conversation;
use base::config::settings::ContextSettings;
use context::compaction::policy;
use context::compaction::thresholds::Thresholds;

/// The least that a message and the work on it need, in tokens.
const WORKING_TOKENS: u64 = 1_500;

/// Servers count their own framing differently from request to request.
const REPORT_MARGIN: f64 = 1.02;
/// By how much the estimate of a whole request may be too low.
const ESTIMATE_MARGIN: f64 = 1.05;

/// Everything that the size depends on. All figures are in tokens.
#[derive(Clone, Copy)]
pub struct RequestSizes<'a> {
    pub prompt: &'a FixedPrompt,
    pub conversation: &'a Conversation,
    pub settings: &'a ContextSettings,
}

impl RequestSizes<'_> {
    /// Calibrated.
    pub fn estimated(&self) -> u64 {
        self.calibrated(self.prompt.tokens() + self.conversation.history.tokens())
    }

    /// Corrects an estimate by what the server has reported.
    pub fn calibrated(&self, tokens: u64) -> u64 {
        self.conversation.usage.calibration.apply(tokens)
    }

    /// The most that the next request may take: what the server has counted, and the upper bound of what arrived
    /// since; before the first report, and after a rewrite, the upper bound of everything.
    pub fn at_most(&self) -> u64 {
        let history = &self.conversation.history;
        let bound = self.prompt.upper_bound() + history.upper_bound();
        let rewritten = history.requests_since_rewrite() == 0;
        if rewritten || !self.conversation.usage.calibration.is_learned() {
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
        // A server that reports too little is believed only where the estimate may be far too high: in scripts
        // with many characters.
        let least =
            if bound as f64 > estimated * 1.6 { estimated / 2.0 } else { estimated * ESTIMATE_MARGIN };
        let corrected = (self.estimated() as f64).max(least);
        let ratio = (corrected / estimated.max(1.0)).max(1.0);
        (corrected * REPORT_MARGIN + unsure as f64 * ratio) as u64
    }

    pub fn thresholds(&self) -> Thresholds {
        Thresholds::of_settings(self.settings)
    }

    pub fn free(&self) -> u64 {
        self.settings.window_tokens.saturating_sub(self.at_most())
    }

    /// Compaction starts here.
    pub fn limit(&self) -> u64 {
        policy::limit(self.settings)
    }

    /// Compaction lands at or under this.
    pub fn low_water(&self) -> u64 {
        policy::low_water(self.settings)
    }

    /// The smallest window that is still usable.
    pub fn smallest_window(&self) -> u64 {
        // An eighth is for the reply.
        (self.prompt.upper_bound() + WORKING_TOKENS) * 8 / 7
    }
}
