//! The walk over a script's tree, in the order in which it runs: which programs are called, where, and with what.
//! Ways that may or may not be taken are all taken; what is not certain is left open.

use std::path::Path;

use super::call::{Arg, Call, Input};
use super::interpreter::{
    Function, Interpreter, MAX_CALLS, MAX_PASSES, MAX_WORDS, MAX_WORK, Walked, Ways, both, join, met,
    too_much,
};
use super::known_output;
use super::variables::ShellState;
use crate::shell::syntax::ast::{Connector, Node, When, Word};
use crate::shell::syntax::lexer::Unparsed;
use crate::shell::syntax::parser;

/// Every call of the script, in order.
///
/// # Errors
/// Why the script is not judged.
pub fn calls(script: &str, folder: &Path, home: Option<&Path>) -> Result<Vec<Call>, Unparsed> {
    let Some(tree) = parser::parse(script)? else { return Ok(Vec::new()) };
    let mut walker = Interpreter::default();
    let start = ShellState::new(folder, home);
    walker.node(&tree, start.clone())?;
    // Others may call a function by its name: a trap, `xargs bash -c`.
    let uncalled: Vec<Node> =
        walker.functions.values().filter(|known| !known.called).map(|known| known.body.clone()).collect();
    for body in uncalled {
        let mut anything = start.clone();
        anything.forget_variables();
        walker.node(&body, anything)?;
    }
    let mut unique: Vec<Call> = Vec::new();
    for call in walker.calls {
        if !unique.contains(&call) {
            unique.push(call);
        }
    }
    Ok(unique)
}

impl Interpreter {
    pub fn node(&mut self, node: &Node, mut state: ShellState) -> Walked<Ways> {
        self.work += 1;
        if self.work > MAX_WORK || self.calls.len() > MAX_CALLS {
            return too_much();
        }
        match node {
            Node::Simple(simple) => self.simple(simple, state),
            Node::Steps(steps) => self.steps(steps, state),
            Node::Group(inner) => self.node(inner, state),
            Node::Subshell(inner) | Node::Coprocess(inner) => {
                self.node(inner, state.clone())?;
                Ok(both(state))
            }
            Node::Pipe(all) => {
                self.pipe(all, &state)?;
                Ok(both(state))
            }
            Node::If { branches, otherwise } => {
                let mut end: Option<ShellState> = None;
                for (condition, body) in branches {
                    let (success, failure) = self.node(condition, state)?;
                    join(&mut end, met(self.node(body, success)?));
                    state = failure;
                }
                let last = match otherwise {
                    Some(body) => met(self.node(body, state)?),
                    None => state,
                };
                join(&mut end, last.clone());
                Ok(both(end.unwrap_or(last)))
            }
            Node::Loop { condition, body } => self.repeat(state, |walker, state| {
                let (success, failure) = walker.node(condition, state)?;
                let mut after = met(walker.node(body, success)?);
                after.meet(&failure);
                Ok(after)
            }),
            Node::For { name, words, body } => {
                let mut values = Vec::new();
                match words {
                    Some(words) => {
                        for word in words {
                            values.extend(self.fields(word, &mut state)?);
                        }
                    }
                    None => values.push(Arg::open("$@")),
                }
                if values.len() > MAX_WORDS {
                    values = vec![Arg::open(format!("${name}"))];
                }
                self.repeat(state, |walker, state| {
                    let mut end: Option<ShellState> = None;
                    for value in &values {
                        let mut one = state.clone();
                        one.set(name, value.open_at.is_none().then(|| value.clone()));
                        join(&mut end, met(walker.node(body, one)?));
                    }
                    Ok(end.unwrap_or(state))
                })
            }
            Node::ForArithmetic { expression, body } => {
                self.arithmetic(expression, &mut state)?;
                self.repeat(state, |walker, state| Ok(met(walker.node(body, state)?)))
            }
            Node::Case { subject, arms } => {
                self.whole(subject, &mut state)?;
                let mut end: Option<ShellState> = Some(state.clone());
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.whole(pattern, &mut state)?;
                    }
                    if let Some(body) = body {
                        // An arm may be fallen into from the one before.
                        let mut entry = state.clone();
                        if let Some(before) = &end {
                            entry.meet(before);
                        }
                        join(&mut end, met(self.node(body, entry)?));
                    }
                }
                Ok(both(end.unwrap_or(state)))
            }
            Node::Function { name, body } => {
                // The one before it may have been called, or may still be.
                if let Some(old) = self.functions.remove(name)
                    && old.body != **body
                {
                    self.node(&old.body, state.clone())?;
                }
                self.functions.insert(name.clone(), Function { body: (**body).clone(), called: false });
                state.define(name);
                Ok(both(state))
            }
            Node::Arithmetic(inner) => {
                self.arithmetic(inner, &mut state)?;
                Ok(both(state))
            }
            Node::Test(words) => {
                let compares = words
                    .iter()
                    .filter_map(Word::bare)
                    .any(|text| matches!(text, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v"));
                for word in words {
                    let value = self.whole(word, &mut state)?;
                    if compares && value.certain().is_none() {
                        self.hidden("arithmetic on text that is not known may run commands", &state);
                    }
                    self.suspect(&value, compares, &state);
                }
                Ok(both(state))
            }
            Node::Redirected { node, redirects } => {
                let mut call = Call::default();
                let input = self.redirects(redirects, &mut call, &mut state)?;
                if !call.files.is_empty() {
                    call.folders.clone_from(&state.folders);
                    self.calls.push(call);
                }
                let outer = (self.input.clone(), self.feed.clone());
                if let Some(input) = input {
                    (self.input, self.feed) = (input, None);
                }
                let ways = self.node(node, state)?;
                (self.input, self.feed) = outer;
                Ok(ways)
            }
        }
    }

