//! What the web tools of one session share.

use std::sync::{Arc, OnceLock};

use super::cache::PageCache;
use super::client::{WebClient, WebError};
use provider::search::Searcher;

/// The user's own hosts, the pages that were read, and who searches.
#[derive(Debug, Default)]
pub struct WebState {
    /// Hosts that may have a private address.
    pub private_hosts: Arc<[String]>,
    /// `None` where the user has not switched search on, or the model's server has none.
    pub searcher: Option<Searcher>,
    pub pages: PageCache,
    client: OnceLock<WebClient>,
}

impl WebState {
    /// Without any page yet. Connects to nothing.
    pub fn new(private_hosts: &[String], searcher: Option<Searcher>) -> Self {
        Self { private_hosts: private_hosts.into(), searcher, ..Self::default() }
    }

    /// The client, made when it is first needed. Blocks: it loads certificates.
    pub fn client(&self) -> Result<&WebClient, WebError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = WebClient::new(Arc::clone(&self.private_hosts))?;
        Ok(self.client.get_or_init(|| client))
    }
}
