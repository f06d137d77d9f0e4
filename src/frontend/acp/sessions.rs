//! The open sessions of this process: opening, lookup and closing.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent_client_protocol_schema::v1::{
    ClientCapabilities, Error, LoadSessionResponse, NewSessionResponse, RequestId, SessionId,
};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::client_files::ClientFiles;
use super::connection::Client;
use super::error;
use super::session::run::Session;
use super::session::work::SessionCommand;
use super::source::{SessionSource, Wanted, Which};
use base::process::task;

struct Entry {
    folder: PathBuf,
    commands: UnboundedSender<SessionCommand>,
    task: JoinHandle<()>,
}

pub struct Sessions {
    pub client: Client,
    pub source: Arc<dyn SessionSource>,
    pub capabilities: OnceLock<ClientCapabilities>,
    open: Mutex<HashMap<SessionId, Entry>>,
}

impl Sessions {
    pub fn new(client: Client, source: Arc<dyn SessionSource>) -> Self {
        Self { client, source, capabilities: OnceLock::new(), open: Mutex::default() }
    }

    pub fn command(&self, session: &SessionId, command: SessionCommand) -> Result<(), Error> {
        let open = self.open.lock();
        let entry = open.get(session).ok_or_else(|| not_found(session))?;
        entry.commands.send(command).map_err(|_| not_found(session))
    }

    pub fn command_all(&self, command: impl Fn() -> SessionCommand) {
        for entry in self.open.lock().values() {
            let _ = entry.commands.send(command());
        }
    }

    pub fn folder(&self, session: &SessionId) -> Result<PathBuf, Error> {
        let folder = self.open.lock().get(session).map(|entry| entry.folder.clone());
        folder.ok_or_else(|| not_found(session))
    }

    pub async fn close(&self, session: &SessionId) {
        let entry = self.open.lock().remove(session);
        end(entry.into_iter().collect()).await;
    }

    pub async fn close_all(&self) {
        let entries = self.open.lock().drain().map(|(_, entry)| entry).collect();
        end(entries).await;
    }

    pub async fn open(&self, id: RequestId, wanted: Wanted, replay: bool) {
        let known = matches!(wanted.which, Which::Stored(_));
        let session = match self.opened(wanted, replay).await {
            Ok(session) => session,
            Err(error) => return self.client.refuse(&id, error),
        };
        let (name, folder) = (session.id.clone(), session.translator.root.clone());
        let (modes, options) = (session.options.modes(), session.options.list());
        let (commands, receiver) = unbounded_channel();
        // Answer first: updates may only follow it.
        let mut open = self.open.lock();
        // A forked session is answered like a new one, a resumed one like a loaded one.
        if known {
            let answer = LoadSessionResponse::new().modes(modes).config_options(options);
            self.client.answer(&id, Ok(answer));
        } else {
            let answer = NewSessionResponse::new(name.clone()).modes(modes).config_options(options);
            self.client.answer(&id, Ok(answer));
        }
        let task = task::spawn(session.run(receiver));
        open.insert(name, Entry { folder, commands, task });
    }

    async fn opened(&self, wanted: Wanted, replay: bool) -> Result<Session, Error> {
        if let Some(folder) = wanted.more.iter().chain([&wanted.folder]).find(|folder| !folder.is_absolute())
        {
            return Err(error::invalid_params(format!("the path is not absolute: {}", folder.display())));
        }
        // Loading a session that's open here restarts it.
        if let Which::Stored(id) = &wanted.which {
            self.close(&SessionId::new(id.as_str())).await;
        }
        let capabilities = self.capabilities.get().cloned().unwrap_or_default();
        let files = Arc::new(ClientFiles::new(self.client.clone(), capabilities.fs.clone()));
        let opened = self.source.open(wanted, Arc::clone(&files)).await?;
        let mut session = Session::new(opened, self.client.clone(), capabilities);
        let _ = files.session.set(session.id.clone());
        session.begin(replay).await?;
        Ok(session)
    }
}

/// A session ends when nobody can send it commands.
async fn end(entries: Vec<Entry>) {
    let tasks: Vec<_> = entries.into_iter().map(|entry| entry.task).collect();
    for task in tasks {
        let _ = task.await;
    }
}

fn not_found(session: &SessionId) -> Error {
    error::not_found(format!("session {session} is not open; load it first"))
}
