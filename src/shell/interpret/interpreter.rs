//! The state of a walk, and how the words that it meets are expanded.

use std::collections::{BTreeMap, HashMap};

use super::call::{Arg, Call, Input};
use super::expand;
use super::known_output;
use super::variables::ShellState;
use crate::shell::syntax::ast::{Node, Word, WordPiece};
use crate::shell::syntax::lexer::Unparsed;

/// Programs that one script may call before it is not judged.
pub const MAX_CALLS: usize = 600;
/// Nodes that are walked, and what reading scripts within scripts costs.
pub const MAX_WORK: usize = 12_000;
/// Bytes of a script within a script that cost as much as a node.
pub const BYTES_PER_WORK: usize = 16;
/// Wrappers, scripts within scripts and functions within functions.
pub const MAX_NESTING: usize = 24;
/// How often a loop is walked until nothing new is learnt.
pub const MAX_PASSES: usize = 3;
/// Words of a `for` that are told apart.
pub const MAX_WORDS: usize = 24;

pub struct Function {
    pub body: Node,
    pub called: bool,
}

#[derive(Default)]
pub struct Interpreter {
    pub calls: Vec<Call>,
    pub functions: BTreeMap<String, Function>,
    /// Functions that are being walked: a call of itself teaches nothing new.
    pub running: Vec<Node>,
    pub input: Input,
    /// Names of files that arrive on the input, when what they lie below is known.
    pub feed: Option<Vec<Arg>>,
    pub nesting: usize,
    /// Wrappers around what is being walked that run whatever they are given.
    pub wrapped: usize,
    pub work: usize,
}

/// What the parts of a word stand for, by where they are in the tree.
pub type Values = HashMap<*const WordPiece, Option<Arg>>;
/// What is known when it succeeded, and when it failed.
pub type Ways = (ShellState, ShellState);
pub type Walked<T> = Result<T, Unparsed>;

pub fn too_much<T>() -> Walked<T> {
    Err(Unparsed("it runs too many commands to be judged".to_owned()))
}

pub fn both(state: ShellState) -> Ways {
    (state.clone(), state)
}

pub fn met((mut success, failure): Ways) -> ShellState {
    success.meet(&failure);
    success
}

pub fn join(end: &mut Option<ShellState>, state: ShellState) {
    match end {
        Some(end) => end.meet(&state),
        None => *end = Some(state),
    }
}

fn lookup(values: &Values, part: &WordPiece) -> Option<Arg> {
    values.get(&std::ptr::from_ref(part)).cloned().flatten()
}

impl Interpreter {
    pub fn fields(&mut self, word: &Word, state: &mut ShellState) -> Walked<Vec<Arg>> {
        let values = self.values(word, state)?;
        Ok(expand::fields(word, state, &mut |part| lookup(&values, part)))
    }

    pub fn whole(&mut self, word: &Word, state: &mut ShellState) -> Walked<Arg> {
        let values = self.values(word, state)?;
        Ok(expand::whole(word, state, &mut |part| lookup(&values, part)))
    }

    /// What each part of the word stands for; substitutions are walked on the way.
    pub fn values(&mut self, word: &Word, state: &mut ShellState) -> Walked<Values> {
        let mut values = Values::new();
        for part in &word.parts {
            let value = match part {
                WordPiece::Text { .. } => continue,
                WordPiece::Variable { name, .. } => state.get(name),
                WordPiece::Expansion { name, operator, inner, .. } => {
                    self.expansion(name, operator, inner, state)?;
                    None
                }
                WordPiece::Command { script, .. } => self.substituted(script.as_deref(), state)?,
                WordPiece::Process(script) => {
                    if let Some(script) = script {
                        let outer = std::mem::replace(&mut self.input, Input::Pipe);
                        self.node(script, state.clone())?;
                        self.input = outer;
                    }
                    Some(Arg::known("/dev/fd/63"))
                }
                WordPiece::Arithmetic { inner, .. } => {
                    self.arithmetic(inner, state)?;
                    Some(Arg::known("$((…))"))
                }
            };
            values.insert(std::ptr::from_ref(part), value);
        }
        Ok(values)
    }

    pub fn expansion(
        &mut self,
        name: &str,
        operator: &str,
        inner: &Word,
        state: &mut ShellState,
    ) -> Walked<()> {
        let text = self.whole(inner, state)?;
        if operator.ends_with('@') && text.text.contains('P') {
            self.hidden("${…@P} runs what the variable holds", state);
        }
        let assigns = text.text.starts_with('=') || operator.ends_with('=');
        if assigns {
            state.set(name, None);
        }
        let is_slice = operator.ends_with(':') && !text.text.starts_with(['-', '=', '?', '+']);
        if is_slice || operator.contains('[') {
            self.suspect(&text, true, state);
        }
        Ok(())
    }

    /// What the substitution prints, where that is certain.
    pub fn substituted(&mut self, script: Option<&Node>, state: &ShellState) -> Walked<Option<Arg>> {
        let Some(script) = script else { return Ok(Some(Arg::default())) };
        let before = self.calls.len();
        self.node(script, state.clone())?;
        Ok(match &self.calls[before..] {
            [call] if call.files.is_empty() && call.assignments.is_empty() && call.hidden.is_none() => {
                known_output::output(call, state)
            }
            _ => None,
        })
    }

    /// Arithmetic evaluates the text of variables, and a subscript in it can run commands.
    pub fn arithmetic(&mut self, inner: &Word, state: &mut ShellState) -> Walked<()> {
        let text = self.whole(inner, state)?;
        let mut names = text.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let risky = names.any(|name| {
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            is_name && state.get(name).is_some_and(|value| value.text.contains('['))
        });
        if risky {
            self.hidden("arithmetic evaluates what a variable holds, which may run commands", state);
        }
        self.suspect(&text, true, state);
        Ok(())
    }

    /// Text that would run a command if it were taken for a subscript.
    pub fn suspect(&mut self, value: &Arg, evaluated: bool, state: &ShellState) {
        let text = &value.text;
        let bracket = text.find('[').is_some_and(|at| {
            let behind = &text[at..];
            behind.contains('`') || (value.open_at.is_none() && behind.contains("$("))
        });
        if evaluated && bracket {
            self.hidden("a subscript may run commands", state);
        }
    }

    pub fn hidden(&mut self, why: &str, state: &ShellState) {
        self.calls.push(Call {
            hidden: Some(why.to_owned()),
            folders: state.folders.clone(),
            ..Call::default()
        });
    }
}

/// Arguments as a user would write them, near enough.
pub fn shown(argv: &[Arg]) -> String {
    argv.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ")
}
