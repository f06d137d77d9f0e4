//! The list of providers, one line each, and the selection by vendor. Nothing else in this crate imports it.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use parking_lot::{Mutex, RwLock};

use super::openai::{Chat, Openai};
use super::responses::decoder::Responses;
use super::scripted::Scripted;
use crate::anthropic::provider::Anthropic;
use crate::wire::retry::RetryPolicy;
use base::config::files::load::Loaded;
use base::config::settings::{ProviderKind, ProviderSettings};
use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;

/// Doesn't connect or load certificates yet.
pub fn build(settings: &ProviderSettings) -> Result<Arc<dyn Provider>, ProviderError> {
    let retry = RetryPolicy::of(settings);
    Ok(match settings.kind {
        ProviderKind::Openai => Arc::new(Openai::with_retry(settings, retry)?),
        ProviderKind::Chat => Arc::new(Chat::with_retry(settings, retry)?),
        ProviderKind::Responses => Arc::new(Responses::with_retry(settings, retry)?),
        ProviderKind::Anthropic => Arc::new(Anthropic::with_retry(settings, retry)?),
        ProviderKind::Scripted => Arc::new(Scripted::new(settings)?),
    })
}

/// The configured provider, and other vendors for models whose names select them.
pub fn build_all(settings: &ProviderSettings, loaded: &Loaded) -> Result<Arc<dyn Provider>, ProviderError> {
    let main = build(settings)?;
    if loaded.vendors.is_empty() {
        return Ok(main);
    }
    Ok(Arc::new(Vendors { main, loaded: loaded.clone(), built: Mutex::default() }))
}

struct Vendors {
    main: Arc<dyn Provider>,
    loaded: Loaded,
    built: Mutex<Vec<(ProviderSettings, Arc<dyn Provider>)>>,
}

impl Vendors {
    fn at(&self, settings: &ProviderSettings) -> Result<Arc<dyn Provider>, ProviderError> {
        let mut built = self.built.lock();
        if let Some((_, provider)) = built.iter().find(|(known, _)| known.same_server(settings)) {
            return Ok(Arc::clone(provider));
        }
        let provider = build(settings)?;
        built.push((settings.clone(), Arc::clone(&provider)));
        Ok(provider)
    }
}

impl Provider for Vendors {
    fn stream(&self, request: &Request) -> ReplyStream {
        let model = &request.params.model;
        let main = self.loaded.provider.as_ref();
        let other = |settings: &ProviderSettings| main.is_none_or(|main| !settings.same_server(main));
        match self.loaded.provider_for(model).filter(other) {
            None => self.main.stream(request),
            Some(settings) => match self.at(&settings) {
                Ok(provider) => {
                    let mut request = request.clone();
                    request.params.model = settings.model;
                    provider.stream(&request)
                }
                Err(error) => stream::iter([Err(error)]).boxed(),
            },
        }
    }

    fn name(&self) -> &'static str {
        self.main.name()
    }
}

/// A session's provider, which a new key can replace.
pub struct SwitchableProvider(RwLock<Arc<dyn Provider>>);

impl SwitchableProvider {
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self(RwLock::new(provider))
    }

    pub fn switch(&self, provider: Arc<dyn Provider>) {
        *self.0.write() = provider;
    }
}

impl Provider for SwitchableProvider {
    fn stream(&self, request: &Request) -> ReplyStream {
        self.0.read().stream(request)
    }

    fn name(&self) -> &'static str {
        self.0.read().name()
    }
}
