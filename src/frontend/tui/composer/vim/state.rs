//! Vi editing: normal and insert mode over a buffer. Keys are collected until a command is complete (`2d3w`,
//! `ci"`); changes are recorded for `.`. Follows Vim's `change.txt` and `insert.txt`, without visual mode,
//! marks, macros and named registers.

use std::ops::Range;

use super::motion::{self, Find, Span, find, first_word, motion, object};
use crate::tui::composer::buffer::Buffer;
use crate::tui::composer::grapheme::{line_end, line_start, next, previous};
use crate::tui::terminal::key_table::EditCommand;

const MAX_COUNT: usize = 9_999;

const SHORT: [(char, char, char); 7] = [
    ('x', 'd', 'l'),
    ('X', 'd', 'h'),
    ('s', 'c', 'l'),
    ('D', 'd', '$'),
    ('C', 'c', '$'),
    ('S', 'c', 'c'),
    ('Y', 'y', 'y'),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Key(char),
    Edit(EditCommand),
}

#[derive(Clone, Debug, Default)]
pub struct Vim {
    pub normal: bool,
    pub pending: String,
    last_find: Option<Find>,
    /// The text last cut or copied, and whether it's linewise.
    register: (String, bool),
    last_change: Vec<Step>,
    recording: Vec<Step>,
    /// Undo depth before the current change, which is undone as a whole.
    undo_depth: usize,
}

struct Command {
    count: Option<usize>,
    operator: Option<char>,
    key: char,
    /// The key after `f` or `r`, or after `i` and `a` with an operator.
    argument: Option<char>,
}

impl Vim {
    pub fn escape(&mut self, buffer: &mut Buffer) -> bool {
        if self.normal {
            return !std::mem::take(&mut self.pending).is_empty();
        }
        let start = line_start(buffer.text(), buffer.cursor());
        if buffer.cursor() > start {
            buffer.move_to(previous(buffer.text(), buffer.cursor()));
        }
        self.normal = true;
        let changed = !self.recording.is_empty();
        self.end_change(buffer, changed);
        true
    }

    pub fn reset(&mut self) {
        self.normal = false;
        self.pending.clear();
        self.recording.clear();
        self.undo_depth = 0;
    }

    pub fn typed(&mut self, edit: EditCommand) {
        if !self.recording.is_empty() {
            self.recording.push(Step::Edit(edit));
        }
    }

    /// In normal mode. Returns edits that depend on the rows on screen.
    pub fn key(&mut self, buffer: &mut Buffer, key: char) -> Option<EditCommand> {
        self.pending.push(key);
        let Some(command) = parse(&self.pending)? else {
            self.pending.clear();
            return None;
        };
        let keys = std::mem::take(&mut self.pending);
        match command.key {
            'j' | 'k' if command.operator.is_none() && leaves(buffer, command.key) => {
                return Some(if command.key == 'j' { EditCommand::Down } else { EditCommand::Up });
            }
            '.' => self.repeat(buffer, command.count),
            _ => {
                self.undo_depth = buffer.undo_depth();
                self.recording = keys.chars().map(Step::Key).collect();
                let changed = self.carry_out(buffer, &command);
                if self.normal {
                    self.end_change(buffer, changed);
                }
            }
        }
        None
    }

    /// In normal mode the cursor must be on a character, not after the last one.
    pub fn settle(&self, buffer: &mut Buffer) {
        let (text, at) = (buffer.text(), buffer.cursor());
        if self.normal && at == line_end(text, at) && at > line_start(text, at) {
            let at = previous(text, at);
            buffer.move_to(at);
        }
    }

    fn end_change(&mut self, buffer: &mut Buffer, changed: bool) {
        let recorded = std::mem::take(&mut self.recording);
        if changed {
            buffer.merge_undo(self.undo_depth);
            self.last_change = recorded;
        }
        self.settle(buffer);
    }

    fn repeat(&mut self, buffer: &mut Buffer, count: Option<usize>) {
        let steps = self.last_change.clone();
        // A new count replaces the command's own.
        let own = steps.iter().position(|step| !matches!(step, Step::Key('0'..='9'))).unwrap_or(0);
        let digits = count.map(|count| count.to_string()).unwrap_or_default();
        let steps = match count {
            Some(_) => digits.chars().map(Step::Key).chain(steps[own..].iter().copied()).collect(),
            None => steps,
        };
        for step in steps {
            match step {
                Step::Key(key) => drop(self.key(buffer, key)),
                Step::Edit(edit) => {
                    buffer.edit(edit);
                    self.typed(edit);
                }
            }
        }
        if !self.normal {
            self.escape(buffer);
        }
    }

