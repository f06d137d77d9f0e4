//! Finds a text that differs only in whitespace, and tells whether the difference is a line break.

use super::lines::Lines;
use base::text::elide;

pub(super) struct SpaceMatch {
    pub first: usize,
    pub last: usize,
    /// Which side has an extra line break, in words.
    pub line_break: Option<String>,
}

pub(super) fn find(lines: &Lines, old: &str) -> Option<SpaceMatch> {
    let tight = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let (text, tight_old) = (tight(lines.text()), tight(old));
    let at = text.find(&tight_old).filter(|_| !tight_old.is_empty())?;
    let real = solid(lines.text()).skip(text[..at].chars().count());
    let pairs: Vec<_> = real.zip(solid(old)).collect();
    let broken = pairs.iter().skip(1).find(|((_, in_file), (_, in_old))| in_file != in_old);
    let line_break = broken.map(|((real, in_file), (given, _))| {
        let word = elide(old[*given..].lines().next().unwrap_or_default().trim(), 30);
        let (file, own) = (lines.line_of(*real) + 1, old[..*given].matches('\n').count() + 1);
        match in_file {
            true => format!("the file has a line break before `{word}` (line {file}), old_string has none (its line {own})"),
            false => format!("old_string has a line break before `{word}` (its line {own}), the file has none (line {file})"),
        }
    });
    let line = |pair: Option<&((usize, bool), _)>| pair.map(|((at, _), _)| lines.line_of(*at));
    Some(SpaceMatch { first: line(pairs.first())?, last: line(pairs.last())?, line_break })
}

/// Positions of the non-white-space characters, and whether a line break precedes each.
fn solid(text: &str) -> impl Iterator<Item = (usize, bool)> {
    let mut broken = false;
    text.char_indices().filter_map(move |(at, c)| {
        if c.is_whitespace() {
            broken |= c == '\n';
            return None;
        }
        Some((at, std::mem::take(&mut broken)))
    })
}
