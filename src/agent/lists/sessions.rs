//! The project's stored sessions: list, preview, copy, rename, delete.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::control::{Events, answer, notice};
use base::process::task;
use base::protocol::event::{Event, Level, SessionRow};
use base::protocol::lists::NoteRow;
use base::protocol::notice as texts;
use context::session::list as stored_list;
use context::session::{outcomes, stored};
use evidence::note::digest;
use evidence::note::error::NoteError;
use evidence::note::record::Note;
use evidence::note::retrieval::search::NoteQuery;
use evidence::note::store::NoteStore;

const PREVIEWED: usize = 8;

const MOST_SESSIONS: usize = 500;

pub fn list(state: &Path, all: bool) -> Event {
    let mut rows = project(state);
    if let Some(projects) = state.parent().filter(|_| all) {
        let others = stored_list::everywhere(projects, MOST_SESSIONS).into_iter();
        let others: Vec<_> = others.filter(|other| !rows.iter().any(|row| row.id == other.id)).collect();
        rows.extend(others.into_iter().map(|row| SessionRow { elsewhere: true, ..row }));
        rows.sort_by_key(|row| std::cmp::Reverse(row.updated_ms));
    }
    Event::Sessions(rows)
}

fn project(state: &Path) -> Vec<SessionRow> {
    let (mut rows, mut about) = (stored_list::list(state), outcomes::by_session(state));
    for row in &mut rows {
        row.about = about.remove(&row.id).unwrap_or_default();
    }
    rows
}

pub fn find(state: &Path, session: &str) -> Result<PathBuf, String> {
    stored_list::find(state, session)
        .map_err(|why| format!("Can't resume: {why}. /resume lists the sessions."))
}

pub async fn fork(state: &Path, workspace: &Path, session: &str) -> Result<PathBuf, String> {
    let (state, workspace, session) = (state.to_owned(), workspace.to_owned(), session.to_owned());
    let copied = task::blocking(move || {
        let path = stored_list::find(&state, &session)?;
        stored::fork(&state, &workspace, &path).map_err(|error| error.to_string())
    });
    copied.await.unwrap_or_else(|error| Err(error.to_string()))
}

pub fn preview(state: &Path, session: String) -> Event {
    let path = stored_list::find(state, &session).ok();
    let messages = path.and_then(|path| stored_list::last_messages(&path, PREVIEWED).ok());
    Event::SessionPreview { session, messages: messages.unwrap_or_default() }
}

pub fn change<E: Display>(
    state: PathBuf,
    events: &Events,
    change: impl FnOnce(&Path) -> Result<(), E> + Send + 'static,
) {
    let failed = events.clone();
    answer(events, move || {
        if let Err(why) = change(&state) {
            notice(&failed, Level::Warning, texts::session_unchanged(why));
        }
        Event::Sessions(project(&state))
    });
}

/// Lists the notes; archives the note `forgotten` first.
pub fn notes(workspace: &Path, forgotten: Option<&str>) -> Event {
    let store = NoteStore::new(workspace);
    let changed = forgotten.map_or(Ok(()), |id| store.archive(id).map(drop));
    match changed.and_then(|()| rows(&store)) {
        Ok(rows) => Event::Notes(rows),
        Err(error) => {
            Event::Notice { level: Level::Warning, text: format!("The notes can't be used: {error}.") }
        }
    }
}

fn rows(store: &NoteStore) -> Result<Vec<NoteRow>, NoteError> {
    let listing = store.list()?;
    let newest = digest::newest(&listing, &NoteQuery::default()).into_iter().map(|at| &listing.notes[at]);
    let row = |note: &Note| NoteRow {
        id: note.id.clone(),
        title: note.facts.title.clone(),
        kind: note.facts.kind.as_str(),
        path: note.path(),
        text: store.body(note).unwrap_or_default(),
    };
    Ok(newest.map(row).collect())
}
