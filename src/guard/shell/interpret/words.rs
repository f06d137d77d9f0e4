//! Evaluates a script's words during the walk: runs the scripts in substitutions, and expands words into arguments like bash:
//! braces, tildes, variables, splitting.

use super::call::Arg;
use super::variables::ShellState;
use crate::shell::syntax::ast::{Node, Word, WordPiece};
use crate::shell::syntax::lexer::Unparsed;

pub type Walked<T> = Result<T, Unparsed>;

pub trait Substitutions {
    /// What `$(…)` prints, if certain.
    fn output(&mut self, script: &Node, state: &ShellState) -> Walked<Option<Arg>>;

    fn process(&mut self, script: &Node, state: &ShellState) -> Walked<()>;

    fn hidden(&mut self, why: &str, state: &ShellState);
}

pub fn fields(runs: &mut dyn Substitutions, word: &Word, state: &mut ShellState) -> Walked<Vec<Arg>> {
    let values = values(runs, word, state)?;
    Ok(expanded(word, state, &values))
}

pub fn whole(runs: &mut dyn Substitutions, word: &Word, state: &mut ShellState) -> Walked<Arg> {
    let values = values(runs, word, state)?;
    Ok(joined(word, state, &values))
}

/// The values of the word's parts, if known. Walks substitutions on the way.
fn values(runs: &mut dyn Substitutions, word: &Word, state: &mut ShellState) -> Walked<Vec<Option<Arg>>> {
    let mut values = Vec::new();
    for part in &word.parts {
        values.push(match part {
            WordPiece::Text { .. } => None,
            WordPiece::Variable { name, .. } => state.get(name),
            WordPiece::Expansion { name, operator, inner, .. } => {
                expansion(runs, name, operator, inner, state)?;
                None
            }
            WordPiece::Command { script, .. } => match script {
                Some(script) => runs.output(script, state)?,
                None => Some(Arg::default()),
            },
            WordPiece::Process(script) => {
                if let Some(script) = script {
                    runs.process(script, state)?;
                }
                Some(Arg::known("/dev/fd/63"))
            }
            WordPiece::Arithmetic { inner, .. } => {
                arithmetic(runs, inner, state)?;
                Some(Arg::known("$((…))"))
            }
        });
    }
    Ok(values)
}

fn expansion(
    runs: &mut dyn Substitutions,
    name: &str,
    operator: &str,
    inner: &Word,
    state: &mut ShellState,
) -> Walked<()> {
    let text = whole(runs, inner, state)?;
    if operator.ends_with('@') && text.text.contains('P') {
        runs.hidden("${…@P} evaluates the variable's value", state);
    }
    if text.text.starts_with('=') || operator.ends_with('=') {
        state.set(name, None);
    }
    let is_slice = operator.ends_with(':') && !text.text.starts_with(['-', '=', '?', '+']);
    if is_slice || operator.contains('[') {
        suspect(runs, &text, state);
    }
    Ok(())
}

/// Arithmetic evaluates the text of variables, in which a subscript can run commands.
pub fn arithmetic(runs: &mut dyn Substitutions, inner: &Word, state: &mut ShellState) -> Walked<()> {
    let text = whole(runs, inner, state)?;
    let mut names = text.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let risky = names.any(|name| {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        is_name && state.get(name).is_some_and(|value| value.text.contains('['))
    });
    if risky {
        runs.hidden("arithmetic evaluates a variable's value, which may run commands", state);
    }
    suspect(runs, &text, state);
    Ok(())
}

/// For text that is evaluated: a subscript in it could run commands.
pub fn suspect(runs: &mut dyn Substitutions, value: &Arg, state: &ShellState) {
    let bracket = value.text.find('[').map(|at| &value.text[at..]);
    if bracket.is_some_and(|behind| behind.contains('`') || value.open_at.is_none() && behind.contains("$("))
    {
        runs.hidden("a subscript may run commands", state);
    }
}

const MAX_BRACES: usize = 256;
/// Limits for a word: braces that are expanded, and its length.
const MAX_OPENED: usize = 24;
const MAX_BRACED_CHARS: usize = 4_000;

