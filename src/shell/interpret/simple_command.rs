//! What a walk does at a program: its words, its redirections, the shell's own builtins, functions, and whatever
//! the program runs in turn.

use super::call::{Arg, BOMB, Call, File, Input};
use super::interpreter::{
    BYTES_PER_WORK, Interpreter, MAX_CALLS, MAX_NESTING, MAX_WORK, Walked, Ways, both, shown, too_much,
};
use super::variables::ShellState;
use super::wrappers::{self, Fed, Inner};
use crate::shell::syntax::ast::{Assigned, Redirect, RedirectKind, Simple};
use crate::shell::syntax::lexer::Unparsed;
use crate::shell::syntax::parser;

impl Interpreter {
    pub fn simple(&mut self, simple: &Simple, mut state: ShellState) -> Walked<Ways> {
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
    pub fn run(&mut self, mut call: Call, mut state: ShellState) -> Walked<Ways> {
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
        let inner = wrappers::inner(&call);
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
                        if let Some(tree) = parser::parse(script)? {
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
    pub fn function(&mut self, name: &str, call: &mut Call, state: &ShellState) -> Walked<Ways> {
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
    pub fn builtin(&mut self, call: &Call, state: &ShellState) -> Walked<Option<Ways>> {
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
                for (name, value) in args.iter().filter_map(wrappers::assigned) {
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
    pub fn fed(&self, argv: Vec<Arg>, fed: &Fed) -> Vec<Vec<Arg>> {
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
                .map(|one| argv.iter().map(|arg| wrappers::replaced(arg, mark, one)).collect())
                .collect(),
        }
    }

    pub fn redirects(
        &mut self,
        redirects: &[Redirect],
        call: &mut Call,
        state: &mut ShellState,
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
}
