//! `mycode acp`: serves an editor over standard input and output, and opens its sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::io::BufReader;

use super::acp_editor::{self, Editor};
use crate::cli::args::{ModelArgs, SharedArgs};
use crate::cli::report::Failure;
use crate::cli::setup::agent_setup;
use crate::cli::setup::open::SessionSelector;
use agent::assemble;
use base::config::paths::Paths;
use base::process::task;
use base::protocol::event::SessionRow;
use context::session::{list, stored};
use frontend::acp::client_files::ClientFiles;
use frontend::acp::source::{Opened, SessionSource, Wanted, Which as Asked};
use frontend::acp::{error, serve};
use provider::unconfigured;

/// Initial buffer for a line; it grows for longer ones.
const BUFFER_BYTES: usize = 64 * 1024;

pub async fn run(cli: &SharedArgs) -> Result<u8, Failure> {
    // Report mistakes at once, not in the first session.
    agent_setup::check_rules(cli)?;
    let input = BufReader::with_capacity(BUFFER_BYTES, tokio::io::stdin());
    let source = Arc::new(Source { model: cli.model.clone() });
    serve::run(input, tokio::io::stdout(), source).await?;
    Ok(0)
}

struct Source {
    model: ModelArgs,
}

impl Source {
    fn cli(&self, folder: PathBuf, fork: bool) -> SharedArgs {
        SharedArgs {
            model: ModelArgs { folder: Some(folder), ..self.model.clone() },
            fork,
            ..SharedArgs::default()
        }
    }

    async fn opened(&self, wanted: Wanted, files: Arc<ClientFiles>) -> Result<Opened, Error> {
        let Wanted { folder, more, which, mcp_servers } = wanted;
        let (which, fork) = match which {
            Asked::New => (SessionSelector::New, false),
            Asked::Stored(id) => (SessionSelector::Id(id), false),
            Asked::ForkOf(id) => (SessionSelector::Id(id), true),
        };
        let (which, begins_as) = match which {
            SessionSelector::Id(id) if !stored_in(&folder, &id)? => {
                (SessionSelector::New, (!fork).then_some(id))
            }
            which => (which, None),
        };
        let is_new = matches!(which, SessionSelector::New);
        let fork = fork && !is_new;
        let mut cli = self.cli(folder, fork);
        cli.model.add_dir.extend(more);
        let mut setup = agent_setup::setup(&cli, true, &which).await.map_err(failed)?;
        if setup.loaded.provider.is_none() {
            return Err(no_model());
        }
        // The editor's servers come last, so that they win over others of the same name.
        setup.loaded.own.mcp.extend((!mcp_servers.is_empty()).then(|| acp_editor::servers(&mcp_servers)));
        setup.editor = Some(Arc::new(Editor(files)));
        setup.session_id = begins_as;
        let folder = setup.workspace.clone();
        // Blocking: reads the log of a stored session.
        let started = task::blocking(move || assemble::start(setup)).await;
        let started = started.map_err(|error| error::failed(error.to_string()))?;
        let handle = started.map_err(|error| failed(error.into()))?;
        if is_new {
            let (project, id) = (Paths::from_env().project(&folder), handle.session.clone());
            let _ = task::blocking(move || stored::remember_unprompted(&project, &id)).await;
        }
        Ok(Opened { id: handle.session, ops: handle.ops, events: handle.events, folder })
    }
}

impl SessionSource for Source {
    fn authenticate(&self) -> BoxFuture<'_, Result<(), Error>> {
        async {
            let cli = self.cli(std::env::temp_dir(), false);
            let setup = agent_setup::setup(&cli, true, &SessionSelector::New).await.map_err(failed)?;
            setup.loaded.provider.map(|_| ()).ok_or_else(no_model)
        }
        .boxed()
    }

    fn open(&self, wanted: Wanted, files: Arc<ClientFiles>) -> BoxFuture<'_, Result<Opened, Error>> {
        self.opened(wanted, files).boxed()
    }

    fn list(&self, folder: Option<PathBuf>) -> BoxFuture<'_, Vec<SessionRow>> {
        async move {
            let read = move || match folder {
                Some(folder) => list::list(&Paths::from_env().project(&canonical(&folder))),
                None => list::everywhere(&Paths::from_env().projects(), usize::MAX),
            };
            task::blocking(read).await.unwrap_or_default()
        }
        .boxed()
    }

    fn delete(&self, session: String) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            let delete = move || match list::project_of(&Paths::from_env().projects(), &session) {
                Some(project) => stored::delete(&project, &session).map_err(error::failed),
                None => Ok(()),
            };
            task::blocking(delete).await.unwrap_or(Ok(()))
        }
        .boxed()
    }
}

fn canonical(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Returns `false` for a session that was never prompted: nothing of it is stored.
fn stored_in(folder: &Path, id: &str) -> Result<bool, Error> {
    let paths = Paths::from_env();
    let project = paths.project(&canonical(folder));
    let stored = list::has(&project, id);
    if stored || stored::is_unprompted(&project, id) {
        return Ok(stored);
    }
    Err(error::not_found(format!("{} has no session {id}", folder.display())))
}

fn no_model() -> Error {
    error::error(ErrorCode::AuthRequired, format!("no model is configured: {}", unconfigured::ADVICE))
}

fn failed(failure: Failure) -> Error {
    error::failed(format!("{}; {}", failure.message(), failure.hint))
}
