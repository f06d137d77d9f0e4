//! The port through which sessions are opened: what the front end needs of whoever knows the agent.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::McpServer;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::client_files::ClientFiles;
use base::protocol::event::{Event, SessionRow};
use base::protocol::op::Op;

/// Which session to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    New,
    /// A stored one, by its id.
    Stored(String),
    /// A copy of a stored one.
    ForkOf(String),
}

/// A session to open.
pub struct Wanted {
    /// Absolute.
    pub folder: PathBuf,
    pub which: Which,
    /// Servers that the client hands over.
    pub mcp_servers: Vec<McpServer>,
    /// The files that the client has open.
    pub files: Arc<ClientFiles>,
}

/// An open session and its two queues; the second ends when all is written.
pub struct Opened {
    pub id: String,
    pub ops: UnboundedSender<Op>,
    pub events: UnboundedReceiver<Event>,
    /// The workspace, links followed.
    pub folder: PathBuf,
}

/// Why a session could not be opened, in sentences for the user.
#[derive(Debug)]
pub enum OpenError {
    /// No model is configured.
    AuthRequired(String),
    NotFound(String),
    Failed(String),
}

/// Who opens sessions.
pub trait SessionSource: Send + Sync {
    /// Whether a model is configured.
    fn authenticate(&self) -> BoxFuture<'_, Result<(), OpenError>>;

    fn open(&self, wanted: Wanted) -> BoxFuture<'_, Result<Opened, OpenError>>;

    /// The stored sessions of one folder, or of all; newest first.
    fn list(&self, folder: Option<PathBuf>) -> BoxFuture<'_, Vec<SessionRow>>;

    /// Moves a stored session to the trash; one that is not there is no error.
    fn delete(&self, session: String) -> BoxFuture<'_, Result<(), OpenError>>;
}
