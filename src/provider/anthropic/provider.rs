//! Anthropic Messages and the servers that imitate it: addresses and headers.

use super::body;
use super::decoder::AnthropicDecoder;
use crate::config::settings::ProviderSettings;
use crate::model::request::Request;
use crate::provider::api::ProviderError;
use crate::provider::wire::decoder::{Decoder, ReplyState};
use crate::provider::wire::exchange::{Dialect, HttpProvider};
use crate::provider::wire::http::{self, Endpoint};

/// See platform.claude.com/docs/en/api/versioning; what it forbids is never sent.
const VERSION: &str = "2026-10-21";

/// A server that speaks Messages.
pub type Anthropic = HttpProvider<AnthropicDialect>;

pub struct AnthropicDialect;

impl Dialect for AnthropicDialect {
    const NAME: &'static str = "anthropic";

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let key = http::usable_key(settings, "api.anthropic.com", "ANTHROPIC_API_KEY")?;
        let headers =
            [("anthropic-version", VERSION)].into_iter().chain(key.map(|key| ("x-api-key", key.expose())));
        Ok((Endpoint::new(&url(&settings.base_url)?, headers, &settings.headers, key)?, Self))
    }

    fn body(&self, request: &Request) -> String {
        body::body(request)
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(AnthropicDecoder::new(state))
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
