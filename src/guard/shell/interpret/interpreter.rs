//! Walks a script's tree in execution order: which programs are called, where, and with which arguments. Every branch
//! that may run is walked, and what isn't certain is left open.

use std::collections::BTreeMap;
use std::path::Path;

use super::call::{Arg, BOMB, Call, CallInput, File};
use super::known_output;
use super::variables::{self, ShellState};
use super::words::{self, Substitutions, Walked};
use super::wrappers::{self, Fed, Inner};
use crate::shell::syntax::ast::{Assigned, Connector, Node, Redirect, RedirectKind, Simple, When, Word};
use crate::shell::syntax::lexer::Unparsed;
use crate::shell::syntax::parser;

const MAX_CALLS: usize = 600;
/// Nodes to walk, plus the cost of nested scripts.
const MAX_WORK: usize = 12_000;
/// Bytes of a nested script that cost as much as a node.
const BYTES_PER_WORK: usize = 16;
/// Limit for wrappers, nested scripts and nested functions together.
const MAX_NESTING: usize = 24;
const MAX_PASSES: usize = 5;
const MAX_WORDS: usize = 24;

struct Function {
    body: Node,
    called: bool,
}

#[derive(Default)]
struct Interpreter {
    calls: Vec<Call>,
    functions: BTreeMap<String, Function>,
    /// Functions being walked; a recursive call adds nothing new.
    running: Vec<Node>,
    input: CallInput,
    feed: Option<Vec<Arg>>,
    nesting: usize,
    /// Number of wrappers around the current node that run any program they are given.
    wrapped: usize,
    work: usize,
}

pub fn calls(script: &str, folder: &Path, home: Option<&Path>) -> Walked<Vec<Call>> {
    let Some(tree) = parser::parse(script)? else { return Ok(Vec::new()) };
    let mut interpreter = Interpreter::default();
    let start = ShellState::new(folder, home);
    interpreter.node(&tree, &mut start.clone())?;
    // Functions may also be called by name elsewhere: in a trap, `xargs bash -c`.
    let uncalled = interpreter.functions.values().filter(|function| !function.called);
    for body in uncalled.map(|function| function.body.clone()).collect::<Vec<_>>() {
        let mut anything = start.clone();
        anything.forget_variables();
        interpreter.node(&body, &mut anything)?;
    }
    let mut unique: Vec<Call> = Vec::new();
    for call in interpreter.calls {
        if !unique.contains(&call) {
            unique.push(call);
        }
    }
    Ok(unique)
}

