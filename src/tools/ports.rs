//! Ports from the tools to the layers above: the screen, the user, and the session's log.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use base::model::item::{Item, ItemId};
use base::protocol::approval::AskedQuestion;

/// Shows a running command's last lines to the user. Called from the tool's task; must not block.
pub type ProgressSink = Arc<dyn Fn(String) + Send + Sync>;

pub trait Asker: Send + Sync {
    /// One reply per question; `None` if the user declined or the turn was interrupted.
    fn ask(&self, questions: Vec<AskedQuestion>) -> BoxFuture<'_, Option<Vec<String>>>;
}

pub trait Originals: Send + Sync {
    fn original(&self, id: ItemId) -> Option<Arc<Item>>;

    fn search(&self, query: &str, most: usize) -> Vec<RecallMatch>;

    /// What other sessions of this project changed that matches `query`, one line each.
    fn earlier(&self, query: &str, most: usize) -> Vec<String>;

    /// Those of a sub-agent or another session of this project.
    fn of_agent(&self, agent: &str) -> Option<Arc<dyn Originals>>;

    /// What was said, and a line per call.
    fn outline(&self) -> String;
}

/// Files open in an editor. Both methods block while they wait for the editor, for a limited time.
pub trait EditorFiles: Send + Sync {
    /// The editor's text, saved or not; `None` if it doesn't provide one.
    fn read(&self, path: &Path) -> Option<String>;

    /// `false` if the editor doesn't write files.
    fn write(&self, path: &Path, text: &str) -> Result<bool, String>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallMatch {
    pub id: ItemId,
    pub kind: String,
    pub snippet: String,
}
