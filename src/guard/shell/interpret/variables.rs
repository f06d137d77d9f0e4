//! What is known at one point of a script: variables and folders, and what builtins do to them. Where branches join,
//! only what both know remains.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::call::{Arg, Call};
use super::wrappers::assigned;
use base::path;

const MAX_FOLDERS: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub struct ShellState {
    /// `None` if assigned but unknown. A missing name has its value from the environment.
    vars: BTreeMap<String, Option<Arg>>,
    all_open: bool,
    functions: BTreeSet<String>,
    pub folders: Vec<PathBuf>,
    /// The folders if the last `cd` failed.
    before_cd: Vec<PathBuf>,
}

impl ShellState {
    pub fn new(folder: &Path, home: Option<&Path>) -> Self {
        let home = home.map(|home| ("HOME".to_owned(), Some(Arg::known(home.to_string_lossy()))));
        Self {
            vars: home.into_iter().collect(),
            all_open: false,
            functions: BTreeSet::new(),
            folders: vec![path::follow(folder)],
            before_cd: Vec::new(),
        }
    }

    pub fn get(&self, name: &str) -> Option<Arg> {
        if name == "PWD" && !self.vars.contains_key(name) {
            return match self.folders.as_slice() {
                [one] => Some(Arg::known(one.to_string_lossy())),
                _ => None,
            };
        }
        if self.all_open { None } else { self.vars.get(name).cloned().flatten() }
    }

    pub fn set(&mut self, name: &str, value: Option<Arg>) {
        self.vars.insert(name.to_owned(), value);
    }

    /// A partly known value is kept only if it is an address, because there the host is what matters.
    pub fn assign(&mut self, name: &str, value: &Arg) {
        let is_address = value.text.starts_with("http") && !value.text.contains([' ', '\t', '\n']);
        let known = value.open_at.is_none_or(|at| at > 0 && is_address && value.glob_at.is_none());
        self.set(name, known.then(|| value.clone()));
    }

    pub fn forget_variables(&mut self) {
        self.all_open = true;
    }

    pub fn forget(&mut self) {
        self.forget_variables();
        self.folders.clear();
    }

    pub fn set_parameters(&mut self, args: &[Arg]) {
        self.vars.retain(|name, _| !name.starts_with(|c: char| c.is_ascii_digit()));
        // An unknown one may be several.
        for (at, arg) in args.iter().enumerate().take_while(|(_, arg)| arg.open_at.is_none()) {
            self.set(&(at + 1).to_string(), Some(arg.clone()));
        }
    }

    pub fn define(&mut self, function: &str) {
        self.functions.insert(function.to_owned());
    }

    pub fn defines(&self, function: &str) -> bool {
        self.functions.contains(function)
    }

    pub fn enter(&mut self, target: &Arg) {
        let before = std::mem::take(&mut self.folders);
        if let Some(text) = target.certain().filter(|text| *text != "-") {
            for to in before.iter().map(|from| from.join(text)) {
                // The shell resolves `..` by text, programs on disk.
                add(&mut self.folders, &[path::follow(&path::normalize(&to)), path::follow(&to)]);
            }
        }
        add(&mut self.before_cd, &before);
        self.bound();
    }

    /// From here on, the last `cd` may have failed.
    pub fn doubt_cd(&mut self) {
        let before = std::mem::take(&mut self.before_cd);
        if !self.folders.is_empty() {
            add(&mut self.folders, &before);
            self.bound();
        }
    }

    fn bound(&mut self) {
        if self.folders.len() > MAX_FOLDERS {
            self.folders.clear();
        }
    }

    pub fn meet(&mut self, other: &Self) {
        self.all_open |= other.all_open;
        self.functions.retain(|name| other.functions.contains(name));
        let names: Vec<String> = self.vars.keys().chain(other.vars.keys()).cloned().collect();
        for name in names {
            if self.vars.get(&name) != other.vars.get(&name) {
                self.vars.insert(name, None);
            }
        }
        add(&mut self.before_cd, &other.before_cd);
        match self.folders.is_empty() || other.folders.is_empty() {
            true => self.folders.clear(),
            false => add(&mut self.folders, &other.folders),
        }
        self.bound();
    }
}

fn add(folders: &mut Vec<PathBuf>, more: &[PathBuf]) {
    for folder in more {
        if !folders.contains(folder) {
            folders.push(folder.clone());
        }
    }
}

/// Applies a builtin to `state`; `feed` are the names on its input. Returns the words that it evaluates.
pub fn run_builtin(call: &Call, state: &mut ShellState, feed: Option<&[Arg]>) -> Vec<Arg> {
    let mut argv = call.argv.as_slice();
    // `command` and `builtin` only change which program is meant.
    while let [first, rest @ ..] = argv
        && matches!(first.text.as_str(), "command" | "builtin")
        && !rest.is_empty()
    {
        argv = &rest[usize::from(matches!(rest[0].text.as_str(), "-p" | "--"))..];
    }
    let Some((name, args)) = argv.split_first() else { return Vec::new() };
    let operands = || args.iter().filter(|arg| !arg.text.starts_with('-') || arg.text == "-");
    match name.text.as_str() {
        "cd" | "pushd" => match operands().next() {
            Some(folder) if args.iter().all(|arg| !arg.front_is_open()) => state.enter(folder),
            None if name.text == "cd" && args.is_empty() => match state.get("HOME") {
                Some(home) => state.enter(&home),
                None => state.folders.clear(),
            },
            _ => state.folders.clear(),
        },
        "popd" => state.folders.clear(),
        "export" | "declare" | "local" | "readonly" | "typeset" => {
            for (name, value) in &call.assignments {
                state.assign(name, value);
            }
            for (name, value) in args.iter().filter_map(assigned) {
                state.set(&name, value.certain().map(Arg::known));
            }
            // `declare -n` makes a name refer to another one, `-i` evaluates text as arithmetic.
            if args.iter().any(|arg| arg.text.starts_with('-') && arg.text.contains(['n', 'i'])) {
                state.forget_variables();
            }
            return args.to_vec();
        }
        builtin @ ("read" | "mapfile" | "readarray" | "getopts" | "unset") => {
            let one = feed.filter(|feed| {
                builtin == "read" && feed.len() == 1 && operands().count() == 1 && call.files.is_empty()
            });
            for arg in operands() {
                match arg.certain() {
                    Some(name) => {
                        state.set(name, one.map(|feed| feed[0].clone()));
                        if builtin == "unset" {
                            state.functions.remove(name);
                        }
                    }
                    None => state.forget_variables(),
                }
            }
            return operands().filter(|arg| arg.certain().is_some()).cloned().collect();
        }
        "let" => {
            state.forget_variables();
            return args.to_vec();
        }
        "printf" if args.first().is_some_and(|arg| arg.text.starts_with("-v")) => {
            state.forget_variables();
            return args.to_vec();
        }
        "source" | "." => state.forget(),
        _ => {}
    }
    Vec::new()
}
