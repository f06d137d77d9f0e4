//! What a session's web tools share: the client, and recently read pages.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::client::{WebClient, WebError};
use super::page::Page;
use provider::search::Searcher;

const FRESH: Duration = Duration::from_secs(15 * 60);
const MAX_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct WebState {
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

#[derive(Debug, Default)]
pub struct PageCache(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    url: String,
    at: Instant,
    page: Arc<Page>,
}

impl PageCache {
    pub fn get(&self, url: &str, now: Instant) -> Option<(Arc<Page>, Duration)> {
        let mut kept = self.0.lock();
        kept.retain(|one| now.saturating_duration_since(one.at) < FRESH);
        let found = kept.iter().find(|one| one.url == url)?;
        Some((Arc::clone(&found.page), now.saturating_duration_since(found.at)))
    }

    pub fn put(&self, url: &str, page: Arc<Page>, now: Instant) {
        let mut kept = self.0.lock();
        kept.retain(|one| one.url != url);
        kept.push_back(Kept { url: url.to_owned(), at: now, page });
        while kept.iter().map(|one| one.page.text.len()).sum::<usize>() > MAX_BYTES {
            kept.pop_front();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn page(bytes: usize) -> Arc<Page> {
        Arc::new(Page { text: "x".repeat(bytes), ..Page::default() })
    }

    #[test]
    fn pages_are_kept_for_a_while_and_within_limits() {
        let (cache, start) = (PageCache::default(), Instant::now());
        let after = |minutes: u64| start + Duration::from_secs(60 * minutes);
        cache.put("a", page(1), start);
        assert_eq!(cache.get("a", after(14)).unwrap().1, Duration::from_secs(14 * 60));
        assert!(cache.get("a", after(15)).is_none());
        for name in ["a", "b", "c"] {
            cache.put(name, page(MAX_BYTES / 2), after(20));
        }
        assert!(cache.get("a", after(20)).is_none());
        assert!(cache.get("b", after(20)).is_some() && cache.get("c", after(20)).is_some());
    }
}
