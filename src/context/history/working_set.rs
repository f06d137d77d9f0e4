//! Which observations must stay whole: the newest view of each file being worked on. Measured on real sessions, 92 % of
//! the old text that edits quote comes from the last 20 requests and 80 % from the last 3 (`shared/CONTEXT.md`).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::entry::Entry;
use crate::model::envelope::Status;
use crate::model::item::{Item, ItemId};
use crate::session::record::FormName;

/// The path of a file view (a Read result), and whether it shows the file as it was when read.
pub fn viewed_path(item: &Item) -> Option<&str> {
    match item {
        Item::ToolResult(result)
            if &*result.tool == "Read"
                && result.envelope.error.is_none()
                && result.envelope.status != Status::Error =>
        {
            result.envelope.data.get("path").and_then(Value::as_str)
        }
        _ => None,
    }
}

/// The first line that a view shows, where it says.
pub fn first_line(item: &Item) -> Option<u64> {
    match item {
        Item::ToolResult(result) => result.envelope.data.get("start_line").and_then(Value::as_u64),
        _ => None,
    }
}

/// Ids of the views that stay whole: the newest of each file and range that is at most `age` requests old, up to `size`
/// tokens of all of them. A view that only tells the difference to an earlier one keeps that one too.
pub fn protected(entries: &[Entry], requests: u64, age: u64, size: u64) -> HashSet<ItemId> {
    let mut seen: HashSet<(&str, Option<u64>)> = HashSet::new();
    let mut leaning: HashSet<(&str, Option<u64>)> = HashSet::new();
    let mut kept = HashSet::new();
    let mut tokens = 0;
    for entry in entries.iter().rev() {
        let old = requests.saturating_sub(entry.arrived_at) > age;
        if old && leaning.is_empty() {
            break;
        }
        let Some(path) = viewed_path(&entry.item) else { continue };
        let view = (path, first_line(&entry.item));
        let wanted = if leaning.contains(&view) { true } else { !old && !seen.contains(&view) };
        if !wanted || tokens + u64::from(entry.tokens()) > size {
            continue;
        }
        tokens += u64::from(entry.tokens());
        kept.insert(entry.id);
        seen.insert(view);
        if entry.form() == FormName::Full {
            leaning.remove(&view);
        } else if entry.form() == FormName::Filtered {
            leaning.insert(view);
        }
    }
    kept
}

/// Views that a later view or change of the same file has made stale: a later Read of the same or a wider range.
pub fn superseded(entries: &[Entry]) -> HashSet<ItemId> {
    let range = |item: &Item| match item {
        Item::ToolResult(result) => {
            let line = |key: &str| result.envelope.data.get(key).and_then(Value::as_u64);
            Some((line("start_line").unwrap_or(1), line("end_line").unwrap_or(u64::MAX)))
        }
        _ => None,
    };
    let mut later: HashMap<&str, Vec<(u64, u64)>> = HashMap::new();
    let mut stale = HashSet::new();
    for entry in entries.iter().rev() {
        // What is sent as less than its own text can neither become stale nor replace anything.
        if entry.form() > FormName::Filtered {
            continue;
        }
        let (Some(path), Some((start, end))) = (viewed_path(&entry.item), range(&entry.item)) else {
            continue;
        };
        // A view that only tells a difference leans on the earlier one and cannot replace it.
        let whole = entry.form() == FormName::Full;
        let views = later.entry(path).or_default();
        if views.iter().any(|&(from, to)| from <= start && end <= to) {
            stale.insert(entry.id);
        } else if whole {
            // What the new range covers need not be looked at again: the list stays as short as the file has parts.
            views.retain(|&(from, to)| from < start || end < to);
            views.push((start, end));
        }
    }
    stale
}
