//! Builds a replacement: untouched lines keep their bytes, new lines get the block's line ends and indentation.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use super::lines::{Lines, is_blank, split_end};
use super::match_edit::{EditMatch, MatchLevel, Refusal, Shift, TextEdit};

/// Aligning two long, very different texts could take minutes; after this, a coarser alignment is used.
const ALIGNMENT: Duration = Duration::from_secs(2);

/// [`Refusal::Unshiftable`] if a new line can't follow the block's indentation.
pub fn block(
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
    // The file's last line has no line end, but the old text does: leave it out of the new text too.
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

/// `content` with the line ends of `text`, line by line; unchanged if they are mixed and no line is in common.
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
