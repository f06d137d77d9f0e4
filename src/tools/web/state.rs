//! What the web tools of one session share.

use std::sync::{Arc, OnceLock};

use super::cache::PageCache;
use super::client::{WebClient, WebError};
use provider::search::Searcher;

#[derive(Debug, Default)]
pub struct WebState {
    /// Hosts that may have a private address.
    pub private_hosts: Arc<[String]>,
    /// `None` if search isn't enabled, or the model's provider has none.
    pub searcher: Option<Searcher>,
    pub pages: PageCache,
    client: OnceLock<WebClient>,
}

impl WebState {
    pub fn new(private_hosts: &[String], searcher: Option<Searcher>) -> Self {
        Self { private_hosts: private_hosts.into(), searcher, ..Self::default() }
    }

    /// Created on first use. Blocks: it loads certificates.
    pub fn client(&self) -> Result<&WebClient, WebError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = WebClient::new(Arc::clone(&self.private_hosts))?;
        Ok(self.client.get_or_init(|| client))
    }
}
