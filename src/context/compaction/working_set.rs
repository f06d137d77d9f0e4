//! Which observations stay in full: the newest view of each file being worked on. Measured on real sessions:
//! 92% of the old text that edits quote comes from the last 20 requests, 80% from the last 3.

use std::collections::{HashMap, HashSet};

use crate::history::entry::HistoryEntry;
use crate::session::record::FormName;
use base::model::envelope::Status;
use base::model::item::{Item, ItemId};
use base::model::observation::{Observation, View};

/// The path of a file view: a Read, or a command that only shows one file.
pub fn viewed_path(item: &Item) -> Option<&str> {
    view(item)?.path.as_deref()
}

pub fn first_line(item: &Item) -> Option<u64> {
    view(item)?.start_line
}

pub fn content_hash(item: &Item) -> Option<&str> {
    view(item)?.hash.as_deref()
}

fn view(item: &Item) -> Option<&View> {
    let Item::ToolResult(result) = item else { return None };
    let envelope = &result.envelope;
    if envelope.error.is_some() || envelope.status == Status::Error {
        return None;
    }
    envelope.data.view()
}

/// The path of a changed file, and whether the change gave its full content.
fn changed_path(item: &Item) -> Option<(&str, bool)> {
    let Item::ToolResult(result) = item else { return None };
    let data = &result.envelope.data;
    data.change()?.applied.filter(|applied| *applied)?;
    Some((data.path()?, matches!(*data.observation, Observation::Write(_))))
}

/// Ids of the views that stay in full: the newest of each file and range, at most `age` requests old, up to
/// `size` tokens in total. A view that is a diff against an earlier one keeps that one too.
pub fn protected(entries: &[HistoryEntry], requests: u64, age: u64, size: u64) -> HashSet<ItemId> {
    let mut seen: HashSet<(&str, Option<u64>)> = HashSet::new();
    // Views whose base, sent in full, is yet to be found.
    let mut bases: HashSet<(&str, Option<u64>)> = HashSet::new();
    let mut kept = HashSet::new();
    let mut tokens = 0;
    for entry in entries.iter().rev() {
        let old = requests.saturating_sub(entry.arrived_at) > age;
        if old && bases.is_empty() {
            break;
        }
        let Some(path) = viewed_path(&entry.item) else { continue };
        let view = (path, first_line(&entry.item));
        let wanted = bases.contains(&view) || !old && !seen.contains(&view);
        if !wanted || tokens + u64::from(entry.tokens()) > size {
            continue;
        }
        tokens += u64::from(entry.tokens());
        kept.insert(entry.id);
        seen.insert(view);
        if entry.form() == FormName::Full {
            bases.remove(&view);
        } else if entry.form() == FormName::Filtered {
            bases.insert(view);
        }
    }
    kept
}

/// Views that are stale: a later view covers the same or a wider range, the file was rewritten, or it was
/// changed and a later view shows at least half of the range. The newest view and the changes after it stay.
pub fn superseded(entries: &[HistoryEntry]) -> HashSet<ItemId> {
    let range = |item: &Item| {
        let end = view(item).and_then(|view| view.end_line);
        (first_line(item).unwrap_or(1), end.unwrap_or(u64::MAX))
    };
    let mut later: HashMap<&str, Vec<(u64, u64)>> = HashMap::new();
    let mut changed: HashMap<&str, bool> = HashMap::new();
    let mut stale = HashSet::new();
    for entry in entries.iter().rev() {
        if let Some((path, whole)) = changed_path(&entry.item) {
            *changed.entry(path).or_default() |= whole;
        }
        // A view sent in a smaller form can neither become stale nor replace anything.
        if entry.form() > FormName::Filtered {
            continue;
        }
        let Some(path) = viewed_path(&entry.item) else { continue };
        let (start, end) = range(&entry.item);
        let views = later.entry(path).or_default();
        let covers = |&(from, to): &(u64, u64)| {
            let shared = to.min(end).saturating_add(1).saturating_sub(from.max(start));
            from <= start && end <= to
                || changed.contains_key(path) && shared >= (end.saturating_sub(start) / 2).max(1)
        };
        // A diff view needs the earlier one and can't replace it.
        let whole = entry.form() == FormName::Full;
        if views.iter().any(covers) || changed.get(path) == Some(&true) {
            stale.insert(entry.id);
        } else if whole {
            views.retain(|&(from, to)| from < start || end < to);
            views.push((start, end));
        }
    }
    stale
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use base::model::envelope::Envelope;
    use base::model::item::ToolResult;

    fn entries(results: &[(&str, Envelope)]) -> Vec<HistoryEntry> {
        let item = |tool: &str, envelope: &Envelope| {
            Arc::new(Item::ToolResult(ToolResult::new("c", tool, envelope.clone())))
        };
        let number = |at: usize| ItemId(at as u64 + 1);
        results
            .iter()
            .enumerate()
            .map(|(at, (tool, envelope))| HistoryEntry::new(number(at), item(tool, envelope), None, 0))
            .collect()
    }

    fn read(first: u64, last: u64) -> (&'static str, Envelope) {
        let envelope = Envelope::success("").with("path", "a.rs").with("start_line", first);
        ("Read", envelope.with("end_line", last).with_body("content", "text"))
    }

    fn change(tool: &'static str, applied: bool) -> (&'static str, Envelope) {
        (tool, Envelope::success("done").with("path", "a.rs").with("applied", applied))
    }

    fn stale(results: &[(&str, Envelope)]) -> Vec<u64> {
        let mut ids: Vec<u64> = superseded(&entries(results)).into_iter().map(|id| id.0).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn superseded_views() {
        assert_eq!(stale(&[read(1, 50), read(1, 90)]), [1], "a wider view");
        assert_eq!(stale(&[read(1, 90), read(60, 140)]), [0u64; 0], "both show something of their own");
        assert_eq!(stale(&[read(1, 90), change("Edit", true)]), [0u64; 0], "the newest view stays");
        assert_eq!(stale(&[read(1, 90), change("Edit", true), read(20, 90)]), [1], "half of it is seen anew");
        assert_eq!(stale(&[read(1, 90), change("Edit", false), read(20, 90)]), [0u64; 0]);
        assert_eq!(stale(&[read(1, 90), change("Write", true)]), [1], "the whole file was given anew");
        let shell = Envelope::success("")
            .with("view", serde_json::json!({"path": "a.rs", "start_line": 1, "end_line": 90}));
        assert_eq!(stale(&[read(5, 50), ("Bash", shell)]), [1], "a command's view counts");
    }
}
