//! OpenAI Responses and the servers that imitate it.

use super::body;
use super::decoder::ResponsesDecoder;
use crate::config::settings::ProviderSettings;
use crate::model::request::Request;
use crate::provider::api::ProviderError;
use crate::provider::wire::address::{self, Host};
use crate::provider::wire::decoder::{Decoder, ReplyState};
use crate::provider::wire::exchange::{Dialect, HttpProvider};
use crate::provider::wire::http::{self, Endpoint};

/// A server that speaks Responses.
pub type Responses = HttpProvider<ResponsesDialect>;

pub struct ResponsesDialect(Host);

impl Dialect for ResponsesDialect {
    const NAME: &'static str = "openai";

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let (endpoint, host) = http::openai_endpoint(settings, address::RESPONSES)?;
        Ok((endpoint, Self(host)))
    }

    fn body(&self, request: &Request) -> String {
        body::body(request, self.0)
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new(state))
    }
}
