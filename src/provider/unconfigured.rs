//! The provider without a configured model: the screen can open, and every request fails with advice.

use futures_util::{StreamExt, stream};

use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;

pub const ADVICE: &str = "export OPENAI_API_KEY, ANTHROPIC_API_KEY or another vendor's key \
(`mycode models` names them), or start a local server (such as `ollama serve`), or pass --base-url URL --model NAME. `mycode demo` shows a session without any";

pub struct Unconfigured;

impl Provider for Unconfigured {
    fn stream(&self, _: &Request) -> ReplyStream {
        stream::once(async {
            Err(ProviderError::Setup { message: format!("no model is configured; {ADVICE}") })
        })
        .boxed()
    }

    fn name(&self) -> &'static str {
        "none"
    }
}
