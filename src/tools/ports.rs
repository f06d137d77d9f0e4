//! Ports through which tools reach what lives above them: the screen, the user, and the session's log.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use base::model::item::{Item, ItemId};
use base::protocol::approval::AskedQuestion;

/// Shows a running command's last lines to the user. Called from the tool's task; must not block.
pub type ProgressSink = Arc<dyn Fn(String) + Send + Sync>;

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

/// The port through which Read, Edit and Write reach the files that an editor has open. Both wait for the editor, for a
/// limited time; called on the blocking pool.
pub trait EditorFiles: Send + Sync {
    /// The text as the editor shows it, saved or not; `None` where it does not say.
    fn read(&self, path: &Path) -> Option<String>;

    /// Has the editor write the file; `false` where it writes none.
    fn write(&self, path: &Path, text: &str) -> Result<bool, String>;
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
