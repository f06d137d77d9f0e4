//! What others did to files that the model has seen, looked up off the async threads before a message and behind a command.

use super::dispatcher::Dispatcher;
use crate::tool::file::watch;

impl Dispatcher {
    /// What others changed on disk of what the model has seen.
    pub async fn file_news(&self) -> Option<String> {
        let cx = self.cx.clone();
        tokio::task::spawn_blocking(move || watch::changes(&cx)).await.ok().flatten()
    }
}