#[derive(Clone, Debug)]
enum Unit<'a> {
    Plain(char),
    Quoted(char),
    /// Even empty quotes make a word.
    Quotes,
    /// A part with its value, if known.
    WordPiece(&'a WordPiece, Option<&'a Arg>),
}

/// `values` are those of the word's parts.
pub fn expanded(word: &Word, state: &ShellState, values: &[Option<Arg>]) -> Vec<Arg> {
    let mut units = Vec::new();
    for (part, value) in word.parts.iter().zip(values) {
        match part {
            WordPiece::Text { text, quoted: true } => {
                units.push(Unit::Quotes);
                units.extend(text.chars().map(Unit::Quoted));
            }
            WordPiece::Text { text, quoted: false } => units.extend(text.chars().map(Unit::Plain)),
            other => units.push(Unit::WordPiece(other, value.as_ref())),
        }
    }
    let mut words = Vec::new();
    let opened = units.iter().filter(|unit| matches!(unit, Unit::Plain('{'))).count();
    let too_many = opened > MAX_OPENED || (opened > 0 && units.len() > MAX_BRACED_CHARS);
    if too_many || !braces(&units, &mut words) {
        return vec![Arg::open("{…}")];
    }
    let mut all = Vec::new();
    for units in &words {
        split(units, state, &mut all);
    }
    all.iter_mut().for_each(Arg::settle);
    all
}

/// As one argument: assignments and redirections aren't split.
pub fn joined(word: &Word, state: &ShellState, values: &[Option<Arg>]) -> Arg {
    let mut arg = Arg::default();
    for (at, (part, value)) in word.parts.iter().zip(values).enumerate() {
        match part {
            WordPiece::Text { text, quoted } => {
                let tilde = (at == 0 && !quoted && text.starts_with('~')).then(|| tilde(text, state));
                match tilde {
                    Some(expanded) => arg.append(&expanded),
                    None => {
                        let glob = text.find(['*', '?', '[']).filter(|_| !quoted);
                        arg.append(&Arg { text: text.clone(), open_at: None, glob_at: glob });
                    }
                }
            }
            other => match value {
                Some(known) => arg.append(known),
                None => arg.append(&Arg::open(shown(other))),
            },
        }
    }
    arg
}

/// `~` and `~/…` at the start; other users' homes are unknown.
fn tilde(text: &str, state: &ShellState) -> Arg {
    let rest = &text[1..];
    match state.get("HOME") {
        Some(home) if rest.is_empty() || rest.starts_with('/') => {
            let glob = rest.find(['*', '?', '[']);
            let mut made = home;
            made.append(&Arg { text: rest.to_owned(), open_at: None, glob_at: glob });
            made
        }
        _ => Arg::open(text),
    }
}

