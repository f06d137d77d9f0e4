//! Vi motions and text objects as pure functions of text and cursor. Follows Vim's `motion.txt`, without
//! marks, paragraphs and searches.

use std::ops::Range;

use crate::tui::composer::grapheme::{line_end, line_start, next, previous};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Exclusive,
    Inclusive,
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    pub kind: char,
    pub wanted: char,
}

impl Find {
    pub fn reversed(self) -> Self {
        let kind = if self.kind.is_lowercase() {
            self.kind.to_ascii_uppercase()
        } else {
            self.kind.to_ascii_lowercase()
        };
        Self { kind, ..self }
    }
}

/// Returns `None` if there is no target or `key` isn't a motion.
pub fn motion(text: &str, at: usize, key: char, count: Option<usize>) -> Option<(usize, Span)> {
    let times = count.unwrap_or(1);
    let repeat = |step: &dyn Fn(usize) -> usize| {
        let mut to = at;
        for _ in 0..times {
            let reached = step(to);
            if reached == to {
                break;
            }
            to = reached;
        }
        to
    };
    let (start, end) = (line_start(text, at), line_end(text, at));
    Some(match key {
        'h' => (repeat(&|to| if to > start { previous(text, to) } else { to }), Span::Exclusive),
        'l' | ' ' => (repeat(&|to| if to < end { next(text, to) } else { to }), Span::Exclusive),
        'j' | 'k' => (vertical(text, at, key == 'j', times)?, Span::Lines),
        'w' | 'W' => (repeat(&|to| word_forward(text, to, key == 'W')), Span::Exclusive),
        'b' | 'B' => (repeat(&|to| word_back(text, to, key == 'B')), Span::Exclusive),
        'e' | 'E' => (repeat(&|to| word_end(text, to, key == 'E')), Span::Inclusive),
        '0' => (start, Span::Exclusive),
        '^' => (first_word(text, at), Span::Exclusive),
        '$' => {
            let mut end = end;
            for _ in 1..times {
                end = line_end(text, (end + 1).min(text.len()));
            }
            (end, Span::Exclusive)
        }
        'G' => (line(text, count.unwrap_or(usize::MAX)), Span::Lines),
        'g' => (line(text, times), Span::Lines),
        _ => return None,
    })
}

pub fn find(text: &str, at: usize, find: Find, count: usize) -> Option<(usize, Span)> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let is_it = |index: usize| text[index..].starts_with(find.wanted);
    let mut found = at;
    for _ in 0..count {
        found = match find.kind {
            'f' | 't' => steps(text, next(text, found), end).find(|index| is_it(*index))?,
            _ => {
                let before: Vec<usize> = steps(text, start, found).collect();
                before.into_iter().rev().find(|index| is_it(*index))?
            }
        };
    }
    Some(match find.kind {
        'f' => (found, Span::Inclusive),
        't' => (previous(text, found), Span::Inclusive),
        'T' => (next(text, found), Span::Exclusive),
        _ => (found, Span::Exclusive),
    })
}

/// `around` includes the surroundings (`a` instead of `i`).
pub fn object(text: &str, at: usize, around: bool, key: char) -> Option<Range<usize>> {
    match key {
        'w' | 'W' => Some(word_object(text, at, around, key == 'W')),
        '"' | '\'' | '`' => quoted(text, at, around, key),
        '(' | ')' | 'b' => bracketed(text, at, around, ('(', ')')),
        '[' | ']' => bracketed(text, at, around, ('[', ']')),
        '{' | '}' | 'B' => bracketed(text, at, around, ('{', '}')),
        '<' | '>' => bracketed(text, at, around, ('<', '>')),
        _ => None,
    }
}

pub fn end_of_word(text: &str, at: usize, big: bool) -> usize {
    let kind = class(text, at, big);
    let same = |index: &usize| class(text, *index, big) == kind;
    steps(text, at, text.len()).take_while(same).last().unwrap_or(at)
}

pub fn first_word(text: &str, at: usize) -> usize {
    let (start, end) = (line_start(text, at), line_end(text, at));
    steps(text, start, end).find(|index| class(text, *index, false) != Class::Space).unwrap_or(end)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Word,
    Punctuation,
}

fn class(text: &str, index: usize, big: bool) -> Class {
    match text[index..].chars().next() {
        None => Class::Space,
        Some(c) if c.is_whitespace() => Class::Space,
        Some(c) if !big && c.is_ascii_punctuation() && c != '_' => Class::Punctuation,
        Some(_) => Class::Word,
    }
}

