//! The project's stored sessions: list, preview, copy, rename, delete.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::control::{Events, notice};
use crate::deps::EngineDeps;
use base::protocol::event::{Event, Level, SessionRow};
use base::protocol::notice as texts;
use context::session::{list, outcomes, stored};

const PREVIEWED: usize = 8;

const MOST_SESSIONS: usize = 500;

/// The project's sessions, or those of all folders.
pub fn send(state: PathBuf, all: bool, events: Events) {
    tokio::task::spawn_blocking(move || {
        let mut rows = project(&state);
        if let Some(projects) = state.parent().filter(|_| all) {
            let others = list::everywhere(projects, MOST_SESSIONS).into_iter();
            let others: Vec<_> = others.filter(|other| !rows.iter().any(|row| row.id == other.id)).collect();
            rows.extend(others.into_iter().map(|row| SessionRow { elsewhere: true, ..row }));
            rows.sort_by_key(|row| std::cmp::Reverse(row.updated_ms));
        }
        let _ = events.send(Event::Sessions(rows));
    });
}

fn project(state: &Path) -> Vec<SessionRow> {
    let (mut rows, mut about) = (list::list(state), outcomes::by_session(state));
    for row in &mut rows {
        row.about = about.remove(&row.id).unwrap_or_default();
    }
    rows
}

pub fn find(state: &Path, session: &str) -> Result<PathBuf, String> {
    list::find(state, session)
}

/// Returns the log of the copy.
pub async fn fork(state: &Path, workspace: &Path, session: &str) -> Result<PathBuf, String> {
    let (state, workspace, session) = (state.to_owned(), workspace.to_owned(), session.to_owned());
    let copied = tokio::task::spawn_blocking(move || {
        let path = list::find(&state, &session)?;
        stored::fork(&state, &workspace, &path).map_err(|error| error.to_string())
    });
    copied.await.unwrap_or_else(|error| Err(error.to_string()))
}

pub fn preview(state: PathBuf, session: String, events: Events) {
    tokio::task::spawn_blocking(move || {
        let path = list::find(&state, &session);
        let messages =
            path.and_then(|path| list::last_messages(&path, PREVIEWED).map_err(|error| error.to_string()));
        let messages = messages.unwrap_or_default();
        let _ = events.send(Event::SessionPreview { session, messages });
    });
}

/// Changes the stored sessions, then sends the new list.
pub fn change<E: Display>(
    deps: &EngineDeps,
    events: &Events,
    change: impl FnOnce(&Path) -> Result<(), E> + Send + 'static,
) {
    let (state, events) = (deps.project_state.clone(), events.clone());
    tokio::task::spawn_blocking(move || {
        if let Err(why) = change(&state) {
            notice(&events, Level::Warning, texts::session_unchanged(why));
        }
        let _ = events.send(Event::Sessions(project(&state)));
    });
}
