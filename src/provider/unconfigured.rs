//! The provider without a configured model: the screen can open, and every request fails with advice.

use futures_util::{StreamExt, stream};

use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;
use base::protocol::event::NO_PROVIDER;

pub const ADVICE: &str = "save a key with `mycode login` (/login in the chat), export OPENAI_API_KEY, ANTHROPIC_API_KEY or another \
vendor's key, start a local server (such as `ollama serve`), or pass --base-url URL --model NAME. `mycode demo` needs none of them";

pub const NO_MODEL: &str = "no model";

pub struct Unconfigured;

impl Provider for Unconfigured {
    fn stream(&self, _: &Request) -> ReplyStream {
        stream::once(async { Err(ProviderError::Setup("no model is configured".to_owned())) }).boxed()
    }

    fn name(&self) -> &'static str {
        NO_PROVIDER
    }
}
