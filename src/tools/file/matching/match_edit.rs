//! Where an edit belongs, with four levels of tolerance: exact, line ends, trailing whitespace, one uniform
//! indentation shift. The first level with a match decides, and the match must be unique. Edits are never
//! applied by similarity.

use super::lines::{Lines, is_blank, trim_tail};

pub const LISTED: usize = 50;

#[derive(Clone, Copy, Debug)]
pub struct TextEdit<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub replace_all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchLevel {
    Exact,
    LineEnds,
    TrailingSpace,
    Indentation,
}

impl MatchLevel {
    /// What the model should know about a tolerant match; `None` for line ends, which it can't see.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Exact | Self::LineEnds => None,
            Self::TrailingSpace => Some("matched ignoring trailing whitespace"),
            Self::Indentation => Some("matched with different indentation; the new text was indented to fit"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift<'a> {
    None,
    /// The file has this extra prefix on every line.
    Added(&'a str),
    /// The old text has this extra prefix on every line.
    Removed(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditMatch<'a> {
    pub start: usize,
    pub end: usize,
    pub shift: Shift<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NoOp,
    EmptyOld,
    Ambiguous {
        lines: Vec<usize>,
        more: bool,
        level: MatchLevel,
    },
    AlreadyApplied {
        line: usize,
    },
    /// This new line lacks the indentation that must be removed from the block.
    Unshiftable {
        new_line: String,
        line: usize,
    },
    NotFound,
}

/// The first level with a match, and all matches on it (not overlapping if `all`).
pub fn find<'a>(lines: &Lines<'a>, old: &'a str, all: bool) -> Option<(MatchLevel, Vec<EditMatch<'a>>)> {
    let exact = exact(lines.text(), old, all);
    let several = old.contains('\n');
    // The model can't see line ends, so "all" includes places with different ones.
    let with_other_ends = all && several && !old.contains('\r');
    if !exact.is_empty() && !with_other_ends {
        return Some((MatchLevel::Exact, exact));
    }
    let parts = parts_of(old);
    if several {
        let matches = by_parts(lines, &parts, false, all);
        if !matches.is_empty() {
            let level = if matches.len() == exact.len() { MatchLevel::Exact } else { MatchLevel::LineEnds };
            return Some((level, matches));
        }
    }
    if parts.iter().all(|part| is_blank(part)) {
        return None;
    }
    let trimmed = by_parts(lines, &parts, true, all);
    if !trimmed.is_empty() {
        return Some((MatchLevel::TrailingSpace, trimmed));
    }
    let shifted = by_indentation(lines, &parts, all);
    (!shifted.is_empty()).then_some((MatchLevel::Indentation, shifted))
}

/// The 0-based line of the first match on any level.
pub fn first_line<'a>(lines: &Lines<'a>, old: &'a str) -> Option<usize> {
    let (_, matches) = find(lines, old, false)?;
    Some(lines.line_of(matches.first()?.start))
}

fn exact<'a>(text: &'a str, old: &str, all: bool) -> Vec<EditMatch<'a>> {
    let mut matches = Vec::new();
    let step = if all { old.len() } else { old.chars().next().map_or(1, char::len_utf8) };
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(old)) {
        let start = from + found;
        // A match must not start inside a CRLF, which the model can't see; the line end level handles that.
        if old.starts_with('\n') && text[..start].ends_with('\r') {
            return Vec::new();
        }
        matches.push(EditMatch { start, end: start + old.len(), shift: Shift::None });
        if !all && matches.len() > LISTED {
            break;
        }
        from = start + step;
    }
    matches
}

/// The old text's lines without their ends; the last part follows the last line feed.
fn parts_of(old: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = old.split('\n').collect();
    let last = parts.len() - 1;
    for part in &mut parts[..last] {
        *part = part.strip_suffix('\r').unwrap_or(part);
    }
    parts
}

