//! What is known at one point of a script: variables and folders. Where branches join, only what both know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::call::Arg;
use base::path;

const MAX_FOLDERS: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub struct ShellState {
    /// `None`: assigned, but unknown. A missing name has its value from the environment.
    vars: BTreeMap<String, Option<Arg>>,
    all_open: bool,
    functions: BTreeSet<String>,
    /// Empty if unknown.
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

    pub fn undefine(&mut self, function: &str) {
        self.functions.remove(function);
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
