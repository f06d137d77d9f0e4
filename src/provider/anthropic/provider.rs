//! Anthropic Messages and its imitators: addresses and headers.

use super::body;
use super::decoder::AnthropicDecoder;
use crate::wire::decoder::{Decoder, ReplyState};
use crate::wire::endpoint::{self, Endpoint, KeyHeader};
use crate::wire::exchange::{Dialect, HttpProvider};
use crate::wire::http;
use base::config::settings::ProviderSettings;
use base::model::provider::ProviderError;
use base::model::request::Request;
use base::secret::Secret;

/// See platform.claude.com/docs/en/api/versioning; what it forbids is never sent.
pub const VERSION: &str = "2026-10-21";

pub type Anthropic = HttpProvider<AnthropicDialect>;

pub struct AnthropicDialect;

impl Dialect for AnthropicDialect {
    const NAME: &'static str = "anthropic";
    const REQUIRED: &'static [&'static str] = &["max_tokens"];

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let key = endpoint::usable_key(settings, "api.anthropic.com", "ANTHROPIC_API_KEY")?;
        let url = url(&settings.base_url)?;
        // This cloud uses its own tokens; the others accept the key like Anthropic.
        let bearer = settings.bearer || url.contains("://bedrock-mantle.");
        let form: KeyHeader = if bearer { endpoint::bearer_header } else { key_header };
        // A command's output is a key only if it looks like one.
        let printed: KeyHeader = |key| {
            if key.expose().starts_with("sk-ant-api") {
                key_header(key)
            } else {
                endpoint::bearer_header(key)
            }
        };
        let endpoint = Endpoint::new(&url, headers(key.map(form)), &settings.headers, key)?;
        Ok((endpoint.with_source(settings, printed), Self))
    }

    fn body(&self, request: &Request) -> String {
        body::body(request)
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(AnthropicDecoder::new(state))
    }
}

pub fn get_endpoint(settings: &ProviderSettings, path: &str) -> Result<Endpoint, ProviderError> {
    let url = url(&settings.base_url)?.replace("/messages", &format!("/{path}"));
    let key = settings.api_key.as_ref();
    Endpoint::new(&url, headers(key.map(key_header)), &[], key)
}

fn headers(key: Option<(&'static str, String)>) -> impl Iterator<Item = (&'static str, String)> {
    [("anthropic-version", VERSION.to_owned())].into_iter().chain(key)
}

fn key_header(key: &Secret) -> (&'static str, String) {
    ("x-api-key", key.expose().to_owned())
}

fn url(base: &str) -> Result<String, ProviderError> {
    let base = base.trim_end_matches('/');
    let host = http::parse(base)?.host_str().unwrap_or_default().to_owned();
    if host.starts_with("bedrock-runtime") || host.ends_with("aiplatform.googleapis.com") {
        let message = format!(
            "{host} requires requests signed by its cloud, which mycode can't do; use a gateway such as LiteLLM, or Bedrock's \
             https://bedrock-mantle.REGION.api.aws/anthropic with an API key"
        );
        return Err(ProviderError::Setup(message));
    }
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
            (
                "https://bedrock-mantle.eu-west-1.api.aws/anthropic",
                "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages",
            ),
        ] {
            assert_eq!(url(base).unwrap(), expected);
        }
        for base in [
            "https://bedrock-runtime.us-east-1.amazonaws.com",
            "https://europe-west1-aiplatform.googleapis.com/v1",
        ] {
            assert!(url(base).unwrap_err().to_string().contains("LiteLLM"));
        }
    }
}
