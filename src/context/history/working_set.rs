//! Which observations must stay whole: the newest view of each file being worked on. Measured on real sessions, 92 % of
//! the old text that edits quote comes from the last 20 requests and 80 % from the last 3 (`shared/CONTEXT.md`).

use std::collections::HashSet;

use serde_json::Value;

use super::entry::Entry;
use crate::model::item::{Item, ItemId};

/// How many requests back the newest view of a file stays whole.
const AGE_REQUESTS: u64 = 15;
/// How many tokens the working set may take.
const SIZE_TOKENS: u64 = 32_000;

/// The path of a file view (a Read result), and whether it shows the file as it was when read.
pub fn viewed_path(item: &Item) -> Option<&str> {
    match item {
        Item::ToolResult(result) if &*result.tool == "Read" && result.envelope.error.is_none() => {
            result.envelope.data.get("path").and_then(Value::as_str)
        }
        _ => None,
    }
}

/// Ids of the views that stay whole.
pub fn protected(entries: &[Entry], requests: u64) -> HashSet<ItemId> {
    let mut seen: HashSet<(&str, Option<u64>)> = HashSet::new();
    let mut kept = HashSet::new();
    let mut tokens = 0;
    for entry in entries.iter().rev() {
        if requests.saturating_sub(entry.arrived_at) > AGE_REQUESTS {
            break;
        }
        let Some(path) = viewed_path(&entry.item) else { continue };
        let start = match &*entry.item {
            Item::ToolResult(result) => result.envelope.data.get("start_line").and_then(Value::as_u64),
            _ => None,
        };
        if seen.insert((path, start)) && tokens + u64::from(entry.full_tokens()) <= SIZE_TOKENS {
            tokens += u64::from(entry.full_tokens());
            kept.insert(entry.id);
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
    let mut later: Vec<(&str, u64, u64)> = Vec::new();
    let mut stale = HashSet::new();
    for entry in entries.iter().rev() {
        let (Some(path), Some((start, end))) = (viewed_path(&entry.item), range(&entry.item)) else {
            continue;
        };
        if later.iter().any(|&(other, from, to)| other == path && from <= start && end <= to) {
            stale.insert(entry.id);
        } else {
            later.push((path, start, end));
        }
    }
    stale
}
