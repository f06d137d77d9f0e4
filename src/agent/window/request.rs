//! A conversation's next request: its size (estimate, upper bound, limits of the window), and how it is built.

use super::fixed_prompt::FixedPrompt;
use crate::session::conversation::Conversation;
use base::config::settings::{Binding, ContextSettings};
use base::model::request::Params;
use context::builder::{Built, ContextBuilder};
use context::compaction::policy;
use context::compaction::thresholds::Thresholds;
use context::layers::LayerInputs;
use context::parts::FixedParts;
use context::session::log::LogError;
use context::session::record::CauseKind;
use tools::output::Limits;

/// In windows up to this size a reply gets a quarter.
const LIMITED_WINDOW_TOKENS: u64 = 32_768;

/// Tokens needed at least for a message and the work on it.
const WORKING_TOKENS: u64 = 1_500;

/// Servers' own framing varies between requests, and what is left after a rewrite may be denser.
const REPORT_MARGIN: f64 = 1.02;
const REWRITTEN_MARGIN: f64 = 1.1;

/// Everything that the size depends on, in tokens.
#[derive(Clone, Copy)]
pub struct RequestSizes<'a> {
    pub prompt: &'a FixedPrompt,
    pub conversation: &'a Conversation,
    pub settings: &'a ContextSettings,
}

impl RequestSizes<'_> {
    pub fn estimated(&self) -> u64 {
        self.calibrated(self.prompt.tokens() + self.conversation.state.history.tokens())
    }

    pub fn calibrated(&self, tokens: u64) -> u64 {
        self.conversation.state.calibration.apply(tokens)
    }

    /// What the server has counted, plus the upper bound of what arrived since; before a report, of everything.
    pub fn at_most(&self) -> u64 {
        let history = &self.conversation.state.history;
        if !self.conversation.state.calibration.is_learned() {
            let bound = self.prompt.upper_bound() + history.upper_bound();
            return (bound as f64 * self.settings.token_ratio.max(1.0)) as u64;
        }
        let margin = if history.requests_since_rewrite() == 0 { REWRITTEN_MARGIN } else { REPORT_MARGIN };
        let now = history.requests();
        let fresh = history.entries().iter().rev().take_while(|entry| entry.arrived_at + 1 >= now);
        let unsure: u32 = fresh.map(|entry| entry.upper_bound().saturating_sub(entry.tokens())).sum();
        let corrected = self.cautious_ratio() * (self.prompt.tokens() + history.tokens()) as f64;
        (corrected * margin + f64::from(unsure) * self.cautious_ratio().max(1.0)) as u64
    }

    /// A ratio below 1 is trusted only where the estimate may be far too high: in scripts with many characters.
    pub fn cautious_ratio(&self) -> f64 {
        let history = &self.conversation.state.history;
        let estimated = (self.prompt.tokens() + history.tokens()).max(1) as f64;
        let bound = (self.prompt.upper_bound() + history.upper_bound()) as f64;
        let least = if bound > estimated * 1.6 { 0.5 } else { 1.0 };
        (self.estimated() as f64 / estimated).max(least)
    }

    pub fn thresholds(&self) -> Thresholds {
        Thresholds::of_settings(self.settings)
    }

    pub fn fold_is_near(&self) -> bool {
        policy::fold_is_near(self.at_most(), self.settings, &self.thresholds())
    }

    pub fn free(&self) -> u64 {
        self.settings.window_tokens.saturating_sub(self.at_most())
    }

    pub fn limits_of_results(&self, calls: usize) -> Limits {
        let free = self.free().saturating_sub(self.settings.output_reserve_tokens);
        Limits::for_reply(self.settings.window_tokens, free, calls as u64)
    }

    pub fn limit(&self) -> u64 {
        policy::limit(self.settings)
    }

    pub fn smallest_window(&self) -> u64 {
        // An eighth is reserved for the reply.
        (self.prompt.upper_bound() + WORKING_TOKENS) * 8 / 7
    }
}

pub struct NextRequest {
    pub parts: FixedParts,
    pub built: Built,
}

impl NextRequest {
    /// Leaves all free room to the reply.
    pub fn build(sizes: RequestSizes<'_>, params: &Params) -> Self {
        let mut params = params.clone();
        // Servers refuse a request if its reply might not fit.
        let free = u32::try_from(sizes.free()).unwrap_or(u32::MAX).max(256);
        // In a small window always set a limit, because an endless reply would overrun it.
        let window = sizes.settings.window_tokens;
        let quarter = u32::try_from(window / 4).ok().filter(|_| window <= LIMITED_WINDOW_TOKENS);
        let limit = params.max_output_tokens.or(sizes.settings.reply_tokens).or(quarter);
        params.max_output_tokens = limit.map(|limit| limit.min(free));
        params.long_cache = sizes.settings.reply_tokens.is_some() && sizes.conversation.usage.pauses > 0;
        let parts = sizes.prompt.parts(params);
        let history = &sizes.conversation.state.history;
        let built = ContextBuilder::build(&LayerInputs { parts: &parts, history });
        Self { parts, built }
    }

    /// Reasoning is sent only while everything before it is unchanged; if bound, what follows a change is left out for good.
    pub fn of_epoch(
        prompt: &FixedPrompt,
        settings: &ContextSettings,
        conversation: &mut Conversation,
        params: &Params,
    ) -> Result<Self, LogError> {
        let build = |conversation: &Conversation| {
            Self::build(RequestSizes { prompt, conversation, settings }, params)
        };
        let next = build(conversation);
        if settings.binding == Binding::None {
            return Ok(next);
        }
        let Some(at) = conversation.state.prefix.changed_at(&next.parts, &next.built) else {
            return Ok(next);
        };
        let unbound = next.built.reasoning_from(at);
        if unbound.is_empty() {
            return Ok(next);
        }
        conversation.leave_out(unbound, CauseKind::ReasoningBound)?;
        Ok(build(conversation))
    }

    /// Removes all reasoning after the server rejected it. Returns whether there was any.
    pub fn drop_reasoning(&self, conversation: &mut Conversation) -> Result<bool, LogError> {
        let reasoning = self.built.reasoning_from(0);
        let any = !reasoning.is_empty();
        if any {
            conversation.leave_out(reasoning, CauseKind::ReasoningRejected)?;
        }
        Ok(any)
    }
}
