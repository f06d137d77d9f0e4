//! Parses a unified diff line by line.

use super::diff_cut::DiffCut;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLine<'a> {
    Header(&'a str),
    Hunk(&'a str),
    /// Line numbers before and after the change; 0 without a hunk.
    Row {
        sign: char,
        old: usize,
        new: usize,
        text: &'a str,
    },
    Cut(&'a str, DiffCut),
}

pub fn read(diff: &str) -> Vec<DiffLine<'_>> {
    let (mut lines, mut old, mut new) = (Vec::new(), 0, 0);
    let (mut old_left, mut new_left) = (0usize, 0usize);
    for line in diff.lines() {
        // Lines inside a hunk are counted, because a removed line may look like a header.
        let within = match line.as_bytes().first() {
            Some(b'-') => old_left > 0,
            Some(b'+') => new_left > 0,
            // Some programs omit the space of an empty line.
            Some(b' ') | None => old_left > 0 && new_left > 0,
            _ => false,
        };
        if !within && let Some([(old_start, old_count), (new_start, new_count)]) = hunk(line) {
            (old, new, old_left, new_left) = (old_start, new_start, old_count, new_count);
            lines.push(DiffLine::Hunk(line));
        } else if !within && ["--- ", "+++ ", "diff ", "index "].iter().any(|start| line.starts_with(start)) {
            lines.push(DiffLine::Header(line));
        } else if let Some(cut) = DiffCut::read(line) {
            lines.push(DiffLine::Cut(line, cut));
        } else if !line.starts_with('\\') {
            let sign = line.chars().next().filter(|sign| "+- ".contains(*sign));
            let (sign, text) = sign.map_or((' ', line), |sign| (sign, &line[1..]));
            lines.push(DiffLine::Row { sign, old, new, text });
            if sign != '+' {
                (old, old_left) = (old + 1, old_left.saturating_sub(1));
            }
            if sign != '-' {
                (new, new_left) = (new + 1, new_left.saturating_sub(1));
            }
        }
    }
    lines
}

/// Where a hunk begins and how many lines it has, before and after.
fn hunk(line: &str) -> Option<[(usize, usize); 2]> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let range = |part: &str| {
        let (first, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    Some([range(parts.next()?)?, range(parts.next()?.strip_prefix('+')?)?])
}