    /// Returns whether the text changed, or insert mode starts.
    fn carry_out(&mut self, buffer: &mut Buffer, command: &Command) -> bool {
        if let Some(operator) = command.operator {
            let Some((range, lines)) = self.target(buffer, command, operator) else { return false };
            return self.operate(buffer, operator, range, lines);
        }
        let (text, at) = (buffer.text(), buffer.cursor());
        let count = command.count.unwrap_or(1);
        let (start, end) = (line_start(text, at), line_end(text, at));
        let forward = || (0..count).fold(at, |to, _| if to < end { next(text, to) } else { to });
        match (command.key, command.argument) {
            ('i', _) => return self.insert_at(buffer, at),
            ('I', _) => return self.insert_at(buffer, first_word(buffer.text(), at)),
            ('a', _) => {
                let to = if at < end { next(text, at) } else { at };
                return self.insert_at(buffer, to);
            }
            ('A', _) => return self.insert_at(buffer, end),
            ('o', _) => {
                buffer.replace_range(end..end, "\n", end + 1);
                return self.insert_at(buffer, end + 1);
            }
            ('O', _) => {
                buffer.replace_range(start..start, "\n", start);
                return self.insert_at(buffer, start);
            }
            ('r', Some(c)) => {
                let to = forward();
                let whole = text[at..to].split_inclusive(|_| true).count() >= count && to > at;
                let chars = (0..count).map(|_| c).collect::<String>();
                if whole && !c.is_control() {
                    buffer.replace_range(at..to, &chars, at + chars.len() - c.len_utf8());
                }
                return whole;
            }
            ('~', _) => {
                let to = forward();
                let swap = |c: char| {
                    if c.is_lowercase() { c.to_uppercase().to_string() } else { c.to_lowercase().to_string() }
                };
                let swapped: String = text[at..to].chars().map(swap).collect();
                buffer.replace_range(at..to, &swapped, at + swapped.len());
                return to > at;
            }
            ('J', _) => return (1..count.max(2)).filter(|_| join(buffer)).count() > 0,
            ('p' | 'P', _) => return self.put(buffer, command.key == 'P', count),
            ('u', _) => (0..count).for_each(|_| buffer.undo()),
            (REDO, _) => (0..count).for_each(|_| buffer.redo()),
            _ => {
                if let Some((to, _)) = self.motion(buffer, command) {
                    buffer.move_to(to);
                }
            }
        }
        self.settle(buffer);
        false
    }

    fn motion(&mut self, buffer: &Buffer, command: &Command) -> Option<(usize, Span)> {
        let (text, at, count) = (buffer.text(), buffer.cursor(), command.count.unwrap_or(1));
        let search = match (command.key, command.argument) {
            (kind @ ('f' | 'F' | 't' | 'T'), Some(wanted)) => {
                self.last_find = Some(Find { kind, wanted });
                self.last_find
            }
            (';', _) => self.last_find,
            (',', _) => self.last_find.map(Find::reversed),
            _ => return motion(text, at, command.key, command.count),
        };
        // Repeating a `t` continues from the found character itself.
        let again = matches!(command.key, ';' | ',');
        let from = match search?.kind {
            't' if again => next(text, at),
            'T' if again => previous(text, at),
            _ => at,
        };
        let from = if find(text, from, search?, count).is_some() { from } else { at };
        find(text, from, search?, count)
    }

    fn target(&mut self, buffer: &Buffer, command: &Command, operator: char) -> Option<(Range<usize>, bool)> {
        let (text, at) = (buffer.text(), buffer.cursor());
        if command.key == operator {
            return Some((lines(text, at, command.count.unwrap_or(1)), true));
        }
        if let ('i' | 'a', Some(what)) = (command.key, command.argument) {
            return Some((object(text, at, command.key == 'a', what)?, false));
        }
        // `cw` on a word excludes the following space.
        let on_word = !text[at..].starts_with(char::is_whitespace) && at < text.len();
        let is_word = matches!(command.key, 'w' | 'W');
        if operator == 'c' && is_word && on_word {
            let key = if command.key == 'w' { 'e' } else { 'E' };
            // Not the `e` motion: a one-letter word ends where it starts.
            let count = command.count.unwrap_or(1);
            let mut to = motion::end_of_word(text, at, key == 'E');
            for _ in 1..count {
                to = motion(text, to, key, None)?.0;
            }
            return Some((at..next(text, to), false));
        }
        let (to, span) = self.motion(buffer, command)?;
        Some(match span {
            Span::Lines => (lines(text, at.min(to), 0).start..lines(text, at.max(to), 1).end, true),
            Span::Inclusive if to >= at => (at..next(text, to), false),
            // On the last word of a line, stops at the line's end.
            Span::Exclusive if is_word && to > line_end(text, at) && at < line_end(text, at) => {
                let last = text[..to].trim_end_matches([' ', '\t']);
                let upto = if last.ends_with('\n') { last.len() - 1 } else { to };
                (at..upto.max(line_end(text, at)), false)
            }
            _ => (at.min(to)..at.max(to), false),
        })
    }

