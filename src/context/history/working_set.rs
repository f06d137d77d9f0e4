//! Which observations must stay whole: the newest view of each file being worked on. Measured on real sessions, 92 % of
//! the old text that edits quote comes from the last 20 requests and 80 % from the last 3 (`shared/CONTEXT.md`).

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::entry::Entry;
use crate::model::envelope::Status;
use crate::model::item::{Item, ItemId};
use crate::session::record::FormName;

/// The path of a file view: what a Read returned, or a command that only shows one file.
pub fn viewed_path(item: &Item) -> Option<&str> {
    view(item)?.get("path").and_then(Value::as_str)
}

/// The first line that a view shows, where it says.
pub fn first_line(item: &Item) -> Option<u64> {
    view(item)?.get("start_line").and_then(Value::as_u64)
}

/// The content hash of the whole file that a view is of, where it says.
pub fn content_hash(item: &Item) -> Option<&str> {
    view(item)?.get("hash").and_then(Value::as_str)
}

fn view(item: &Item) -> Option<&Map<String, Value>> {
    let Item::ToolResult(result) = item else { return None };
    let envelope = &result.envelope;
    if envelope.error.is_some() || envelope.status == Status::Error {
        return None;
    }
    match &*result.tool {
        "Read" => Some(&envelope.data),
        "Bash" => envelope.data.get("view").and_then(Value::as_object),
        _ => None,
    }
}

/// The path of a file that was changed, and whether its whole content was given with the change.
fn changed_path(item: &Item) -> Option<(&str, bool)> {
    let Item::ToolResult(result) = item else { return None };
    let data = &result.envelope.data;
    let whole = match &*result.tool {
        "Write" => true,
        "Edit" | "MultiEdit" => false,
        _ => return None,
    };
    (data.get("applied") == Some(&Value::Bool(true)))
        .then(|| data.get("path").and_then(Value::as_str))?
        .map(|path| (path, whole))
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

/// Views that later ones or changes of the same file have made stale: a later view of the same or a wider range, a file
/// written anew, or, once the file was changed, a later view of at least half of the range. The newest view and the
/// changes behind it stay.
pub fn superseded(entries: &[Entry]) -> HashSet<ItemId> {
    let range = |item: &Item| {
        let line = |key: &str| view(item)?.get(key).and_then(Value::as_u64);
        (line("start_line").unwrap_or(1), line("end_line").unwrap_or(u64::MAX))
    };
    let mut later: Vec<(&str, u64, u64)> = Vec::new();
    let mut changed: HashMap<&str, bool> = HashMap::new();
    let mut stale = HashSet::new();
    for entry in entries.iter().rev() {
        if let Some((path, whole)) = changed_path(&entry.item) {
            *changed.entry(path).or_default() |= whole;
        }
        let Some(path) = viewed_path(&entry.item) else { continue };
        let (start, end) = range(&entry.item);
        let covers = |&(other, from, to): &(&str, u64, u64)| {
            if other != path {
                return false;
            }
            let shared = to.min(end).saturating_add(1).saturating_sub(from.max(start));
            from <= start && end <= to
                || changed.contains_key(path) && shared >= (end.saturating_sub(start) / 2).max(1)
        };
        // A view that only tells a difference leans on the earlier one and cannot replace it.
        let whole = entry.form() == FormName::Full;
        if later.iter().any(covers) || changed.get(path) == Some(&true) {
            stale.insert(entry.id);
        } else if whole {
            later.push((path, start, end));
        }
    }
    stale
}
