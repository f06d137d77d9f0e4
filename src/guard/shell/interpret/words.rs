//! Evaluates a script's words during the walk, which runs the scripts in their substitutions.

use super::call::Arg;
use super::expand;
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
    Ok(expand::fields(word, state, &values))
}

pub fn whole(runs: &mut dyn Substitutions, word: &Word, state: &mut ShellState) -> Walked<Arg> {
    let values = values(runs, word, state)?;
    Ok(expand::whole(word, state, &values))
}

/// What each of the word's parts stands for, if known. Walks substitutions on the way.
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