/// The first part may start, and the last may end, in the middle of a line. `trim` ignores trailing whitespace.
fn by_parts<'a>(lines: &Lines<'a>, parts: &[&str], trim: bool, all: bool) -> Vec<EditMatch<'a>> {
    let found = (0..lines.count()).filter_map(|line| {
        let (start, end) = parts_at(lines, line, parts, trim)?;
        Some(EditMatch { start, end, shift: Shift::None })
    });
    collect(found, all)
}

/// With `all`, matches that don't overlap; otherwise just enough to detect ambiguity.
fn collect<'a>(found: impl Iterator<Item = EditMatch<'a>>, all: bool) -> Vec<EditMatch<'a>> {
    let mut from = 0;
    let mut apart = |found: &EditMatch| {
        let apart = !all || found.start >= from;
        if apart {
            from = found.end;
        }
        apart
    };
    found.filter(|found| apart(found)).take(if all { usize::MAX } else { LISTED + 1 }).collect()
}

fn parts_at(lines: &Lines, line: usize, parts: &[&str], trim: bool) -> Option<(usize, usize)> {
    let (first, rest) = parts.split_first()?;
    let content = lines.content(line);
    let start = if content.ends_with(first) {
        content.len() - first.len()
    } else if trim {
        let (content, first) = (trim_tail(content), trim_tail(first));
        // A blank first line must match a blank line, not just the end of a line.
        if first.is_empty() && !content.is_empty() {
            return None;
        }
        content.strip_suffix(first)?.len()
    } else {
        return None;
    };
    let start = lines.start(line) + start;
    let Some((last, middle)) = rest.split_last() else {
        let end = start + if trim { trim_tail(first).len() } else { first.len() };
        return Some((start, end));
    };
    for (offset, part) in middle.iter().enumerate() {
        let content = lines.get(line + 1 + offset)?;
        if content != *part && !(trim && trim_tail(content) == trim_tail(part)) {
            return None;
        }
    }
    let index = line + 1 + middle.len();
    if last.is_empty() {
        // At the end of a file without a final line end, there may be nothing left to match.
        let end = lines.start(index);
        return (start < end).then_some((start, end));
    }
    let content = lines.get(index)?;
    let length = if content.starts_with(last) {
        last.len()
    } else if trim && trim_tail(content) == trim_tail(last) {
        trim_tail(last).len()
    } else {
        return None;
    };
    Some((start, lines.start(index) + length))
}

/// Matches complete lines that all have the same extra or missing indentation.
fn by_indentation<'a>(lines: &Lines<'a>, parts: &[&'a str], all: bool) -> Vec<EditMatch<'a>> {
    let (block, takes_end) = match parts.split_last() {
        Some((&"", rest)) => (rest, true),
        _ => (parts, false),
    };
    let found = (0..(lines.count() + 1).saturating_sub(block.len())).filter_map(|line| {
        let shift = shift_at(lines, line, block)?;
        let last = line + block.len() - 1;
        let end = if takes_end {
            lines.start(last + 1)
        } else {
            lines.start(last) + trim_tail(lines.content(last)).len()
        };
        Some(EditMatch { start: lines.start(line), end, shift })
    });
    collect(found, all)
}

fn shift_at<'a>(lines: &Lines<'a>, line: usize, block: &[&'a str]) -> Option<Shift<'a>> {
    let mut shift = None;
    for (offset, old) in block.iter().enumerate() {
        let (old, real) = (trim_tail(old), trim_tail(lines.content(line + offset)));
        if old.is_empty() && real.is_empty() {
            continue;
        }
        if old.trim_start_matches([' ', '\t']) != real.trim_start_matches([' ', '\t']) || old.is_empty() {
            return None;
        }
        let this = if let Some(more) = real.strip_suffix(old) {
            Shift::Added(more)
        } else {
            Shift::Removed(old.strip_suffix(real)?)
        };
        if *shift.get_or_insert(this) != this {
            return None;
        }
    }
    shift
}
