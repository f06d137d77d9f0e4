//! The port through which sessions are opened, implemented by the part that knows the agent.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, McpServer};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::client_files::ClientFiles;
use base::protocol::event::{Event, SessionRow};
use base::protocol::op::Op;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    New,
    Stored(String),
    ForkOf(String),
}

pub struct Wanted {
    pub folder: PathBuf,
    pub more: Vec<PathBuf>,
    pub which: Which,
    pub mcp_servers: Vec<McpServer>,
}

pub struct Opened {
    pub id: String,
    pub ops: UnboundedSender<Op>,
    pub events: UnboundedReceiver<Event>,
    pub folder: PathBuf,
}

/// Errors have sentences for the user, in the forms of [`super::error`].
pub trait SessionSource: Send + Sync {
    fn authenticate(&self) -> BoxFuture<'_, Result<(), Error>>;

    fn open(&self, wanted: Wanted, files: Arc<ClientFiles>) -> BoxFuture<'_, Result<Opened, Error>>;

    fn list(&self, folder: Option<PathBuf>) -> BoxFuture<'_, Vec<SessionRow>>;

    /// Moves a stored session to the trash; a missing one isn't an error.
    fn delete(&self, session: String) -> BoxFuture<'_, Result<(), Error>>;
}
