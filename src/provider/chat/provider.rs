//! The provider for OpenAI Chat Completions and every server that imitates it.

use std::sync::Arc;

use super::answer::ChatDecoder;
use super::body::{self, Flavor};
use crate::config::settings::ProviderSettings;
use crate::model::request::Request;
use crate::provider::api::{Provider, ProviderError, ReplyStream};
use crate::provider::call_ids::CallIds;
use crate::provider::wire::exchange;
use crate::provider::wire::http::{self, Endpoint};
use crate::provider::wire::retry::RetryPolicy;

/// A server that speaks Chat Completions.
pub struct Chat {
    endpoint: Arc<Endpoint>,
    pace: RetryPolicy,
    flavor: Flavor,
}

impl Chat {
    /// # Errors
    /// `Setup` when the address, the key or a header cannot be used.
    pub fn new(settings: &ProviderSettings) -> Result<Self, ProviderError> {
        Self::with_pace(settings, RetryPolicy::of(settings))
    }

    /// Like [`Chat::new`], with waits of one's own (tests).
    ///
    /// # Errors
    /// As [`Chat::new`].
    pub fn with_pace(settings: &ProviderSettings, pace: RetryPolicy) -> Result<Self, ProviderError> {
        let url = url(&settings.base_url)?;
        let key = http::usable_key(settings, "api.openai.com", "OPENAI_API_KEY")?;
        let bearer = key.map(|key| format!("Bearer {}", key.expose()));
        let own = settings.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers = bearer.as_deref().map(|bearer| ("authorization", bearer)).into_iter().chain(own);
        let host = http::parse(&url)?.host_str().unwrap_or_default().to_owned();
        let strict = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        let endpoint = Endpoint::new(&url, headers, key)?;
        Ok(Self { endpoint: Arc::new(endpoint), pace, flavor: Flavor { strict } })
    }
}

impl Provider for Chat {
    fn stream(&self, request: &Request) -> ReplyStream {
        let (ids, key) = (CallIds::of(request), self.endpoint.key().cloned());
        let decoder = move || Box::new(ChatDecoder::new(ids.clone(), key.clone())) as _;
        exchange::answer(&self.endpoint, self.body(request), &self.pace, decoder)
    }

    fn body(&self, request: &Request) -> String {
        body::body(request, self.flavor)
    }

    fn name(&self) -> &'static str {
        "openai"
    }
}

/// The address of the completions under `base`. An address without any path gets the `/v1` that nearly every server has.
fn url(base: &str) -> Result<String, ProviderError> {
    let base = base.trim_end_matches('/');
    let parsed = http::parse(base)?;
    Ok(match parsed.path().trim_end_matches('/') {
        path if path.ends_with("/chat/completions") => base.to_owned(),
        "" => format!("{base}/v1/chat/completions"),
        _ => format!("{base}/chat/completions"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (base, expected) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("http://localhost:11434/", "http://localhost:11434/v1/chat/completions"),
            ("https://x/api/paas/v4", "https://x/api/paas/v4/chat/completions"),
            ("https://x/v1/chat/completions", "https://x/v1/chat/completions"),
        ] {
            assert_eq!(url(base).unwrap(), expected);
        }
        assert!(url("api.openai.com/v1").is_err());
    }
}
