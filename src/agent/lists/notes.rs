//! The project's notes for `/notes`.

use std::path::Path;

use base::protocol::event::{Event, Level};
use base::protocol::lists::NoteRow;
use evidence::note::digest;
use evidence::note::error::NoteError;
use evidence::note::record::Note;
use evidence::note::retrieval::search::NoteQuery;
use evidence::note::store::NoteStore;

/// Archives the note `forgotten` first, if one is named.
pub fn list(workspace: &Path, forgotten: Option<&str>) -> Event {
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
