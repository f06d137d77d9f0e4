//! The words of a script while it is walked: what each part stands for. Substitutions run scripts of their own, which
//! the walk is asked for.

use std::collections::HashMap;

use super::call::Arg;
use super::expand;
use super::variables::ShellState;
use crate::shell::syntax::ast::{Node, Word, WordPiece};
use crate::shell::syntax::lexer::Unparsed;

pub type Walked<T> = Result<T, Unparsed>;
/// What the parts of a word stand for, by where they are in the tree.
type Values = HashMap<*const WordPiece, Option<Arg>>;

/// What words need of the walk.
pub trait Substitutions {
    /// What a `$(…)` prints, where that is certain.
    fn output(&mut self, script: &Node, state: &ShellState) -> Walked<Option<Arg>>;

    /// A `<(…)` or `>(…)`.
    fn process(&mut self, script: &Node, state: &ShellState) -> Walked<()>;

    /// Something runs of which nobody can say what.
    fn hidden(&mut self, why: &str, state: &ShellState);
}

pub fn fields(runs: &mut dyn Substitutions, word: &Word, state: &mut ShellState) -> Walked<Vec<Arg>> {
    let values = values(runs, word, state)?;
    Ok(expand::fields(word, state, &mut |part| lookup(&values, part)))
}

pub fn whole(runs: &mut dyn Substitutions, word: &Word, state: &mut ShellState) -> Walked<Arg> {
    let values = values(runs, word, state)?;
    Ok(expand::whole(word, state, &mut |part| lookup(&values, part)))
}

/// What each part of the word stands for; substitutions are walked on the way.
fn values(runs: &mut dyn Substitutions, word: &Word, state: &mut ShellState) -> Walked<Values> {
    let mut values = Values::new();
    for part in &word.parts {
        let value = match part {
            WordPiece::Text { .. } => continue,
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
        };
        values.insert(std::ptr::from_ref(part), value);
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
        runs.hidden("${…@P} runs what the variable holds", state);
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

/// Arithmetic evaluates the text of variables, and a subscript in it can run commands.
pub fn arithmetic(runs: &mut dyn Substitutions, inner: &Word, state: &mut ShellState) -> Walked<()> {
    let text = whole(runs, inner, state)?;
    let mut names = text.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let risky = names.any(|name| {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        is_name && state.get(name).is_some_and(|value| value.text.contains('['))
    });
    if risky {
        runs.hidden("arithmetic evaluates what a variable holds, which may run commands", state);
    }
    suspect(runs, &text, state);
    Ok(())
}

/// Text that is evaluated: a subscript in it would run commands.
pub fn suspect(runs: &mut dyn Substitutions, value: &Arg, state: &ShellState) {
    let bracket = value.text.find('[').map(|at| &value.text[at..]);
    if bracket.is_some_and(|behind| behind.contains('`') || value.open_at.is_none() && behind.contains("$("))
    {
        runs.hidden("a subscript may run commands", state);
    }
}

fn lookup(values: &Values, part: &WordPiece) -> Option<Arg> {
    values.get(&std::ptr::from_ref(part)).cloned().flatten()
}
