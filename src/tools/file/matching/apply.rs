//! Applies one edit to one text: finds the place, and refuses ambiguous, empty or already applied edits. Untouched lines keep
//! their bytes; new lines get the block's line ends and indentation.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};
use unicode_width::UnicodeWidthChar;

use super::compare;
use super::lines::{Lines, is_blank, split_end};
use super::match_edit::{EditMatch, LISTED, MatchLevel, Refusal, Shift, TextEdit, find};

/// Aligning two long, very different texts could take minutes; after this time, a coarser alignment is used.
const ALIGNMENT: Duration = Duration::from_secs(2);
/// In spaces.
const TAB_WIDTHS: [usize; 4] = [2, 3, 4, 8];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub text: String,
    /// First line of each replacement, 1-based, before the edit.
    pub lines: Vec<usize>,
    pub level: MatchLevel,
}

pub fn apply(text: &str, edit: TextEdit) -> Result<Applied, Refusal> {
    if edit.old == edit.new {
        return Err(Refusal::NoOp);
    }
    if edit.old.is_empty() {
        return Err(Refusal::EmptyOld);
    }
    let lines = Lines::new(text);
    let found = find(&lines, edit.old, edit.replace_all);
    let other = if found.is_none() { with_other_indents(&lines, edit) } else { None };
    let edit = other.as_ref().map_or(edit, |(old, new)| TextEdit { old, new, ..edit });
    let again = || Some((MatchLevel::Indentation, find(&lines, edit.old, edit.replace_all)?.1));
    let Some((level, matches)) = found.or_else(again) else {
        let line = already_there(&lines, edit).ok_or(Refusal::NotFound)?;
        return Err(Refusal::AlreadyApplied { line });
    };
    let numbers = |matches: &[EditMatch]| {
        matches.iter().map(|found| lines.line_of(found.start) + 1).collect::<Vec<_>>()
    };
    if !edit.replace_all {
        if matches.len() > 1 {
            let more = matches.len() > LISTED;
            return Err(Refusal::Ambiguous {
                lines: numbers(&matches[..matches.len().min(LISTED)]),
                more,
                level,
            });
        }
        if let [found] = matches[..]
            && repeats_itself(&lines, found, edit)
        {
            return Err(Refusal::AlreadyApplied { line: lines.line_of(found.start) + 1 });
        }
    }
    let mut result = String::with_capacity(text.len() + edit.new.len());
    let mut done = 0;
    for found in &matches {
        result.push_str(&text[done..found.start]);
        replacement(&lines, *found, edit, level, &mut result)?;
        done = found.end;
    }
    result.push_str(&text[done..]);
    if result == text {
        return Err(Refusal::NoOp);
    }
    Ok(Applied { lines: numbers(&matches), text: result, level })
}

/// The edit with tabs for spaces or spaces for tabs, if exactly one way of it makes the old text complete lines of the file.
fn with_other_indents(lines: &Lines, edit: TextEdit) -> Option<(String, String)> {
    let is_whole = |found: &EditMatch| lines.start(lines.line_of(found.start)) == found.start;
    let pairs = TAB_WIDTHS.into_iter().flat_map(|width| {
        let spaces = " ".repeat(width);
        [(spaces.clone(), "\t".to_owned()), ("\t".to_owned(), spaces)]
    });
    let mut ways = pairs.filter_map(|(from, to)| {
        let old = reindented(edit.old, &from, &to).filter(|old| !old.trim().is_empty())?;
        let (level, found) = find(lines, &old, edit.replace_all)?;
        if level == MatchLevel::Indentation || !found.iter().any(is_whole) {
            return None;
        }
        let is_sure = found.iter().all(is_whole);
        Some(reindented(edit.new, &from, &to).filter(|_| is_sure).map(|new| (old, new)))
    });
    ways.next().filter(|_| ways.next().is_none()).flatten()
}

