//! The walk over a script's tree, in the order in which it runs: which programs are called, where, and with what. Ways
//! that may or may not be taken are all taken; what is not certain is left open. Knows no verdict.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::call::{Arg, Call, File, Input};
use super::fold;
use super::names;
use super::state::State;
use super::wrapper::{self, Fed, Inner};
use crate::policy::grammar::ast::{Assigned, Node, Part, Redirect, RedirectKind, Simple, Step, When, Word};
use crate::policy::grammar::lexer::Unparsed;
use crate::policy::grammar::parse;

/// Programs that one script may call before it is not judged.
const MAX_CALLS: usize = 600;
/// Nodes that are walked, and what reading scripts within scripts costs.
const MAX_WORK: usize = 12_000;
/// Bytes of a script within a script that cost as much as a node.
const BYTES_PER_WORK: usize = 16;
/// Wrappers, scripts within scripts and functions within functions.
const MAX_NESTING: usize = 24;
/// How often a loop is walked until nothing new is learnt.
const MAX_PASSES: usize = 3;
/// Words of a `for` that are told apart.
const MAX_WORDS: usize = 24;

/// Why a call is hidden when a function starts itself through a pipe, such as `:(){ :|:& };:`.
pub const BOMB: &str = "it starts itself again and again";

/// Every call of the script, in order.
///
/// # Errors
/// Why the script is not judged.
pub fn calls(script: &str, folder: &Path, home: Option<&Path>) -> Result<Vec<Call>, Unparsed> {
    let Some(tree) = parse::parse(script)? else { return Ok(Vec::new()) };
    let mut walker = Walker::default();
    let start = State::new(folder, home);
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

struct Function {
    body: Node,
    called: bool,
}

#[derive(Default)]
struct Walker {
    calls: Vec<Call>,
    functions: BTreeMap<String, Function>,
    /// Functions that are being walked: a call of itself teaches nothing new.
    running: Vec<Node>,
    input: Input,
    /// Names of files that arrive on the input, when what they lie below is known.
    feed: Option<Vec<Arg>>,
    nesting: usize,
    /// Wrappers around what is being walked that run whatever they are given.
    wrapped: usize,
    work: usize,
}

/// What the parts of a word stand for, by where they are in the tree.
type Values = HashMap<*const Part, Option<Arg>>;
/// What is known when it succeeded, and when it failed.
type Ways = (State, State);
type Walked<T> = Result<T, Unparsed>;

fn too_much<T>() -> Walked<T> {
    Err(Unparsed("it runs too many commands to be judged".to_owned()))
}

fn both(state: State) -> Ways {
    (state.clone(), state)
}

fn met((mut success, failure): Ways) -> State {
    success.meet(&failure);
    success
}

impl Walker {
    fn node(&mut self, node: &Node, mut state: State) -> Walked<Ways> {
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
                let mut end: Option<State> = None;
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
                    let mut end: Option<State> = None;
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
                let mut end: Option<State> = Some(state.clone());
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

    fn steps(&mut self, steps: &[Step], state: State) -> Walked<Ways> {
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

    fn pipe(&mut self, all: &[Node], state: &State) -> Walked<()> {
        let outer = (self.input.clone(), self.feed.clone());
        for (at, node) in all.iter().enumerate() {
            let before = self.calls.len();
            self.node(node, state.clone())?;
            let one = matches!(node, Node::Simple(_)).then(|| self.calls.get(before..)).flatten();
            let feed = match one {
                Some([.., last]) => names::printed(last, self.feed.as_deref()),
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
    fn repeat(
        &mut self,
        mut entry: State,
        mut pass: impl FnMut(&mut Self, State) -> Walked<State>,
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

    fn simple(&mut self, simple: &Simple, mut state: State) -> Walked<Ways> {
        let mut call = Call { source: simple.source.clone(), ..Call::default() };
        for word in &simple.words {
            let fields = self.fields(word, &mut state)?;
            call.argv.extend(fields);
        }
        for assignment in &simple.assignments {
            if let Some(subscript) = &assignment.subscript {
                let value = self.whole(subscript, &mut state)?;
                self.suspect(&value, true, &state);
            }
            let value = match &assignment.value {
                Assigned::Scalar(word) => self.whole(word, &mut state)?,
                Assigned::Array(words) => {
                    for word in words {
                        self.fields(word, &mut state)?;
                    }
                    Arg::open("(…)")
                }
            };
            let value = if assignment.partial { Arg::open(value.text) } else { value };
            call.assignments.push((assignment.name.clone(), value));
        }
        let input = self.redirects(&simple.redirects, &mut call, &mut state)?;
        call.folders.clone_from(&state.folders);
        if call.argv.is_empty() {
            for (name, value) in &call.assignments {
                state.set(name, value.open_at.is_none().then(|| value.clone()));
            }
            if !call.files.is_empty() || !call.assignments.is_empty() {
                self.calls.push(call);
            }
            return Ok(both(state));
        }
        let fed = input.is_none();
        call.input = input.unwrap_or_else(|| self.input.clone());
        let outer = self.feed.clone();
        if !fed {
            self.feed = None;
        }
        let ways = self.run(call, state);
        self.feed = outer;
        ways
    }

    /// A program, and whatever it runs in turn.
    fn run(&mut self, mut call: Call, mut state: State) -> Walked<Ways> {
        self.nesting += 1;
        call.wrapped = self.wrapped > 0;
        let tame = matches!(call.name(), "timeout" | "nice" | "nohup" | "stdbuf" | "time" | "command");
        if self.nesting > MAX_NESTING || self.calls.len() > MAX_CALLS {
            return too_much();
        }
        let Some(program) = call.argv.first().and_then(Arg::certain).map(str::to_owned) else {
            call.hidden = Some("the program's name is not known".to_owned());
            self.calls.push(call);
            state.forget_variables();
            state.folders.clear();
            self.nesting -= 1;
            return Ok(both(state));
        };
        let mut ways = None;
        if self.functions.contains_key(&program) {
            ways = Some(self.function(&program, &mut call, &state)?);
        }
        // In this very shell `command` and `builtin` change nothing but who is meant.
        let mut bare = call.clone();
        while matches!(bare.name(), "command" | "builtin") && !bare.args().is_empty() {
            let skip = 1 + usize::from(bare.args()[0].text == "-p" || bare.args()[0].text == "--");
            bare.argv.drain(..skip.min(bare.argv.len()));
        }
        let builtin = self.builtin(&bare, &state)?;
        let inner = wrapper::inner(&call);
        self.wrapped += usize::from(!tame);
        match inner {
            Inner::Nothing => self.calls.push(call),
            Inner::Hidden(why) => {
                call.hidden = Some(why);
                self.calls.push(call);
            }
            Inner::Program { argv, assignments, folder, fed } => {
                let argvs = self.fed(argv, &fed);
                let mut around = call.clone();
                around.argv.truncate(1);
                around.input = Input::Inherited;
                around.assignments.extend(assignments.iter().cloned());
                if fed != Fed::No {
                    around.files.extend(
                        call.args()
                            .windows(2)
                            .filter(|pair| matches!(pair[0].text.as_str(), "-a" | "--arg-file"))
                            .map(|pair| File { writes: false, target: pair[1].clone() }),
                    );
                }
                if !around.assignments.is_empty() || !around.files.is_empty() {
                    self.calls.push(Call { argv: Vec::new(), ..around });
                }
                for argv in argvs {
                    let mut inside = state.clone();
                    if let Some(folder) = &folder {
                        inside.enter(folder);
                    }
                    let source = shown(&argv);
                    let folders = inside.folders.clone();
                    let one = Call { argv, folders, source, input: call.input.clone(), ..Call::default() };
                    self.run(one, inside)?;
                }
            }
            Inner::Programs(all) => {
                self.calls.push(call.clone());
                for argv in all {
                    let source = shown(&argv);
                    let one = Call { argv, folders: call.folders.clone(), source, ..Call::default() };
                    self.run(one, state.clone())?;
                }
            }
            Inner::Script { text, here } => {
                if !call.files.is_empty() || !call.assignments.is_empty() {
                    self.calls.push(Call { argv: Vec::new(), hidden: None, ..call.clone() });
                }
                match text.certain() {
                    None => {
                        call.hidden = Some("the script that it runs is not known".to_owned());
                        self.calls.push(call);
                        state.forget_variables();
                        state.folders.clear();
                    }
                    Some(script) => {
                        self.work += script.len() / BYTES_PER_WORK;
                        if self.work > MAX_WORK {
                            return too_much();
                        }
                        if let Some(tree) = parse::parse(script)? {
                            let outer = std::mem::replace(&mut self.input, call.input.clone());
                            let end = self.node(&tree, state.clone())?;
                            self.input = outer;
                            if here {
                                ways = Some(end);
                            }
                        }
                    }
                }
            }
        }
        self.wrapped -= usize::from(!tame);
        self.nesting -= 1;
        Ok(ways.or(builtin).unwrap_or_else(|| both(state)))
    }

    /// A function of the script. Where it may not be defined yet, the program of that name may run as well.
    fn function(&mut self, name: &str, call: &mut Call, state: &State) -> Walked<Ways> {
        call.is_function = state.defines(name);
        let body = match self.functions.get_mut(name) {
            Some(found) if !self.running.contains(&found.body) => {
                found.called = true;
                found.body.clone()
            }
            _ => {
                if call.input == Input::Pipe {
                    call.hidden = Some(BOMB.to_owned());
                }
                return Ok(both(state.clone()));
            }
        };
        self.running.push(body.clone());
        let mut inside = state.clone();
        inside.forget_parameters();
        for (at, arg) in call.args().iter().enumerate() {
            inside.set(&(at + 1).to_string(), arg.open_at.is_none().then(|| arg.clone()));
            if arg.open_at.is_some() {
                // It may be several.
                break;
            }
        }
        let ways = self.node(&body, inside)?;
        self.running.pop();
        Ok(ways)
    }

    /// What a builtin does to the shell itself.
    fn builtin(&mut self, call: &Call, state: &State) -> Walked<Option<Ways>> {
        let mut state = state.clone();
        let args = call.args();
        let operands = || args.iter().filter(|arg| !arg.text.starts_with('-') || arg.text == "-");
        match call.name() {
            "cd" | "pushd" => {
                let before = state.clone();
                match operands().next() {
                    Some(folder) if args.iter().all(|arg| !arg.front_is_open()) => state.enter(folder),
                    None if call.name() == "cd" && args.is_empty() => match state.get("HOME") {
                        Some(home) => state.enter(&home),
                        None => state.folders.clear(),
                    },
                    _ => state.folders.clear(),
                }
                return Ok(Some((state, before)));
            }
            "popd" => state.folders.clear(),
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                for (name, value) in &call.assignments {
                    state.set(name, value.open_at.is_none().then(|| value.clone()));
                }
                for arg in args {
                    self.suspect(arg, true, &state);
                }
                for (name, value) in args.iter().filter_map(wrapper::assigned) {
                    state.set(&name, value.certain().map(Arg::known));
                }
                // `declare -n` makes one name stand for another, `-i` makes text arithmetic.
                if args.iter().any(|arg| arg.text.starts_with('-') && arg.text.contains(['n', 'i'])) {
                    state.forget_variables();
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" => {
                let feed = self.feed.clone().filter(|feed| feed.len() == 1 && call.files.is_empty());
                let one = (call.name() == "read" && operands().count() == 1).then_some(feed).flatten();
                for arg in operands() {
                    match arg.certain() {
                        Some(name) => {
                            let value = one.as_ref().and_then(|feed| feed.first().cloned());
                            state.set(name, value);
                            self.suspect(arg, true, &state);
                            if call.name() == "unset" {
                                state.undefine(name);
                            }
                        }
                        None => state.forget_variables(),
                    }
                }
            }
            "printf" | "let" | "set" | "shift" => {
                if call.name() == "let" || args.first().is_some_and(|arg| arg.text.starts_with("-v")) {
                    for arg in args {
                        self.suspect(arg, true, &state);
                    }
                    state.forget_variables();
                }
            }
            "source" | "." => {
                state.forget_variables();
                state.folders.clear();
            }
            _ => return Ok(None),
        }
        Ok(Some(both(state)))
    }

    /// The program that is fed, once for each thing that may arrive.
    fn fed(&self, argv: Vec<Arg>, fed: &Fed) -> Vec<Vec<Arg>> {
        let unknown = [Arg::open("…")];
        let arrives = match &self.feed {
            Some(feed) if !feed.is_empty() => feed.as_slice(),
            _ => &unknown,
        };
        match fed {
            Fed::No => vec![argv],
            Fed::AtTheEnd => arrives.iter().map(|one| argv.iter().chain([one]).cloned().collect()).collect(),
            Fed::InPlaceOf(mark) => arrives
                .iter()
                .map(|one| argv.iter().map(|arg| wrapper::replaced(arg, mark, one)).collect())
                .collect(),
        }
    }

    fn redirects(
        &mut self,
        redirects: &[Redirect],
        call: &mut Call,
        state: &mut State,
    ) -> Walked<Option<Input>> {
        let mut input = None;
        for redirect in redirects {
            match redirect.kind {
                RedirectKind::Copy => {}
                RedirectKind::HereString => input = Some(Input::Text(self.whole(&redirect.target, state)?)),
                RedirectKind::HereDocument => {
                    let body = redirect.body.as_ref().and_then(|body| body.get());
                    let Some(body) = body else {
                        return Err(Unparsed("a here-document has no body".to_owned()));
                    };
                    input = Some(Input::Text(self.whole(body, state)?));
                }
                RedirectKind::Read | RedirectKind::Write => {
                    let target = self.whole(&redirect.target, state)?;
                    let writes = redirect.kind == RedirectKind::Write;
                    if !writes {
                        input = Some(Input::Inherited);
                    }
                    call.files.push(File { writes, target });
                }
            }
        }
        Ok(input)
    }

    fn fields(&mut self, word: &Word, state: &mut State) -> Walked<Vec<Arg>> {
        let values = self.values(word, state)?;
        Ok(fold::fields(word, state, &mut |part| lookup(&values, part)))
    }

    fn whole(&mut self, word: &Word, state: &mut State) -> Walked<Arg> {
        let values = self.values(word, state)?;
        Ok(fold::whole(word, state, &mut |part| lookup(&values, part)))
    }

    /// What each part of the word stands for; substitutions are walked on the way.
    fn values(&mut self, word: &Word, state: &mut State) -> Walked<Values> {
        let mut values = Values::new();
        for part in &word.parts {
            let value = match part {
                Part::Text { .. } => continue,
                Part::Variable { name, .. } => state.get(name),
                Part::Expansion { name, operator, inner, .. } => {
                    self.expansion(name, operator, inner, state)?;
                    None
                }
                Part::Command { script, .. } => self.substituted(script.as_deref(), state)?,
                Part::Process(script) => {
                    if let Some(script) = script {
                        let outer = std::mem::replace(&mut self.input, Input::Pipe);
                        self.node(script, state.clone())?;
                        self.input = outer;
                    }
                    Some(Arg::known("/dev/fd/63"))
                }
                Part::Arithmetic { inner, .. } => {
                    self.arithmetic(inner, state)?;
                    Some(Arg::known("$((…))"))
                }
            };
            values.insert(std::ptr::from_ref(part), value);
        }
        Ok(values)
    }

    fn expansion(&mut self, name: &str, operator: &str, inner: &Word, state: &mut State) -> Walked<()> {
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
    fn substituted(&mut self, script: Option<&Node>, state: &State) -> Walked<Option<Arg>> {
        let Some(script) = script else { return Ok(Some(Arg::default())) };
        let before = self.calls.len();
        self.node(script, state.clone())?;
        Ok(match &self.calls[before..] {
            [call] if call.files.is_empty() && call.assignments.is_empty() && call.hidden.is_none() => {
                names::output(call, state)
            }
            _ => None,
        })
    }

    /// Arithmetic evaluates the text of variables, and a subscript in it can run commands.
    fn arithmetic(&mut self, inner: &Word, state: &mut State) -> Walked<()> {
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
    fn suspect(&mut self, value: &Arg, evaluated: bool, state: &State) {
        let text = &value.text;
        let bracket = text.find('[').is_some_and(|at| {
            let behind = &text[at..];
            behind.contains('`') || (value.open_at.is_none() && behind.contains("$("))
        });
        if evaluated && bracket {
            self.hidden("a subscript may run commands", state);
        }
    }

    fn hidden(&mut self, why: &str, state: &State) {
        self.calls.push(Call {
            hidden: Some(why.to_owned()),
            folders: state.folders.clone(),
            ..Call::default()
        });
    }
}

fn join(end: &mut Option<State>, state: State) {
    match end {
        Some(end) => end.meet(&state),
        None => *end = Some(state),
    }
}

fn lookup(values: &Values, part: &Part) -> Option<Arg> {
    values.get(&std::ptr::from_ref(part)).cloned().flatten()
}

/// Arguments as a person would write them, near enough.
pub fn shown(argv: &[Arg]) -> String {
    argv.iter().map(|arg| arg.text.as_str()).collect::<Vec<_>>().join(" ")
}
