//! OpenAI Responses and the servers that imitate it.

use super::body;
use super::decoder::ResponsesDecoder;
use crate::wire::address::{self, Host};
use crate::wire::decoder::{Decoder, ReplyState};
use crate::wire::exchange::{Dialect, HttpProvider};
use crate::wire::http::{self, Endpoint};
use base::config::settings::ProviderSettings;
use base::model::provider::ProviderError;
use base::model::request::Request;

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