/// `None` if a line isn't indented by whole steps of `from`.
fn reindented(text: &str, from: &str, to: &str) -> Option<String> {
    let line = |line: &str| {
        let rest = line.trim_start_matches(from);
        let steps = (line.len() - rest.len()) / from.len();
        let is_whole = is_blank(rest) || !rest.starts_with([' ', '\t']);
        is_whole.then(|| to.repeat(steps) + rest)
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Only if the old text is missing. The place must match the old text best; a short word or part of it proves nothing.
fn already_there(lines: &Lines, edit: TextEdit) -> Option<usize> {
    let core = edit.new.trim();
    if core.chars().count() < 3 || edit.old.replace("\r\n", "\n").contains(&core.replace("\r\n", "\n")) {
        return None;
    }
    let (_, matches) = find(lines, edit.new, false).filter(|(level, _)| *level != MatchLevel::Indentation)?;
    let found = matches.first()?;
    let text = lines.text();
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let touches = |inner: Option<char>, outer: Option<char>| word(inner) && word(outer);
    let torn = touches(edit.new.chars().next(), text[..found.start].chars().next_back())
        || touches(edit.new.chars().next_back(), text[found.end..].chars().next());
    // A letter and its combining marks are one character.
    let marked = text[found.end..].chars().next().is_some_and(|c| c.width() == Some(0) && !c.is_control());
    let unique = matches.len() == 1 || edit.replace_all || core.contains('\n');
    let taken: Vec<(usize, usize)> =
        matches.iter().map(|found| (lines.line_of(found.start), lines.line_of(found.end))).collect();
    let stands = unique && !torn && !marked && compare::is_place_of(lines, edit.old, edit.new, &taken);
    stands.then(|| lines.line_of(found.start) + 1)
}

/// Whether the match is inside a copy of the new text, so that the edit would repeat an insertion.
fn repeats_itself(lines: &Lines, found: EditMatch, edit: TextEdit) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (old, new) = (plain(edit.old), plain(edit.new));
    if new.len() <= old.len() {
        return false;
    }
    let text = lines.text();
    // Enough context for the new text, doubled in case of CRLF.
    let reach = new.len() * 2;
    let from = text.floor_char_boundary(found.start.saturating_sub(reach));
    let to = text.ceil_char_boundary(found.end + reach);
    let (before, after) = (plain(&text[from..found.start]), plain(&text[found.end..to]));
    new.match_indices(&old).any(|(offset, _)| {
        let (lead, trail) = (&new[..offset], &new[offset + old.len()..]);
        let Some(rest_before) = before.strip_suffix(lead) else { return false };
        let Some(rest_after) = after.strip_prefix(trail) else { return false };
        let starts_line = rest_before.is_empty() && from == 0 || rest_before.ends_with('\n');
        let ends_line =
            rest_after.starts_with('\n') || new.ends_with('\n') || rest_after.is_empty() && to == text.len();
        let says_something = [lead, trail].iter().any(|part| !part.trim().is_empty());
        starts_line && ends_line && (says_something || !(lead.contains('\n') || trail.contains('\n')))
    })
}

/// [`Refusal::Unshiftable`] if a new line doesn't have the indentation that must be removed.
pub fn replacement(
    lines: &Lines,
    found: EditMatch,
    edit: TextEdit,
    level: MatchLevel,
    out: &mut String,
) -> Result<(), Refusal> {
    if level == MatchLevel::Exact && means_line_ends(edit) {
        out.push_str(edit.new);
        return Ok(());
    }
    let real = split(&lines.text()[found.start..found.end]);
    let old = split(edit.old);
    let new = split(edit.new);
    let sources = align(&old, &new);
    let near = lines.ending_near(found.end.saturating_sub(usize::from(found.end > found.start)));
    // The file's last line has no line end although the old text does; leave it out of the new text too.
    let bare_end = old.last().is_some_and(|line| !line.1.is_empty())
        && real.last().is_none_or(|line| line.1.is_empty())
        && found.end == lines.text().len();
    for (index, &(content, ending)) in new.iter().enumerate() {
        let source = sources[index];
        let twin = source.map(|(line, _)| line).and_then(|line| real.get(line));
        match (source, twin) {
            (Some((_, true)), Some((kept, _))) => out.push_str(kept),
            _ => push_shifted(content, found, lines, out)?,
        }
        let last = index + 1 == new.len();
        if ending.is_empty() || last && bare_end {
            continue;
        }
        out.push_str(twin.map(|line| line.1).filter(|ending| !ending.is_empty()).unwrap_or(near));
    }
    Ok(())
}

/// `content` with the line ends of `text`, line by line; unchanged if those are mixed and no lines are equal.
pub fn with_ends_of(text: &str, content: &str) -> String {
    let (old, new) = (split(text), split(content));
    let crlf = old.iter().filter(|line| line.1 == "\r\n").count();
    let feeds = old.iter().filter(|line| !line.1.is_empty()).count();
    let usual = if crlf * 2 > feeds { "\r\n" } else { "\n" };
    let uniform = crlf == 0 || crlf == feeds;
    let sources = if uniform { vec![None; new.len()] } else { align(&old, &new) };
    if !uniform && !sources.iter().flatten().any(|(_, equal)| *equal) {
        return content.to_owned();
    }
    let mut out = String::with_capacity(content.len() + new.len());
    for (&(line, ending), source) in new.iter().zip(sources) {
        out.push_str(line);
        if !ending.is_empty() {
            let twin = source.and_then(|(index, _)| old.get(index)).map(|line| line.1);
            out.push_str(twin.filter(|ending| !ending.is_empty()).unwrap_or(usual));
        }
    }
    out
}

/// Whether line ends are meant literally: `new` has carriage returns, or the edit only removes them.
fn means_line_ends(edit: TextEdit) -> bool {
    let lone_return = || edit.old.replace("\r\n", "").contains('\r');
    let only_ends_differ = || edit.old.replace('\r', "") == edit.new;
    edit.new.contains('\r') || edit.old.contains('\r') && (lone_return() || only_ends_differ())
}

fn push_shifted(content: &str, found: EditMatch, lines: &Lines, out: &mut String) -> Result<(), Refusal> {
    match found.shift {
        Shift::Added(more) if !is_blank(content) => {
            out.push_str(more);
            out.push_str(content);
        }
        Shift::Removed(less) if !is_blank(content) => match content.strip_prefix(less) {
            Some(rest) => out.push_str(rest),
            None => {
                let line = lines.line_of(found.start) + 1;
                return Err(Refusal::Unshiftable { new_line: content.to_owned(), line });
            }
        },
        _ => out.push_str(content),
    }
    Ok(())
}

fn split(text: &str) -> Vec<(&str, &str)> {
    text.split_inclusive('\n').map(split_end).collect()
}

/// For each new line, the old line it replaces, and whether the two are equal.
fn align(old: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<Option<(usize, bool)>> {
    fn contents<'a>(lines: &[(&'a str, &'a str)]) -> Vec<&'a str> {
        lines.iter().map(|line| line.0).collect()
    }
    let deadline = Some(Instant::now() + ALIGNMENT);
    let mut sources = vec![None; new.len()];
    for op in capture_diff_slices_deadline(Algorithm::Myers, &contents(old), &contents(new), deadline) {
        let (tag, old, new) = op.as_tag_tuple();
        for (step, index) in new.enumerate() {
            sources[index] = match tag {
                DiffTag::Equal => Some((old.start + step, true)),
                // Extra new lines belong to the last old one.
                DiffTag::Replace => Some((old.start + step.min(old.len().saturating_sub(1)), false)),
                DiffTag::Insert | DiffTag::Delete => old.start.checked_sub(1).map(|line| (line, false)),
            };
        }
    }
    sources
}
