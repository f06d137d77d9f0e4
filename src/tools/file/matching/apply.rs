//! One edit of one text: finds the place and refuses ambiguous, empty or already applied edits.

use unicode_width::UnicodeWidthChar;

use super::compare;
use super::lines::Lines;
use super::match_edit::{EditMatch, LISTED, MatchLevel, Refusal, TextEdit, find};
use super::splice;
use base::text::{ceil_boundary, floor_boundary};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub text: String,
    /// First line of each replacement, 1-based, in the text before the edit.
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
    let Some((level, matches)) = find(&lines, edit.old, edit.replace_all) else {
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
        splice::block(&lines, *found, edit, level, &mut result)?;
        done = found.end;
    }
    result.push_str(&text[done..]);
    if result == text {
        return Err(Refusal::NoOp);
    }
    Ok(Applied { lines: numbers(&matches), text: result, level })
}

/// Where the new text already is, if the old one is missing. A short word or a part of the old text proves
/// nothing, since it may be unrelated; the place must also be the best match for the old text.
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

/// Whether the match is inside a copy of the new text, so that the same insertion would be repeated.
fn repeats_itself(lines: &Lines, found: EditMatch, edit: TextEdit) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (old, new) = (plain(edit.old), plain(edit.new));
    if new.len() <= old.len() {
        return false;
    }
    let text = lines.text();
    // Enough context to contain the new text, with line ends counted twice for CRLF.
    let reach = new.len() * 2;
    let from = floor_boundary(text, found.start.saturating_sub(reach));
    let to = ceil_boundary(text, found.end + reach);
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