    fn operate(&mut self, buffer: &mut Buffer, operator: char, range: Range<usize>, lines: bool) -> bool {
        let text = buffer.text();
        if range.is_empty() && operator != 'c' && !lines {
            return false;
        }
        let taken = &text[range.clone()];
        let taken = taken.strip_suffix('\n').filter(|_| lines).unwrap_or(taken);
        self.register = (taken.to_owned(), lines);
        match operator {
            'y' => {
                if !lines || range.start > buffer.cursor() {
                    buffer.move_to(range.start);
                }
                return false;
            }
            'c' => {
                let end =
                    if lines && text[range.clone()].ends_with('\n') { range.end - 1 } else { range.end };
                buffer.cut(range.start, end);
                return self.insert_at(buffer, range.start);
            }
            _ => {}
        }
        // For the last line, remove the line break before it.
        let last = lines && range.end == text.len() && !text[range.clone()].ends_with('\n');
        let start = if last { range.start.saturating_sub(1) } else { range.start };
        buffer.cut(start, range.end);
        if lines {
            buffer.move_to(first_word(buffer.text(), start.min(buffer.text().len())));
        }
        true
    }

    fn insert_at(&mut self, buffer: &mut Buffer, at: usize) -> bool {
        buffer.move_to(at);
        self.normal = false;
        true
    }

    fn put(&mut self, buffer: &mut Buffer, before: bool, count: usize) -> bool {
        let (text, at) = (buffer.text(), buffer.cursor());
        let (piece, lines) = &self.register;
        if piece.is_empty() && !lines {
            return false;
        }
        if *lines {
            let (place, put) = match before {
                true => (line_start(text, at), format!("{piece}\n").repeat(count)),
                false => (line_end(text, at), format!("\n{piece}").repeat(count)),
            };
            let cursor = if before { place } else { place + 1 };
            buffer.replace_range(place..place, &put, cursor);
            buffer.move_to(first_word(buffer.text(), buffer.cursor()));
        } else {
            let place = if before || at == line_end(text, at) { at } else { next(text, at) };
            let put = piece.repeat(count);
            buffer.replace_range(place..place, &put, place + put.len());
            let at = previous(buffer.text(), buffer.cursor());
            buffer.move_to(at);
        }
        true
    }
}

pub const REDO: char = '\u{12}';

/// Whether `j` or `k` would leave the text; the key then goes to the history.
fn leaves(buffer: &Buffer, key: char) -> bool {
    let (text, at) = (buffer.text(), buffer.cursor());
    if key == 'j' { line_end(text, at) == text.len() } else { line_start(text, at) == 0 }
}

/// `None` while incomplete; `Some(None)` if it isn't a command.
#[allow(clippy::option_option)]
fn parse(keys: &str) -> Option<Option<Command>> {
    let (first, rest) = digits(keys);
    let mut chars = rest.chars();
    let mut key = chars.next()?;
    let (mut operator, mut second) = (None, None);
    if matches!(key, 'd' | 'c' | 'y') {
        operator = Some(key);
        let rest;
        (second, rest) = digits(chars.as_str());
        chars = rest.chars();
        key = chars.next()?;
    }
    let count = match (first, second) {
        (None, None) => None,
        (first, second) => Some((first.unwrap_or(1) * second.unwrap_or(1)).min(MAX_COUNT)),
    };
    let takes = matches!(key, 'f' | 'F' | 't' | 'T')
        || (operator.is_none() && key == 'r')
        || key == 'g'
        || (operator.is_some() && matches!(key, 'i' | 'a'));
    let argument = if takes { Some(chars.next()?) } else { None };
    let known = match operator {
        Some(operator) if key == operator => true,
        Some(_) => "hlwWbBeE0^$Gjk fFtT;,gia".contains(key),
        None => "hlwWbBeE0^$Gjk fFtT;,giIaAoOxXsSDCYr~JpPu.".contains(key) || key == REDO,
    };
    let known = known && (key != 'g' || argument == Some('g'));
    let short = SHORT.iter().find(|(short, ..)| *short == key && operator.is_none());
    let (operator, key) = short.map_or((operator, key), |(_, operator, key)| (Some(*operator), *key));
    Some(known.then_some(Command { count, operator, key, argument }))
}

/// The leading count; a `0` alone is a motion.
fn digits(keys: &str) -> (Option<usize>, &str) {
    if keys.starts_with('0') {
        return (None, keys);
    }
    let length = keys.len() - keys.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (digits, rest) = keys.split_at(length);
    ((!digits.is_empty()).then(|| digits.parse().unwrap_or(MAX_COUNT).min(MAX_COUNT)), rest)
}

fn lines(text: &str, at: usize, count: usize) -> Range<usize> {
    let start = line_start(text, at);
    let mut end = start;
    for _ in 0..count {
        end = (line_end(text, end) + 1).min(text.len());
    }
    start..end
}

fn join(buffer: &mut Buffer) -> bool {
    let (text, at) = (buffer.text(), buffer.cursor());
    let end = line_end(text, at);
    if end == text.len() {
        return false;
    }
    let rest = &text[end + 1..];
    let skipped = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let to = end + 1 + skipped;
    let gap =
        text[..end].ends_with(' ') || end == line_start(text, at) || rest[skipped..].starts_with(['\n', ')']);
    buffer.replace_range(end..to, if gap { "" } else { " " }, end);
    true
}

#[cfg(test)]
#[path = "vim_tests.rs"]
mod tests;
