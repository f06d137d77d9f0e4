//! Open items, and how notes changed over time: new ones, changed ones, resolved blockers.

use std::path::Path;

use super::digest;
use super::record::{Note, NoteKind};
use super::store::NoteStore;

const MAX_OPEN: usize = 20;

/// One row per open note: blockers first, then actions and task states.
pub fn open(root: &Path) -> Vec<String> {
    rows(root, |note| {
        note.is_open_blocker() || matches!(note.facts.kind, NoteKind::Action | NoteKind::TaskState)
    })
}

/// One row per note that records a finding.
pub fn learned(root: &Path) -> Vec<String> {
    rows(root, |note| {
        matches!(note.facts.kind, NoteKind::Conclusion | NoteKind::Reference | NoteKind::Outcome)
    })
}

fn rows(root: &Path, wanted: impl Fn(&Note) -> bool) -> Vec<String> {
    let mut notes = all(root);
    notes.retain(|note| !note.archived && wanted(note));
    notes.sort_by_key(|note| (!note.is_open_blocker(), std::cmp::Reverse(note.changed_ms)));
    notes.iter().take(MAX_OPEN).map(digest::row).collect()
}

pub type Notes = Vec<Note>;

pub fn all(root: &Path) -> Notes {
    NoteStore::new(root).list().map(|listing| listing.notes).unwrap_or_default()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteNews {
    pub new: Vec<String>,
    pub changed: Vec<String>,
    pub resolved: Vec<String>,
}

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