fn steps(text: &str, start: usize, end: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(start), |index| Some(next(text, *index))).take_while(move |index| *index < end)
}

fn is_empty_line(text: &str, index: usize) -> bool {
    let (before, behind) = text.split_at(index);
    (before.is_empty() || before.ends_with('\n')) && (behind.is_empty() || behind.starts_with('\n'))
}

fn starts_word(text: &str, index: usize, big: bool) -> bool {
    let kind = class(text, index, big);
    let begins = index == 0 || class(text, previous(text, index), big) != kind;
    is_empty_line(text, index) || (kind != Class::Space && begins)
}

fn word_forward(text: &str, at: usize, big: bool) -> usize {
    let mut behind = steps(text, next(text, at), text.len());
    behind.find(|index| starts_word(text, *index, big)).unwrap_or(text.len())
}

fn word_back(text: &str, at: usize, big: bool) -> usize {
    let before = |index: usize| (index > 0).then(|| previous(text, index));
    let mut before = std::iter::successors(before(at), |index| before(*index));
    before.find(|index| starts_word(text, *index, big)).unwrap_or(0)
}

fn word_end(text: &str, at: usize, big: bool) -> usize {
    let ends = |index: &usize| {
        let (kind, after) = (class(text, *index, big), next(text, *index));
        kind != Class::Space && (after == text.len() || class(text, after, big) != kind)
    };
    let end = steps(text, next(text, at), text.len()).find(ends);
    end.unwrap_or(at.max(previous(text, text.len())))
}

fn vertical(text: &str, at: usize, down: bool, times: usize) -> Option<usize> {
    let column = steps(text, line_start(text, at), at).count();
    let mut start = line_start(text, at);
    for _ in 0..times {
        start = match down {
            true => Some(line_end(text, start)).filter(|end| *end < text.len()).map(|end| end + 1)?,
            false => start.checked_sub(1).map(|end| line_start(text, end))?,
        };
    }
    let end = line_end(text, start);
    Some(steps(text, start, end).nth(column).unwrap_or(end))
}

fn line(text: &str, number: usize) -> usize {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    first_word(text, starts.take(number.max(1)).last().unwrap_or(0))
}

fn word_object(text: &str, at: usize, around: bool, big: bool) -> Range<usize> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let run = |at: usize| {
        let kind = class(text, at, big);
        let mut from = at;
        while from > start && class(text, previous(text, from), big) == kind {
            from = previous(text, from);
        }
        let to = steps(text, at, end).find(|index| class(text, *index, big) != kind).unwrap_or(end);
        from..to
    };
    let mut found = run(at);
    if around && found.end < end {
        found.end = run(found.end).end;
    } else if around && found.start > start && class(text, previous(text, found.start), big) == Class::Space {
        found.start = run(previous(text, found.start)).start;
    }
    found
}

fn quoted(text: &str, at: usize, around: bool, mark: char) -> Option<Range<usize>> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let marks: Vec<usize> = text[start..end].match_indices(mark).map(|(index, _)| start + index).collect();
    let mut pairs = marks.chunks_exact(2);
    let pair = pairs.find(|pair| pair[1] >= at)?;
    let inner = pair[0] + mark.len_utf8()..pair[1];
    Some(if around { pair[0]..pair[1] + mark.len_utf8() } else { inner })
}

fn bracketed(text: &str, at: usize, around: bool, (open, close): (char, char)) -> Option<Range<usize>> {
    // A bracket under the cursor counts as its own pair.
    let upto = at + text[at..].chars().next().filter(|c| *c == open).map_or(0, char::len_utf8);
    let from = unmatched(text[..upto].char_indices().rev(), open, close)?;
    let inner = from + open.len_utf8();
    let to = inner + unmatched(text[inner..].char_indices(), close, open)?;
    Some(if around { from..to + close.len_utf8() } else { inner..to })
}

/// The first `wanted` without a matching `other` before it.
fn unmatched(chars: impl Iterator<Item = (usize, char)>, wanted: char, other: char) -> Option<usize> {
    let mut depth = 0usize;
    for (index, c) in chars {
        if c == other {
            depth += 1;
        } else if c == wanted {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(index),
            }
        }
    }
    None
}
