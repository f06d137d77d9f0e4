//! What a written change says of itself besides its size.

use std::time::Duration;

use similar::{DiffTag, TextDiff};

use crate::cx::ToolCx;
use crate::paths::PathTarget;
use base::path;

/// The changed lines as they are numbered now, such as `lines 3-5, 9`.
pub(crate) fn changed_lines(before: &str, after: &str) -> String {
    const LISTED: usize = 12;
    let diff = TextDiff::configure().timeout(Duration::from_millis(200)).diff_lines(before, after);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    let ranges: Vec<String> = changed
        .map(|op| op.new_range())
        .map(|range| match range.len() {
            0 | 1 => (range.start + 1).to_string(),
            _ => format!("{}-{}", range.start + 1, range.end),
        })
        .collect();
    let more = if ranges.len() > LISTED { ", …" } else { "" };
    let word = if ranges.len() == 1 && !ranges[0].contains('-') { "line" } else { "lines" };
    format!("{word} {}{more}", ranges[..ranges.len().min(LISTED)].join(", "))
}

/// A file beside the new one whose name differs in a letter or an ending: perhaps that one was meant.
pub(crate) fn similar_neighbor(cx: &ToolCx, target: &PathTarget) -> Option<String> {
    let path = &target.resolved.canonical;
    let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_near = |other: &str| {
        let (their_stem, their_ending) = other.rsplit_once('.').unwrap_or((other, ""));
        let near = strsim::damerau_levenshtein(stem, their_stem);
        other != name
            && their_ending == ending
            && stem.len() >= 4
            && near <= 1
            && !stem.ends_with(|c: char| c.is_ascii_digit())
    };
    let names = std::fs::read_dir(folder).ok()?.take(2_000).flatten();
    let mut near =
        names.filter_map(|entry| entry.file_name().into_string().ok()).filter(|other| is_near(other));
    let other = near.next()?;
    Some(format!("`{}`", path::display(&cx.root, &folder.join(other))))
}
