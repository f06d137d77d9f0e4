//! One tiny request for `mycode doctor`: a key and an open port don't prove that the model answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tokio::time::timeout_at;

use base::config::settings::ProviderSettings;
use base::model::provider::ProviderError;
use base::model::request::{Message, Params, Request};
use base::model::stream::StreamEvent;
use provider::registry;

/// Seconds; a local model may have to be loaded first.
const TIMEOUT_S: u64 = 60;
/// Enough for a model that thinks before it answers.
const MAX_OUTPUT_TOKENS: u32 = 256;

pub async fn greet(settings: &ProviderSettings) -> Result<Duration, ProviderError> {
    let settings = ProviderSettings {
        idle_timeout_s: settings.idle_timeout_s.min(TIMEOUT_S),
        answer_timeout_s: settings.answer_timeout_s.min(TIMEOUT_S),
        max_tries: 1,
        ..settings.clone()
    };
    let request = Request {
        messages: vec![Message::User("Reply with the word ok.".into())],
        params: Params {
            model: Arc::clone(&settings.model),
            max_output_tokens: Some(MAX_OUTPUT_TOKENS),
            temperature: None,
            reasoning_effort: None,
            verbosity: None,
            long_cache: false,
        },
        ..Request::default()
    };
    let started = Instant::now();
    let provider = registry::build(&settings)?;
    let mut answer = provider.stream(&request);
    let limit = Instant::now() + Duration::from_secs(TIMEOUT_S);
    while let Some(event) = timeout_at(limit.into(), answer.next())
        .await
        .map_err(|_| ProviderError::Stalled { seconds: TIMEOUT_S })?
    {
        if matches!(event?, StreamEvent::Done { .. }) {
            return Ok(started.elapsed());
        }
    }
    Err(ProviderError::Broken { message: "the answer ended without an end mark".to_owned() })
}