fn split(units: &[Unit<'_>], state: &ShellState, all: &mut Vec<Arg>) {
    let mut arg: Option<Arg> = None;
    let mut units = units;
    if let Some(Unit::Plain('~')) = units.first() {
        let end =
            units.iter().position(|unit| !matches!(unit, Unit::Plain(c) if *c != '/')).unwrap_or(units.len());
        let ends_plain = matches!(units.get(end), None | Some(Unit::Plain('/')));
        let prefix: String = units[..end]
            .iter()
            .filter_map(|unit| if let Unit::Plain(c) = unit { Some(*c) } else { None })
            .collect();
        if ends_plain {
            arg = Some(tilde(&prefix, state));
            units = &units[end..];
        }
    }
    let push = |arg: &mut Option<Arg>, c: char, glob: bool| {
        let arg = arg.get_or_insert_with(Arg::default);
        if glob && arg.glob_at.is_none() {
            arg.glob_at = Some(arg.text.len());
        }
        arg.text.push(c);
    };
    for unit in units {
        match unit {
            Unit::Plain(c) => push(&mut arg, *c, matches!(c, '*' | '?' | '[')),
            Unit::Quoted(c) => push(&mut arg, *c, false),
            Unit::Quotes => {
                arg.get_or_insert_with(Arg::default);
            }
            Unit::WordPiece(part, Some(known)) if !is_quoted(part) => append_split(known, &mut arg, all),
            Unit::WordPiece(_, Some(known)) => arg.get_or_insert_with(Arg::default).append(known),
            Unit::WordPiece(part, None) => {
                arg.get_or_insert_with(Arg::default).append(&Arg::open(shown(part)));
            }
        }
    }
    all.extend(arg);
}

/// Blanks in an unquoted value split words, and its patterns match files.
fn append_split(known: &Arg, arg: &mut Option<Arg>, all: &mut Vec<Arg>) {
    if known.open_at.is_some() {
        arg.get_or_insert_with(Arg::default).append(known);
        return;
    }
    for (at, piece) in known.text.split([' ', '\t', '\n']).enumerate() {
        if at > 0 {
            all.extend(arg.take());
        }
        if !piece.is_empty() {
            let glob = piece.find(['*', '?', '[']);
            arg.get_or_insert_with(Arg::default).append(&Arg {
                text: piece.to_owned(),
                open_at: None,
                glob_at: glob,
            });
        }
    }
}

fn is_quoted(part: &WordPiece) -> bool {
    match part {
        WordPiece::Text { quoted, .. }
        | WordPiece::Variable { quoted, .. }
        | WordPiece::Expansion { quoted, .. }
        | WordPiece::Command { quoted, .. }
        | WordPiece::Arithmetic { quoted, .. } => *quoted,
        WordPiece::Process(_) => true,
    }
}

pub fn shown(part: &WordPiece) -> String {
    match part {
        WordPiece::Text { text, .. } => text.clone(),
        WordPiece::Variable { name, .. } => format!("${name}"),
        WordPiece::Expansion { name, operator, .. } => format!("${{{name}{operator}…}}"),
        WordPiece::Command { .. } => "$(…)".to_owned(),
        WordPiece::Arithmetic { .. } => "$((…))".to_owned(),
        WordPiece::Process(_) => "<(…)".to_owned(),
    }
}

/// Returns `false` if the words are too many or unknown.
fn braces<'a>(units: &[Unit<'a>], all: &mut Vec<Vec<Unit<'a>>>) -> bool {
    if all.len() > MAX_BRACES {
        return false;
    }
    let mut from = 0;
    while let Some(open) = (from..units.len()).find(|at| matches!(units[*at], Unit::Plain('{'))) {
        if let Some((close, pieces)) = brace_at(units, open) {
            return !pieces.is_empty()
                && pieces.iter().all(|piece| {
                    let mut joined = units[..open].to_vec();
                    joined.extend_from_slice(piece);
                    joined.extend_from_slice(&units[close + 1..]);
                    braces(&joined, all)
                });
        }
        from = open + 1;
    }
    all.push(units.to_vec());
    true
}

/// Where the brace at `open` closes, and its alternatives (none if unknown); `None` if it is plain text.
fn brace_at<'a>(units: &[Unit<'a>], open: usize) -> Option<(usize, Vec<Vec<Unit<'a>>>)> {
    let mut depth = 0;
    let mut starts = vec![open + 1];
    for at in open..units.len() {
        match units[at] {
            Unit::Plain('{') => depth += 1,
            Unit::Plain(',') if depth == 1 => starts.push(at + 1),
            Unit::Plain('}') => {
                depth -= 1;
                if depth == 0 {
                    if starts.len() > 1 {
                        starts.push(at + 1);
                        let pieces = starts.windows(2).map(|pair| units[pair[0]..pair[1] - 1].to_vec());
                        return Some((at, pieces.collect()));
                    }
                    // `1..5` isn't evaluated.
                    let dots = |pair: &[Unit<'a>]| matches!(pair, [Unit::Plain('.'), Unit::Plain('.')]);
                    return units[open..at].windows(2).any(dots).then(|| (at, Vec::new()));
                }
            }
            _ => {}
        }
    }
    None
}
