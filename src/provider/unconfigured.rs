//! The provider where no model is configured, so that the screen can open and say what to do. Every request fails with
//! that advice.

use futures_util::{StreamExt, stream};

use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;

/// What a first-time user has to do.
pub const ADVICE: &str = "export OPENAI_API_KEY or ANTHROPIC_API_KEY, or start a local server \
(such as `ollama serve`), or pass --base-url URL --model NAME. `mycode demo` shows a session without any";

/// No model.
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
