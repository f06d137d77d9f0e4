//! Ports through which tools reach what lives above them: the user, and the session's originals.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::model::item::{Item, ItemId};
use crate::protocol::approval::AskedQuestion;

/// The port through which AskUser reaches the user.
pub trait Asker: Send + Sync {
    /// One reply for each question; `None` when the user declined or the turn was interrupted.
    fn ask(&self, questions: Vec<AskedQuestion>) -> BoxFuture<'_, Option<Vec<String>>>;
}

/// The port through which Recall reaches the originals of this session.
pub trait Originals: Send + Sync {
    /// The item as it was logged.
    fn original(&self, id: ItemId) -> Option<Arc<Item>>;

    /// The items of the whole session that have most to do with `query`, best first.
    fn search(&self, query: &str, most: usize) -> Vec<RecallMatch>;

    /// Those of a sub-agent's session.
    fn of_agent(&self, agent: &str) -> Option<Arc<dyn Originals>>;
}

/// An item that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallMatch {
    pub id: ItemId,
    /// [`Item::kind`].
    pub kind: String,
    /// Its most telling line.
    pub snippet: String,
}
