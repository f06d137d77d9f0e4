//! The list of providers: one line each. A leaf that nothing in this folder imports.

use std::sync::Arc;

use super::api::{Provider, ProviderError};
use super::openai::Openai;
use super::scripted::Scripted;
use crate::config::settings::{ProviderKind, ProviderSettings};
use crate::provider::anthropic::provider::Anthropic;
use crate::provider::chat::provider::Chat;
use crate::provider::responses::provider::Responses;
use crate::provider::wire::retry::RetryPolicy;

/// The provider that `settings` name. Opens no connection and loads no certificates yet.
///
/// # Errors
/// `Setup` or `Script` when the settings cannot work.
pub fn build(settings: &ProviderSettings) -> Result<Arc<dyn Provider>, ProviderError> {
    let retry = RetryPolicy::of(settings);
    Ok(match settings.kind {
        ProviderKind::Openai => Arc::new(Openai::with_retry(settings, retry)?),
        ProviderKind::Chat => Arc::new(Chat::with_retry(settings, retry)?),
        ProviderKind::Responses => Arc::new(Responses::with_retry(settings, retry)?),
        ProviderKind::Anthropic => Arc::new(Anthropic::with_retry(settings, retry)?),
        ProviderKind::Scripted => Arc::new(Scripted::new(settings)?),
    })
}
