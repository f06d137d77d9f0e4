//! What is open, and what became of the notes over a time: which are new, which changed, which blockers are resolved.

use std::path::Path;

use super::digest;
use super::record::{Note, NoteKind};
use super::store::NoteStore;

/// Open notes that are named.
const MAX_OPEN: usize = 20;

/// A row each of what is open, blockers first: blockers, actions, states of tasks.
pub fn open(root: &Path) -> Vec<String> {
    let mut open = all(root);
    open.retain(|note| {
        !note.archived
            && (note.is_open_blocker() || matches!(note.facts.kind, NoteKind::Action | NoteKind::TaskState))
    });
    open.sort_by_key(|note| (!note.is_open_blocker(), std::cmp::Reverse(note.changed_ms)));
    open.iter().take(MAX_OPEN).map(digest::row).collect()
}

/// All notes of a project; none where they cannot be read.
pub fn all(root: &Path) -> Vec<Note> {
    NoteStore::new(root).list().map(|listing| listing.notes).unwrap_or_default()
}

/// What became of notes, a row each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteNews {
    pub new: Vec<String>,
    pub changed: Vec<String>,
    /// Blockers that are none any more.
    pub resolved: Vec<String>,
}

/// What is different from `before`.
pub fn since(before: &[Note], now: &[Note]) -> NoteNews {
    let mut news = NoteNews::default();
    for note in now {
        let row = digest::row(note);
        match before.iter().find(|old| old.id == note.id) {
            None => news.new.push(row),
            Some(old) if old.is_open_blocker() && !note.is_open_blocker() => news.resolved.push(row),
            Some(old) if old.archived != note.archived => news.changed.push(format!("{row}  archived")),
            Some(old) if old.hash != note.hash => news.changed.push(row),
            Some(_) => {}
        }
    }
    news
}
