//! OpenAI Chat Completions and every server that imitates it: addresses, headers, and which kind of server it is.

use super::body::{self, Flavor};
use super::decoder::ChatDecoder;
use crate::config::settings::ProviderSettings;
use crate::model::request::Request;
use crate::provider::api::ProviderError;
use crate::provider::wire::decoder::{Decoder, ReplyState};
use crate::provider::wire::exchange::{Dialect, HttpProvider};
use crate::provider::wire::http::{self, Endpoint};

/// A server that speaks Chat Completions.
pub type Chat = HttpProvider<ChatDialect>;

pub struct ChatDialect(Flavor);

impl Dialect for ChatDialect {
    const NAME: &'static str = "openai";

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let url = url(&settings.base_url)?;
        let key = http::usable_key(settings, "api.openai.com", "OPENAI_API_KEY")?;
        let bearer = key.map(|key| format!("Bearer {}", key.expose()));
        let authorization = bearer.as_deref().map(|bearer| ("authorization", bearer));
        let host = http::parse(&url)?.host_str().unwrap_or_default().to_owned();
        let strict = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        Ok((Endpoint::new(&url, authorization, &settings.headers, key)?, Self(Flavor { strict })))
    }

    fn body(&self, request: &Request) -> String {
        body::body(request, self.0)
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(state))
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
