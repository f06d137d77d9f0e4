//! Results sent as a reference to an earlier one: their wording, and which items they name. A referenced item
//! must stay complete while the reference is fresh, or the model would have nothing to look at.

use std::collections::HashSet;

use super::entry::HistoryEntry;
use super::manager::HistoryManager;
use crate::session::record::{Batch, CauseKind, FormName};
use base::model::item::ItemId;
use base::text::one_line;

const SHOWN_CHARS: usize = 60;
const ARE_UNCHANGED: &str = "are unchanged since ";

pub fn same(id: ItemId, path: Option<&str>, subject: Option<&str>) -> String {
    match (path, subject) {
        (Some(path), _) => format!("[{path} is unchanged since {id}, which shows it]"),
        (_, Some(subject)) => format!("[the same output as {id}, `{}`]", one_line(subject, SHOWN_CHARS)),
        _ => format!("[the same output as {id}]"),
    }
}

pub fn lines(first: u64, last: u64, path: &str, id: ItemId) -> String {
    format!("[lines {first}-{last} of {path} {ARE_UNCHANGED}{id}, which shows them]")
}

pub fn referenced(entries: &[HistoryEntry], requests: u64, age: u64) -> HashSet<ItemId> {
    let fresh = entries.iter().rev().take_while(|entry| requests.saturating_sub(entry.arrived_at) <= age);
    fresh.flat_map(of).collect()
}

pub fn of(entry: &HistoryEntry) -> impl Iterator<Item = ItemId> {
    let refers = entry.form() == FormName::Filtered;
    refers.then(|| named(entry.text())).into_iter().flatten()
}

/// References to items no longer in view become pointers to their own originals, whole or line by line.
pub fn orphans(history: &HistoryManager) -> Vec<Batch> {
    let in_view = |id: ItemId| history.entry(id).is_some_and(|entry| entry.form() <= FormName::Filtered);
    let is_orphan = |line: &str| named(line).any(|id| !in_view(id));
    let refers = |entry: &&HistoryEntry| entry.form() == FormName::Filtered && !entry.pinned;
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    for entry in history.entries().iter().filter(refers).filter(|entry| is_orphan(entry.text())) {
        if entry.text().lines().all(|line| line.starts_with('[')) {
            if HistoryEntry::clone(entry).set_form(FormName::Pointer, None) {
                whole.push(entry.id);
            }
            continue;
        }
        let left_out = format!("are left out; full text: Recall {{\"id\":{}}}]", entry.id.0);
        let line = |line| match str::split_once(line, ARE_UNCHANGED).filter(|_| is_orphan(line)) {
            Some((lines, _)) => format!("{lines}{left_out}"),
            None => line.to_owned(),
        };
        let text: Vec<String> = entry.text().lines().map(line).collect();
        parts.push((entry.id, text.join("\n").into()));
    }
    let cause = CauseKind::Pays.because("the result it refers to is no longer in view");
    let batches = [
        Batch::plain(whole, FormName::Pointer, cause.clone()),
        Batch::with_texts(parts, FormName::Filtered, cause),
    ];
    batches.into_iter().filter(|batch| !batch.items.is_empty()).collect()
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
    use std::sync::Arc;

    use super::*;
    use base::model::envelope::Envelope;
    use base::model::item::{Item, ToolResult};

    #[test]
    fn a_reference_to_what_left_points_at_its_own_original() {
        let item = |n: u64| {
            let body: String = (1..=60).map(|line| format!("{line}\tline {line} of {n}\n")).collect();
            Arc::new(Item::ToolResult(ToolResult::new(
                "c",
                "Read",
                Envelope::success("").with_body("content", body),
            )))
        };
        let mut history = HistoryManager::default();
        for n in 1..=4 {
            history.push(ItemId(n), item(n), None);
        }
        let reference = lines(1, 80, "a.rs", ItemId(1));
        let texts = [
            (ItemId(2), format!("{reference}\n[lines 1-80 of 944; continue with start_line=81]")),
            (ItemId(3), format!("{reference}\n81\tnew")),
        ];
        let texts = texts.map(|(id, text)| (id, Arc::from(text))).to_vec();
        let cause = || CauseKind::SoftCap.because("");
        history.adopt(&Batch::with_texts(texts, FormName::Filtered, cause()));
        assert!(orphans(&history).is_empty());
        history.adopt(&Batch::plain(vec![ItemId(1)], FormName::Gone, cause()));
        let batches = orphans(&history);
        batches.iter().for_each(|batch| history.adopt(batch));
        let text = |id: u64| history.entry(ItemId(id)).map(HistoryEntry::text).unwrap_or_default();
        assert!(text(2).ends_with("full text: Recall {\"id\":2}]"), "{}", text(2));
        assert_eq!(text(3), "[lines 1-80 of a.rs are left out; full text: Recall {\"id\":3}]\n81\tnew");
        assert!(orphans(&history).is_empty());
    }

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
