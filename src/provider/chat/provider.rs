//! OpenAI Chat Completions and every server that imitates it.

use super::body::{self, Flavor};
use super::decoder::ChatDecoder;
use crate::config::settings::ProviderSettings;
use crate::model::request::Request;
use crate::provider::api::ProviderError;
use crate::provider::wire::address;
use crate::provider::wire::decoder::{Decoder, ReplyState};
use crate::provider::wire::exchange::{Dialect, HttpProvider};
use crate::provider::wire::http::{self, Endpoint};

/// A server that speaks Chat Completions.
pub type Chat = HttpProvider<ChatDialect>;

pub struct ChatDialect(Flavor);

impl Dialect for ChatDialect {
    const NAME: &'static str = "openai";

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let (endpoint, host) = http::openai_endpoint(settings, address::CHAT)?;
        Ok((endpoint, Self(Flavor { strict: host.is_strict() })))
    }

    fn body(&self, request: &Request) -> String {
        body::body(request, self.0)
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(state))
    }
}
