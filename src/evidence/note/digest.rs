//! Short forms of notes for users and models: one row each, and an overview.

use super::index::NoteListing;
use super::record::{Note, NoteKind};
use super::retrieval::search::NoteQuery;
use base::text;

const LATEST: usize = 5;
const MAX_BLOCKERS: usize = 10;

/// Such as `k3f9q2  gotcha  2026-11-21  Title  #tag  (file)`.
pub fn row(note: &Note) -> String {
    let facts = &note.facts;
    let mut row = format!(
        "{}  {:<10}  {}  {}",
        note.id,
        facts.kind.as_str(),
        day(note),
        text::one_line(&facts.title, 100)
    );
    for tag in facts.tags.iter().take(5) {
        row.push_str(&format!("  #{tag}"));
    }
    if !facts.files.is_empty() {
        let files = facts.files.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        row.push_str(&format!("  ({files})"));
    }
    row
}

pub fn count(notes: usize) -> String {
    text::plural(notes, "note")
}

pub fn time(ms: u64) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()
}

pub fn day(note: &Note) -> String {
    time(note.changed_ms).map_or_else(String::new, |time| time.strftime("%Y-%m-%d").to_string())
}

/// Indexes of the matching notes, newest first.
pub fn newest(listing: &NoteListing, wanted: &NoteQuery) -> Vec<usize> {
    let mut places: Vec<usize> =
        (0..listing.notes.len()).filter(|&at| wanted.fits(&listing.notes[at])).collect();
    places.sort_by_key(|&at| (std::cmp::Reverse(listing.notes[at].changed_ms), at));
    places
}

pub fn summary(listing: &NoteListing) -> String {
    let current: Vec<&Note> = listing.notes.iter().filter(|note| !note.archived).collect();
    let archived = listing.notes.len() - current.len();
    if current.is_empty() {
        return match archived {
            0 => "No notes yet.\n".to_owned(),
            archived => format!("No notes; {} in the archive.\n", text::plural(archived, "note")),
        };
    }
    let kinds: Vec<String> = NoteKind::names()
        .into_iter()
        .map(|name| (name, current.iter().filter(|note| note.facts.kind.as_str() == name).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let mut out = format!("{}: {}.", text::plural(current.len(), "note"), kinds.join(", "));
    if archived > 0 {
        out.push_str(&format!(" {archived} archived."));
    }
    out.push('\n');
    let mut blockers: Vec<&&Note> = current.iter().filter(|note| note.is_open_blocker()).collect();
    blockers.sort_by_key(|note| std::cmp::Reverse((note.facts.importance, note.changed_ms)));
    if !blockers.is_empty() {
        out.push_str("Open blockers:\n");
        for note in blockers.iter().take(MAX_BLOCKERS) {
            out.push_str(&format!("  {}\n", row(note)));
        }
    }
    out.push_str("Latest:\n");
    for at in newest(listing, &NoteQuery::default()).into_iter().take(LATEST) {
        out.push_str(&format!("  {}\n", row(&listing.notes[at])));
    }
    out
}
