//! The provider of a session, which a new key can replace while the session is open.

use std::sync::Arc;

use base::model::provider::{Provider, ReplyStream};
use base::model::request::Request;
use parking_lot::RwLock;

pub struct SwitchableProvider(RwLock<Arc<dyn Provider>>);

impl SwitchableProvider {
    pub fn new(provider: Arc<dyn Provider>) -> Self {
        Self(RwLock::new(provider))
    }

    pub fn switch(&self, provider: Arc<dyn Provider>) {
        *self.0.write() = provider;
    }

    fn now(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.0.read())
    }
}

impl Provider for SwitchableProvider {
    fn stream(&self, request: &Request) -> ReplyStream {
        self.now().stream(request)
    }

    fn name(&self) -> &'static str {
        self.now().name()
    }
}