pub fn shown(argv: &[Arg]) -> String {
    argv.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn too_much<T>() -> Walked<T> {
    Err(Unparsed("it runs too many commands".to_owned()))
}

impl Interpreter {
    fn node(&mut self, node: &Node, state: &mut ShellState) -> Walked<()> {
        self.work += 1;
        if self.work > MAX_WORK || self.calls.len() > MAX_CALLS {
            return too_much();
        }
        match node {
            Node::Simple(simple) => return self.simple(simple, state),
            Node::Steps(steps) => return self.steps(steps, state),
            Node::Group(inner) => return self.node(inner, state),
            Node::Subshell(inner) | Node::Coprocess(inner) => self.node(inner, &mut state.clone())?,
            Node::Pipe(all) => self.pipe(all, state)?,
            Node::If { branches, otherwise } => {
                let mut ends = Vec::new();
                for (condition, body) in branches {
                    self.node(condition, state)?;
                    let mut branch = state.clone();
                    self.node(body, &mut branch)?;
                    ends.push(branch);
                    state.doubt_cd();
                }
                if let Some(body) = otherwise {
                    self.node(body, state)?;
                }
                ends.iter().for_each(|end| state.meet(end));
            }
            Node::Loop { condition, body } => self.repeat(state, |interpreter, state| {
                interpreter.node(condition, state)?;
                // The body of `until` runs if the condition failed.
                state.doubt_cd();
                let failed = state.clone();
                interpreter.node(body, state)?;
                state.meet(&failed);
                Ok(())
            })?,
            Node::For { name, words, body } => {
                let mut values = Vec::new();
                for word in words.iter().flatten() {
                    values.extend(words::fields(self, word, state)?);
                }
                if words.is_none() || values.len() > MAX_WORDS {
                    values = vec![Arg::open(format!("${name}"))];
                }
                self.repeat(state, |interpreter, state| {
                    let start = state.clone();
                    for value in &values {
                        let mut one = start.clone();
                        one.assign(name, value);
                        interpreter.node(body, &mut one)?;
                        state.meet(&one);
                    }
                    Ok(())
                })?;
            }
            Node::ForArithmetic { expression, body } => {
                words::arithmetic(self, expression, state)?;
                self.repeat(state, |interpreter, state| interpreter.node(body, state))?;
            }
            Node::Case { subject, arms } => {
                words::whole(self, subject, state)?;
                for (patterns, body) in arms {
                    for pattern in patterns {
                        words::whole(self, pattern, state)?;
                    }
                    // An arm may also be reached from the previous one.
                    let mut arm = state.clone();
                    if let Some(body) = body {
                        self.node(body, &mut arm)?;
                    }
                    state.meet(&arm);
                }
            }
            Node::Function { name, body } => {
                // The previous definition may have been called, or may still be.
                if let Some(old) = self.functions.remove(name)
                    && old.body != **body
                {
                    self.node(&old.body, &mut state.clone())?;
                }
                self.functions.insert(name.clone(), Function { body: (**body).clone(), called: false });
                state.define(name);
            }
            Node::Arithmetic(inner) => words::arithmetic(self, inner, state)?,
            Node::Test(words) => {
                let compares = words
                    .iter()
                    .filter_map(Word::bare)
                    .any(|text| matches!(text, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v"));
                for word in words {
                    let value = words::whole(self, word, state)?;
                    if compares && value.certain().is_none() {
                        self.hidden("arithmetic on unknown text may run commands", state);
                    }
                    if compares {
                        words::suspect(self, &value, state);
                    }
                }
            }
            Node::Redirected { node, redirects } => {
                let mut call = Call::default();
                let input = self.redirects(redirects, &mut call, state)?;
                call.folders.clone_from(&state.folders);
                self.around(call);
                let outer = (self.input.clone(), self.feed.clone());
                if let Some(input) = input {
                    (self.input, self.feed) = (input, None);
                }
                self.node(node, state)?;
                (self.input, self.feed) = outer;
            }
        }
        Ok(())
    }

    fn steps(&mut self, steps: &[Connector], state: &mut ShellState) -> Walked<()> {
        // What is known where a chain of `&&` and `||` may have stopped.
        let mut stopped: Option<ShellState> = None;
        for (at, step) in steps.iter().enumerate() {
            match step.when {
                When::Succeeded => stopped.get_or_insert_with(|| state.clone()).meet(state),
                When::Failed => {
                    stopped.iter().for_each(|stopped| state.meet(stopped));
                    state.doubt_cd();
                    stopped = Some(state.clone());
                }
                When::Always => {
                    stopped.take().iter().for_each(|stopped| state.meet(stopped));
                    if at > 0 {
                        state.doubt_cd();
                    }
                }
            }
            match step.background {
                true => self.node(&step.node, &mut state.clone())?,
                false => self.node(&step.node, state)?,
            }
        }
        stopped.iter().for_each(|stopped| state.meet(stopped));
        Ok(())
    }

    fn pipe(&mut self, all: &[Node], state: &ShellState) -> Walked<()> {
        let outer = (self.input.clone(), self.feed.clone());
        for (at, node) in all.iter().enumerate() {
            let before = self.calls.len();
            self.node(node, &mut state.clone())?;
            let one = matches!(node, Node::Simple(_)).then(|| self.calls.get(before..)).flatten();
            let feed = match one {
                Some([.., last]) => known_output::names(last, self.feed.as_deref()),
                _ => None,
            };
            if at + 1 < all.len() {
                (self.input, self.feed) = (CallInput::Pipe, feed);
            }
        }
        (self.input, self.feed) = outer;
        Ok(())
    }

    /// Walks a loop until another pass adds nothing.
    fn repeat(
        &mut self,
        state: &mut ShellState,
        mut pass: impl FnMut(&mut Self, &mut ShellState) -> Walked<()>,
    ) -> Walked<()> {
        let start = self.calls.len();
        for count in 0.. {
            self.calls.truncate(start);
            let mut after = state.clone();
            pass(self, &mut after)?;
            after.doubt_cd();
            after.meet(state);
            if count >= MAX_PASSES {
                after.forget_variables();
                after.folders.clear();
            }
            if after == *state {
                break;
            }
            *state = after;
        }
        Ok(())
    }

    fn simple(&mut self, simple: &Simple, state: &mut ShellState) -> Walked<()> {
        let mut call = Call { source: simple.source.clone(), ..Call::default() };
        for word in &simple.words {
            let fields = words::fields(self, word, state)?;
            call.argv.extend(fields);
        }
        for assignment in &simple.assignments {
            if let Some(subscript) = &assignment.subscript {
                let value = words::whole(self, subscript, state)?;
                words::suspect(self, &value, state);
            }
            let value = match &assignment.value {
                Assigned::Scalar(word) => words::whole(self, word, state)?,
                Assigned::Array(words) => {
                    for word in words {
                        words::fields(self, word, state)?;
                    }
                    Arg::open("(…)")
                }
            };
            let value = if assignment.partial { Arg::open(value.text) } else { value };
            call.assignments.push((assignment.name.clone(), value));
        }
        let input = self.redirects(&simple.redirects, &mut call, state)?;
        call.folders.clone_from(&state.folders);
        if call.argv.is_empty() {
            for (name, value) in &call.assignments {
                state.assign(name, value);
            }
            self.around(call);
            return Ok(());
        }
        let outer = self.feed.clone();
        if input.is_some() {
            self.feed = None;
        }
        call.input = input.unwrap_or_else(|| self.input.clone());
        self.run(call, state)?;
        self.feed = outer;
        Ok(())
    }

    fn run(&mut self, mut call: Call, state: &mut ShellState) -> Walked<()> {
        self.nesting += 1;
        call.wrapped = self.wrapped > 0;
        if self.nesting > MAX_NESTING || self.calls.len() > MAX_CALLS {
            return too_much();
        }
        let Some(program) = call.argv.first().and_then(Arg::certain).map(str::to_owned) else {
            call.hidden = Some("can't tell which program it runs".to_owned());
            self.calls.push(call);
            state.forget();
            self.nesting -= 1;
            return Ok(());
        };
        let before = state.clone();
        let mut builtin = state.clone();
        for text in variables::run_builtin(&call, &mut builtin, self.feed.as_deref()) {
            words::suspect(self, &text, &before);
        }
        if self.functions.contains_key(&program) {
            self.function(&program, &mut call, state)?;
            if !call.is_function {
                state.meet(&builtin);
            }
        } else {
            *state = builtin;
        }
        let plain = matches!(call.name(), "timeout" | "nice" | "nohup" | "stdbuf" | "time" | "command");
        self.wrapped += usize::from(!plain);
        self.inner(call, before, state)?;
        self.wrapped -= usize::from(!plain);
        self.nesting -= 1;
        Ok(())
    }

    /// Walks what the call runs, starting from the state `before` it.
    fn inner(&mut self, mut call: Call, before: ShellState, state: &mut ShellState) -> Walked<()> {
        match wrappers::inner(&call) {
            Inner::Nothing => self.calls.push(call),
            Inner::Hidden(why) => {
                call.hidden = Some(why);
                self.calls.push(call);
            }
            Inner::Program { argv, assignments, folder, fed } => {
                let argvs = wrappers::fed(argv, &fed, self.feed.as_deref());
                let mut around = Call { input: CallInput::Inherited, argv: Vec::new(), ..call.clone() };
                around.assignments.extend(assignments);
                if fed != Fed::No {
                    let lists = call
                        .args()
                        .windows(2)
                        .filter(|pair| matches!(pair[0].text.as_str(), "-a" | "--arg-file"));
                    around.files.extend(lists.map(|pair| File { writes: false, target: pair[1].clone() }));
                }
                self.around(around);
                for argv in argvs {
                    let mut inside = before.clone();
                    if let Some(folder) = &folder {
                        inside.enter(folder);
                    }
                    self.one(argv, call.input.clone(), &mut inside)?;
                }
            }
            Inner::Programs(all) => {
                self.calls.push(call);
                for argv in all {
                    self.one(argv, CallInput::Inherited, &mut before.clone())?;
                }
            }
            Inner::Script { text, here } => {
                self.around(Call { argv: Vec::new(), ..call.clone() });
                let Some(script) = text.certain() else {
                    call.hidden = Some("can't tell which script it runs".to_owned());
                    self.calls.push(call);
                    state.forget();
                    return Ok(());
                };
                self.work += script.len() / BYTES_PER_WORK;
                if self.work > MAX_WORK {
                    return too_much();
                }
                if let Some(tree) = parser::parse(script)? {
                    let outer = std::mem::replace(&mut self.input, call.input);
                    let mut inside = before;
                    self.node(&tree, &mut inside)?;
                    self.input = outer;
                    if here {
                        *state = inside;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a call for redirections and assignments around a compound command.
    fn around(&mut self, call: Call) {
        if !call.files.is_empty() || !call.assignments.is_empty() {
            self.calls.push(call);
        }
    }

    fn one(&mut self, argv: Vec<Arg>, input: CallInput, state: &mut ShellState) -> Walked<()> {
        let (source, folders) = (shown(&argv), state.folders.clone());
        self.run(Call { argv, folders, source, input, ..Call::default() }, state)
    }

    /// If the function may not be defined yet, the program with its name may also run.
    fn function(&mut self, name: &str, call: &mut Call, state: &mut ShellState) -> Walked<()> {
        call.is_function = state.defines(name);
        let body = match self.functions.get_mut(name) {
            Some(found) if !self.running.contains(&found.body) => {
                found.called = true;
                found.body.clone()
            }
            _ => {
                if call.input == CallInput::Pipe {
                    call.hidden = Some(BOMB.to_owned());
                }
                return Ok(());
            }
        };
        self.running.push(body.clone());
        state.set_parameters(call.args());
        self.node(&body, state)?;
        state.set_parameters(&[]);
        self.running.pop();
        Ok(())
    }

    fn redirects(
        &mut self,
        redirects: &[Redirect],
        call: &mut Call,
        state: &mut ShellState,
    ) -> Walked<Option<CallInput>> {
        let mut input = None;
        for redirect in redirects {
            let writes = redirect.kind == RedirectKind::Write;
            match redirect.kind {
                RedirectKind::Copy => {}
                RedirectKind::HereString => {
                    input = Some(CallInput::Text(words::whole(self, &redirect.target, state)?))
                }
                RedirectKind::HereDocument => {
                    let body = redirect.body.as_ref().and_then(|body| body.get());
                    let Some(body) = body else {
                        return Err(Unparsed("a here-document has no body".to_owned()));
                    };
                    input = Some(CallInput::Text(words::whole(self, body, state)?));
                }
                RedirectKind::Read | RedirectKind::Write => {
                    let target = words::whole(self, &redirect.target, state)?;
                    if !writes {
                        input = Some(CallInput::Inherited);
                    }
                    call.files.push(File { writes, target });
                }
            }
        }
        Ok(input)
    }
}

impl Substitutions for Interpreter {
    fn output(&mut self, script: &Node, state: &ShellState) -> Walked<Option<Arg>> {
        let before = self.calls.len();
        self.node(script, &mut state.clone())?;
        Ok(match &self.calls[before..] {
            [call] if call.files.is_empty() && call.assignments.is_empty() && call.hidden.is_none() => {
                known_output::text(call, state)
            }
            _ => None,
        })
    }

    fn process(&mut self, script: &Node, state: &ShellState) -> Walked<()> {
        let outer = std::mem::replace(&mut self.input, CallInput::Pipe);
        self.node(script, &mut state.clone())?;
        self.input = outer;
        Ok(())
    }

    fn hidden(&mut self, why: &str, state: &ShellState) {
        let (hidden, folders) = (Some(why.to_owned()), state.folders.clone());
        self.calls.push(Call { hidden, folders, ..Call::default() });
    }
}
