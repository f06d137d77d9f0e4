//! Results sent as a reference to an earlier one: their wording, and which items they name. A referenced item
//! must stay complete while the reference is fresh, or the model would have nothing to look at.

use std::collections::HashSet;

use super::entry::HistoryEntry;
use super::manager::HistoryManager;
use crate::session::record::{Batch, CauseKind, FormName};
use base::model::item::ItemId;
use base::text::one_line;

const SHOWN_CHARS: usize = 60;

pub fn same(id: ItemId, path: Option<&str>, subject: Option<&str>) -> String {
    match (path, subject) {
        (Some(path), _) => format!("[{path} is unchanged since {id}, which shows it]"),
        (_, Some(subject)) => format!("[the same output as {id}, `{}`]", one_line(subject, SHOWN_CHARS)),
        _ => format!("[the same output as {id}]"),
    }
}

pub fn lines(first: u64, last: u64, path: &str, id: ItemId) -> String {
    format!("[lines {first}-{last} of {path} are unchanged since {id}, which shows them]")
}

pub fn referenced(entries: &[HistoryEntry], requests: u64, age: u64) -> HashSet<ItemId> {
    let fresh = entries.iter().rev().take_while(|entry| requests.saturating_sub(entry.arrived_at) <= age);
    fresh.flat_map(of).collect()
}

pub fn of(entry: &HistoryEntry) -> impl Iterator<Item = ItemId> {
    let refers = entry.form() == FormName::Filtered;
    refers.then(|| named(entry.text())).into_iter().flatten()
}

/// References to items no longer in view become pointers to their own originals.
pub fn orphans(history: &HistoryManager) -> Option<Batch> {
    let in_view = |id: ItemId| history.entry(id).is_some_and(|entry| entry.form() <= FormName::Filtered);
    let orphan = |entry: &&HistoryEntry| {
        entry.form() == FormName::Filtered
            && !entry.pinned
            && entry.text().lines().count() == 1
            && named(entry.text()).any(|id| !in_view(id))
            && HistoryEntry::clone(entry).set_form(FormName::Pointer, None)
    };
    let items: Vec<ItemId> = history.entries().iter().filter(orphan).map(|entry| entry.id).collect();
    (!items.is_empty()).then(|| {
        Batch::plain(
            items,
            FormName::Pointer,
            CauseKind::Pays.because("the result it refers to is no longer in view"),
        )
    })
}

fn named(text: &str) -> impl Iterator<Item = ItemId> {
    text.lines().filter(|line| line.starts_with('[')).filter_map(|line| {
        // The last one is in sessions from before November 27, 2026.
        let signs = ["unchanged since #", "the same output as #", "[as #"];
        let at = signs.iter().find_map(|sign| line.find(sign).map(|at| at + sign.len()))?;
        let digits = line[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len() - at);
        line[at..at + digits].parse().ok().map(ItemId)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_in_their_own_sentences() {
        let id = ItemId(31);
        for text in [
            same(id, Some("src/a #2.rs"), None),
            same(id, None, None),
            same(id, None, Some("grep '#5'")),
            format!("12\tx\n{}\n13\ty", lines(1, 9, "a.rs", id)),
        ] {
            assert_eq!(named(&text).collect::<Vec<_>>(), [id], "{text}");
        }
    }
}
