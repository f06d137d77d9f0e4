//! Results that are sent as a reference to an earlier one: the sentences that do so, and which items they name. What is
//! referenced must stay whole while the reference is fresh, or the model that looked again would see nothing.

use std::collections::HashSet;

use super::entry::Entry;
use super::manager::HistoryManager;
use crate::compaction::batch::Batch;
use crate::session::record::FormName;
use base::model::item::ItemId;

/// The whole result repeats another one; `path` for a file.
pub fn same(id: ItemId, path: Option<&str>) -> String {
    match path {
        Some(path) => format!("[{path} is unchanged since {id}, which shows it]"),
        None => format!("[the same output as {id}]"),
    }
}

/// Some lines of a file repeat what another result shows.
pub fn lines(first: u64, last: u64, path: &str, id: ItemId) -> String {
    format!("[lines {first}-{last} of {path} are unchanged since {id}, which shows them]")
}

/// The result `own` as changes to another one.
pub fn changes(id: ItemId, own: ItemId, hunks: &str) -> String {
    format!("[as {id} showed it, with these changes; Recall {{\"id\":{}}} gives all]\n{hunks}", own.0)
}

/// What these entries refer to, as far as they are at most `age` of `requests` old.
pub fn referenced(entries: &[Entry], requests: u64, age: u64) -> HashSet<ItemId> {
    let fresh = entries.iter().rev().take_while(|entry| requests.saturating_sub(entry.arrived_at) <= age);
    fresh.filter(|entry| entry.form() == FormName::Filtered).flat_map(|entry| named(entry.text())).collect()
}

/// Results that are nothing but a reference, when what they refer to is no longer in view as it was: they become pointers
/// to their own originals instead.
pub fn orphans(history: &HistoryManager) -> Option<Batch> {
    let in_view = |id: ItemId| history.entry(id).is_some_and(|entry| entry.form() <= FormName::Filtered);
    let orphan = |entry: &&Entry| {
        entry.form() == FormName::Filtered
            && !entry.pinned
            && entry.text().lines().count() == 1
            && named(entry.text()).any(|id| !in_view(id))
            && Entry::clone(entry).set_form(FormName::Pointer, None)
    };
    let items: Vec<ItemId> = history.entries().iter().filter(orphan).map(|entry| entry.id).collect();
    (!items.is_empty())
        .then(|| Batch::plain(items, FormName::Pointer, "batch: the referenced result is out of view"))
}

/// The ids that the sentences above name in `text`.
fn named(text: &str) -> impl Iterator<Item = ItemId> {
    text.lines().filter(|line| line.starts_with('[')).filter_map(|line| {
        let at = ["unchanged since #", "the same output as #", "[as #"]
            .iter()
            .find_map(|sign| line.find(sign).map(|at| at + sign.len()))?;
        let digits = line[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len() - at);
        line[at..at + digits].parse().ok().map(ItemId)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_in_their_own_sentences() {
        let (id, own) = (ItemId(31), ItemId(40));
        for text in [
            same(id, Some("src/a #2.rs")),
            same(id, None),
            format!("12\tx\n{}\n13\ty", lines(1, 9, "a.rs", id)),
            changes(id, own, "@@ -1 +1 @@\n[#7]\n"),
        ] {
            assert_eq!(named(&text).collect::<Vec<_>>(), [id], "{text}");
        }
    }
}
