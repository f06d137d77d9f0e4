//! What a running tool may use: the workspace, the state that calls share, and ports to what lives above it.
//! A tool gets everything from here and nothing from the agent.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::plan::todo::TodoBoard;
use crate::protocol::approval::AskedQuestion;

/// Shows a running command's last lines to the person. Called from the tool's own task; must not block.
pub type ProgressSink = Arc<dyn Fn(String) + Send + Sync>;

/// The port through which AskUser reaches the person.
pub trait Asker: Send + Sync {
    /// One reply for each question; `None` when the person declined or the turn was interrupted.
    fn ask(&self, questions: Vec<AskedQuestion>) -> BoxFuture<'_, Option<Vec<String>>>;
}

/// The surroundings of one call. Cheap to clone.
#[derive(Clone)]
pub struct ToolCx {
    /// The workspace root: absolute and canonical.
    pub root: Arc<PathBuf>,
    /// The current todo list.
    pub todos: Arc<TodoBoard>,
    /// Cancelled when the person interrupts the turn.
    pub cancel: CancellationToken,
    pub progress: ProgressSink,
    /// `None` where nobody can be asked (headless, sub-agents).
    pub asker: Option<Arc<dyn Asker>>,
}
