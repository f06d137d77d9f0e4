//! Builds the next request of a conversation.

use super::fixed_prompt::FixedPrompt;
use super::sizes::RequestSizes;
use crate::session::conversation::Conversation;
use base::config::settings::{Binding, ContextSettings};
use base::model::request::Params;
use context::builder::{Built, ContextBuilder};
use context::layers::LayerInputs;
use context::parts::FixedParts;
use context::session::log::LogError;
use context::session::record::CauseKind;

/// In windows of at most this size a reply gets a quarter.
const LIMITED_WINDOW_TOKENS: u64 = 32_768;

pub struct NextRequest {
    pub parts: FixedParts,
    pub built: Built,
}

impl NextRequest {
    /// Leaves the reply as much room as there is.
    pub fn build(sizes: RequestSizes<'_>, params: &Params) -> Self {
        let mut params = params.clone();
        // Servers refuse a request whose reply might not fit after it.
        let free = u32::try_from(sizes.free()).unwrap_or(u32::MAX).max(256);
        // In a small window always set a limit: an endless reply would overrun it.
        let window = sizes.settings.window_tokens;
        let quarter = u32::try_from(window / 4).ok().filter(|_| window <= LIMITED_WINDOW_TOKENS);
        let limit = params.max_output_tokens.or(sizes.settings.reply_tokens).or(quarter);
        params.max_output_tokens = limit.map(|limit| limit.min(free));
        params.long_cache = sizes.settings.reply_tokens.is_some() && sizes.conversation.usage.pauses() > 0;
        let parts = sizes.prompt.parts(params);
        let history = &sizes.conversation.history;
        let built = ContextBuilder::build(&LayerInputs { parts: &parts, history });
        Self { parts, built }
    }

    /// Reasoning goes back to its model only while everything before it is unchanged. If the model binds it,
    /// leaves out for good what comes after anything that has changed since the last request.
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
        let Some(at) = conversation.prefix.changed_at(&next.parts, &next.built) else { return Ok(next) };
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
