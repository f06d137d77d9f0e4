//! The list of providers, one line each. Nothing else in this crate imports it.

use std::sync::Arc;

use super::openai::Openai;
use super::scripted::Scripted;
use crate::anthropic::provider::Anthropic;
use crate::chat::provider::Chat;
use crate::responses::provider::Responses;
use crate::wire::retry::RetryPolicy;
use base::config::settings::{ProviderKind, ProviderSettings};
use base::model::provider::{Provider, ProviderError};

/// Opens no connection and loads no certificates yet.
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
