//! The next request of a conversation, as it would be sent now.

use super::sizes::RequestSizes;
use crate::config::settings::SMALL_WINDOW_TOKENS;
use crate::context::builder::{self, Built};
use crate::context::layer::LayerInputs;
use crate::context::parts::FixedParts;
use crate::model::request::Params;

/// A request, and what of it is not history.
pub struct NextRequest {
    pub parts: FixedParts,
    pub built: Built,
}

impl NextRequest {
    /// With as much room for the reply as there is.
    pub fn build(sizes: RequestSizes<'_>, params: &Params) -> Self {
        let mut params = params.clone();
        // Servers refuse a request whose reply could not fit behind it.
        let free = u32::try_from(sizes.free()).unwrap_or(u32::MAX).max(256);
        // In a small window the limit is always said: a reply without end would run over it.
        let small = sizes.settings.window_tokens < SMALL_WINDOW_TOKENS;
        let limit = params.max_output_tokens.or(small.then_some(free));
        params.max_output_tokens = limit.map(|limit| limit.min(free));
        let parts = sizes.prompt.parts(params);
        let history = &sizes.conversation.history;
        let built = builder::build(&LayerInputs { parts: &parts, history });
        Self { parts, built }
    }
}