    pub fn steps(&mut self, steps: &[Connector], state: ShellState) -> Walked<Ways> {
        let (mut success, mut failure) = both(state);
        for step in steps {
            let entry = match step.when {
                When::Always => met((success.clone(), failure.clone())),
                When::Succeeded => success.clone(),
                When::Failed => failure.clone(),
            };
            let (yes, no) = if step.background {
                self.node(&step.node, entry.clone())?;
                both(entry)
            } else {
                self.node(&step.node, entry)?
            };
            match step.when {
                When::Always => (success, failure) = (yes, no),
                When::Succeeded => {
                    success = yes;
                    failure.meet(&no);
                }
                When::Failed => {
                    success.meet(&yes);
                    failure = no;
                }
            }
        }
        Ok((success, failure))
    }

    pub fn pipe(&mut self, all: &[Node], state: &ShellState) -> Walked<()> {
        let outer = (self.input.clone(), self.feed.clone());
        for (at, node) in all.iter().enumerate() {
            let before = self.calls.len();
            self.node(node, state.clone())?;
            let one = matches!(node, Node::Simple(_)).then(|| self.calls.get(before..)).flatten();
            let feed = match one {
                Some([.., last]) => known_output::printed(last, self.feed.as_deref()),
                _ => None,
            };
            if at + 1 < all.len() {
                (self.input, self.feed) = (Input::Pipe, feed);
            }
        }
        (self.input, self.feed) = outer;
        Ok(())
    }

    /// A loop: walked until another pass would teach nothing.
    pub fn repeat(
        &mut self,
        mut entry: ShellState,
        mut pass: impl FnMut(&mut Self, ShellState) -> Walked<ShellState>,
    ) -> Walked<Ways> {
        let start = self.calls.len();
        for count in 0.. {
            self.calls.truncate(start);
            let mut after = pass(self, entry.clone())?;
            after.meet(&entry);
            if after == entry {
                break;
            }
            if count >= MAX_PASSES {
                after.forget_variables();
                after.folders.clear();
                if entry == after {
                    break;
                }
            }
            entry = after;
        }
        Ok(both(entry))
    }
}
