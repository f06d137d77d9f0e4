//! What is known at one point of a script: variables and the folder. Two ways that meet know only what both know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::call::Arg;
use crate::base::path;

/// Folders in which a script may find itself after several `cd`.
const MAX_FOLDERS: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub struct ShellState {
    /// `None`: assigned, but to what is not known. A name that is missing has the value of the environment.
    vars: BTreeMap<String, Option<Arg>>,
    /// Nothing is known of variables any more.
    all_open: bool,
    /// Functions that are certainly defined.
    functions: BTreeSet<String>,
    /// Empty when it is not known.
    pub folders: Vec<PathBuf>,
}

impl ShellState {
    /// A shell that starts in `folder`.
    pub fn new(folder: &Path, home: Option<&Path>) -> Self {
        let mut vars = BTreeMap::new();
        if let Some(home) = home {
            vars.insert("HOME".to_owned(), Some(Arg::known(home.to_string_lossy())));
        }
        Self { vars, all_open: false, functions: BTreeSet::new(), folders: vec![path::follow(folder)] }
    }

    /// The value of a variable, when it is certain.
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

    /// Positional parameters are those of a function from now on.
    pub fn forget_parameters(&mut self) {
        self.vars.retain(|name, _| !name.starts_with(|c: char| c.is_ascii_digit()));
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

    /// After a `cd` that succeeded.
    pub fn enter(&mut self, target: &Arg) {
        let Some(text) = target.certain().filter(|text| *text != "-") else {
            self.folders.clear();
            return;
        };
        let mut new: Vec<PathBuf> = Vec::new();
        for from in &self.folders {
            let to = from.join(text);
            // The shell takes `..` by text, programs by the disk.
            for one in [path::follow(&path::normalize(&to)), path::follow(&to)] {
                if !new.contains(&one) {
                    new.push(one);
                }
            }
        }
        self.folders = if new.len() > MAX_FOLDERS { Vec::new() } else { new };
    }

    /// What is known where this way and the other meet.
    pub fn meet(&mut self, other: &Self) {
        self.all_open |= other.all_open;
        self.functions.retain(|name| other.functions.contains(name));
        let names: Vec<String> = self.vars.keys().chain(other.vars.keys()).cloned().collect();
        for name in names {
            if self.vars.get(&name) != other.vars.get(&name) {
                self.vars.insert(name, None);
            }
        }
        if self.folders.is_empty() || other.folders.is_empty() {
            self.folders.clear();
            return;
        }
        for folder in &other.folders {
            if !self.folders.contains(folder) {
                self.folders.push(folder.clone());
            }
        }
        if self.folders.len() > MAX_FOLDERS {
            self.folders.clear();
        }
    }
}
