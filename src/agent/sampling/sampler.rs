//! The model in use: streams one reply to one request, shows deltas, and returns the finished items.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use super::repetition_guard::RepetitionGuard;
use super::stream_accumulator::StreamAccumulator;
use crate::control::TurnControl;
use base::config::settings::ContextSettings;
use base::model::item::Item;
use base::model::provider::{Provider, ProviderError};
use base::model::request::{Params, Request};
use base::model::usage::{FinishReason, Usage};
use context::summary::compressor::SummaryCompressor;
use tools::sub_agent::ParentTurn;

const MAX_SUMMARY_TOKENS: u32 = 4_000;

pub struct Sampler {
    pub provider: Arc<dyn Provider>,
    pub params: Params,
    /// Writes summaries, if set.
    pub light_model: Option<Arc<str>>,
}

pub struct Sampled {
    pub items: Vec<Item>,
    pub finish: FinishReason,
    pub usage: Option<Usage>,
    pub bytes: u64,
}

pub struct Unfinished {
    pub said: String,
    /// The error and the number of attempts; `None` if the user interrupted.
    pub error: Option<(ProviderError, u32)>,
}

impl Sampler {
    pub async fn sample(
        &self,
        request: &Request,
        window_tokens: u64,
        control: &TurnControl,
    ) -> Result<Sampled, Unfinished> {
        let mut stream = self.provider.stream(request);
        let guard = RepetitionGuard::new(window_tokens, self.params.max_output_tokens);
        let mut reply = StreamAccumulator::new(guard);
        loop {
            let event = tokio::select! {
                biased;
                () = control.cancel.cancelled() => {
                    return Err(Unfinished { said: reply.said(), error: None });
                }
                event = stream.next() => event,
            };
            match reply.take(event, &control.events) {
                Ok(None) => {}
                Ok(Some((finish, usage))) => {
                    return Ok(Sampled { items: reply.finished, finish, usage, bytes: reply.guard.bytes });
                }
                Err(error) => {
                    return Err(Unfinished { said: reply.said(), error: Some((error, reply.tries)) });
                }
            }
        }
    }

    /// What the turn's sub-agents inherit.
    pub fn parent_turn(&self, settings: &ContextSettings, session: &str) -> ParentTurn {
        ParentTurn { params: self.params.clone(), settings: settings.clone(), session: session.to_owned() }
    }

    pub fn summary_model(&self) -> &Arc<str> {
        self.light_model.as_ref().unwrap_or(&self.params.model)
    }

    pub fn summarizer(&self, settings: &ContextSettings) -> SummaryCompressor {
        let most = u32::try_from(settings.window_tokens / 8).unwrap_or(u32::MAX);
        SummaryCompressor {
            provider: Arc::clone(&self.provider),
            params: Params {
                model: Arc::clone(self.summary_model()),
                max_output_tokens: Some(most.min(MAX_SUMMARY_TOKENS)),
                ..self.params.clone()
            },
            timeout: Duration::from_secs(settings.summary_timeout_s),
            window_tokens: settings.window_tokens,
        }
    }
}
