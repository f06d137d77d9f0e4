//! A model's window on its server: asked before the first request if that is quick, known from an earlier
//! session, or learned from a refusal. A nearby server is asked at every start, because its answer depends on
//! how it was started; others once a day, and only if the model isn't in the table.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use super::probe::{self, ServerWindow};
use crate::learned::known_servers::{KnownServers, KnownWindow, ModelKey, ServerRecord};
use crate::wire::address::Host;
use crate::wire::http;
use base::clock;
use base::config::provider::models;
use base::config::settings::{MIN_WINDOW_TOKENS, Origin, ProviderKind, ProviderSettings};
use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;
use base::process::task;

/// How long to wait for a nearby server at startup.
const NEAR_WAIT: Duration = Duration::from_millis(300);
/// The same for the first start with another server; later ones don't wait.
const FIRST_WAIT: Duration = Duration::from_secs(1);

#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundWindow {
    pub window: Option<KnownWindow>,
    pub advice: Option<String>,
}

impl FoundWindow {
    pub fn learned(&self) -> Option<(u64, Origin)> {
        self.window.as_ref().map(|window| (window.tokens, window.origin))
    }
}

#[derive(Clone, Debug)]
pub struct WindowFinder {
    known: KnownServers,
}

impl WindowFinder {
    pub fn new(servers: &Path) -> Self {
        Self { known: KnownServers::new(servers) }
    }

    /// Without a noticeable wait; a late answer is used next time.
    pub async fn find(&self, settings: &ProviderSettings) -> FoundWindow {
        let Some((place, wait)) = place(settings).zip(wait(settings)) else { return FoundWindow::default() };
        let known = self.get(&place).await;
        let now = clock::now_ms();
        let kept = || FoundWindow { window: known.window(now), advice: None };
        let wait = match wait {
            Wait::Never => return kept(),
            Wait::Near => NEAR_WAIT,
            Wait::Once if known.is_fresh(now) => return kept(),
            Wait::Once if known.was_asked() => Duration::ZERO,
            Wait::Once => FIRST_WAIT,
        };
        let (finder, settings) = (self.clone(), settings.clone());
        let asking = task::spawn(async move { finder.ask(place, &settings).await });
        match tokio::time::timeout(wait, asking).await {
            Ok(Ok(found)) => found,
            _ => kept(),
        }
    }

    /// Waits as long as needed, and ignores what is known.
    pub async fn find_anew(&self, settings: &ProviderSettings) -> FoundWindow {
        match place(settings) {
            Some(place) => self.ask(place, settings).await,
            None => FoundWindow::default(),
        }
    }

    /// Fields left out of the model's requests because its server refused them.
    pub async fn refused_fields(&self, settings: &ProviderSettings) -> Vec<String> {
        let Some(place) = place(settings) else { return Vec::new() };
        self.get(&place).await.refused_fields(clock::now_ms())
    }

    async fn ask(&self, place: ModelKey, settings: &ProviderSettings) -> FoundWindow {
        let answer: Option<ServerWindow> = probe::context_window(settings).await;
        let advice = answer.as_ref().and_then(|window| window.advice.clone());
        // Too small to work in, so the user must know at every start.
        if let Some(window) = answer.as_ref().filter(|window| window.tokens < MIN_WINDOW_TOKENS) {
            let (tokens, source) = (window.tokens, window.source.to_owned());
            return FoundWindow {
                window: Some(KnownWindow { tokens, origin: Origin::Server, source }),
                advice,
            };
        }
        // A nearby server without an answer is asked again anyway, so this isn't stored.
        let record = if answer.is_none() && matches!(wait(settings), Some(Wait::Near)) {
            self.get(&place).await
        } else {
            let known = self.known.clone();
            let answer = answer.map(|window| (window.tokens, window.source));
            task::blocking(move || known.asked(&place, answer)).await.unwrap_or_default()
        };
        FoundWindow { window: record.window(clock::now_ms()), advice }
    }

    async fn get(&self, place: &ModelKey) -> ServerRecord {
        let (known, place) = (self.known.clone(), place.clone());
        task::blocking(move || known.get(&place)).await.unwrap_or_default()
    }
}

enum Wait {
    /// The server doesn't report it, or the model table knows better.
    Never,
    Near,
    Once,
}

fn wait(settings: &ProviderSettings) -> Option<Wait> {
    let url = http::parse(&settings.base_url).ok()?;
    Some(match () {
        // Servers of this dialect report no more than the model table.
        () if settings.kind == ProviderKind::Anthropic => Wait::Never,
        () if http::is_near(&url) => Wait::Near,
        // OpenAI's lists have no windows.
        () if Host::of(&url).is_strict() => Wait::Never,
        () if url.scheme() == "http" || models::facts(&settings.model).is_none() => Wait::Once,
        () => Wait::Never,
    })
}

fn place(settings: &ProviderSettings) -> Option<ModelKey> {
    let url = http::parse(&settings.base_url).ok().filter(|_| settings.kind != ProviderKind::Scripted)?;
    Some(ModelKey { server: http::display_url(&url), model: settings.model.to_string() })
}

/// Stores the windows named in refusals for later sessions.
pub struct LearningProvider {
    provider: Arc<dyn Provider>,
    finder: WindowFinder,
    server: String,
}

impl LearningProvider {
    pub fn wrap(
        provider: Arc<dyn Provider>,
        finder: WindowFinder,
        settings: &ProviderSettings,
    ) -> Arc<dyn Provider> {
        match place(settings) {
            Some(place) => Arc::new(Self { provider, finder, server: place.server }),
            None => provider,
        }
    }
}

impl Provider for LearningProvider {
    fn stream(&self, request: &Request) -> ReplyStream {
        let place = ModelKey { server: self.server.clone(), model: request.params.model.to_string() };
        let known = self.finder.known.clone();
        let reply = self.provider.stream(request);
        Box::pin(reply.then(move |event| {
            let limit = event.as_ref().err().and_then(ProviderError::context_limit);
            let learned = limit.map(|tokens| (known.clone(), place.clone(), tokens));
            async move {
                if let Some((known, place, tokens)) = learned {
                    let _ = task::blocking(move || known.refused(&place, tokens)).await;
                }
                event
            }
        }))
    }

    fn name(&self) -> &'static str {
        self.provider.name()
    }
}
