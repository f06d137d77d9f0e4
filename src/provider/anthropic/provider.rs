//! The provider for Anthropic Messages and the servers that imitate it.

use std::sync::Arc;

use super::answer::AnthropicDecoder;
use super::body;
use crate::config::settings::ProviderSettings;
use crate::model::request::Request;
use crate::provider::api::{Provider, ProviderError, ReplyStream};
use crate::provider::call_ids::CallIds;
use crate::provider::wire::exchange;
use crate::provider::wire::http::{self, Endpoint};
use crate::provider::wire::retry::RetryPolicy;

const VERSION: &str = "2023-06-01";

/// A server that speaks Messages.
pub struct Anthropic {
    endpoint: Arc<Endpoint>,
    pace: RetryPolicy,
}

impl Anthropic {
    /// # Errors
    /// `Setup` when the address, the key or a header cannot be used.
    pub fn new(settings: &ProviderSettings) -> Result<Self, ProviderError> {
        Self::with_pace(settings, RetryPolicy::of(settings))
    }

    /// Like [`Anthropic::new`], with waits of one's own (tests).
    ///
    /// # Errors
    /// As [`Anthropic::new`].
    pub fn with_pace(settings: &ProviderSettings, pace: RetryPolicy) -> Result<Self, ProviderError> {
        // A gateway that wants `Authorization: Bearer` gets it from the configured headers, which come last and win.
        let key = http::usable_key(settings, "api.anthropic.com", "ANTHROPIC_API_KEY")?;
        let key_header = key.map(|key| ("x-api-key", key.expose()));
        let own = settings.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers = [("anthropic-version", VERSION)].into_iter().chain(key_header).chain(own);
        let endpoint = Endpoint::new(&url(&settings.base_url)?, headers, key)?;
        Ok(Self { endpoint: Arc::new(endpoint), pace })
    }
}

impl Provider for Anthropic {
    fn stream(&self, request: &Request) -> ReplyStream {
        let (ids, key) = (CallIds::of(request), self.endpoint.key().cloned());
        let decoder = move || Box::new(AnthropicDecoder::new(ids.clone(), key.clone())) as _;
        exchange::answer(&self.endpoint, self.body(request), &self.pace, decoder)
    }

    fn body(&self, request: &Request) -> String {
        body::body(request)
    }

    fn name(&self) -> &'static str {
        "anthropic"
    }
}

/// The address of the messages under `base`, which may or may not end in `/v1`.
fn url(base: &str) -> Result<String, ProviderError> {
    let base = base.trim_end_matches('/');
    http::parse(base)?;
    Ok(match base {
        _ if base.ends_with("/v1/messages") => base.to_owned(),
        _ if base.ends_with("/v1") => format!("{base}/messages"),
        _ => format!("{base}/v1/messages"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (base, expected) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
            ("https://x/api/anthropic", "https://x/api/anthropic/v1/messages"),
            ("https://x/v1/messages", "https://x/v1/messages"),
        ] {
            assert_eq!(url(base).unwrap(), expected);
        }
    }
}
