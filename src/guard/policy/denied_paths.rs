//! Files that `--deny` rules protect from every tool and command (hidden if reading is denied, read-only if only writing
//! is), and programs that no command may start.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::command::AssessedCall;
use super::programs::assessment::{Effect, Risk};
use super::tool_rule::ToolRule;
use crate::sandbox::git::arguments::GitArguments;
use crate::sandbox::git::contents;
use crate::sandbox::rule_pattern::{WILDCARDS, base, in_words, is_name};
use crate::sandbox::spec::{Masks, RawPath};
use crate::shell::interpret::call::Call;
use base::path;
use base::search::glob;
use base::search::walk::Walk;

/// Programs that only look at file names.
const NAMES_ONLY: [&str; 11] =
    ["ls", "stat", "test", "[", "cd", "mkdir", "find", "du", "tree", "echo", "basename"];

#[derive(Clone, Debug, Default)]
pub struct DeniedPaths {
    workspace: PathBuf,
    reads: Vec<ToolRule>,
    writes: Vec<ToolRule>,
    programs: Vec<String>,
}

impl DeniedPaths {
    pub fn of(rules: &[ToolRule], workspace: &Path) -> Self {
        let of = |tools: &[&str]| -> Vec<ToolRule> {
            let named = rules.iter().filter(|rule| tools.iter().any(|tool| rule.names(tool)));
            named.filter(|rule| rule.pattern.is_some()).cloned().collect()
        };
        let (reads, writes) = (of(&["Read"]), of(&["Edit", "Write", "MultiEdit"]));
        let whole = of(&["Bash"]).into_iter().filter(|rule| rule.except.is_empty());
        let programs = whole.filter_map(|rule| Some(in_words(&rule.pattern?))).collect();
        Self { workspace: workspace.to_owned(), reads, writes, programs }
    }

    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.programs.is_empty()
    }

    /// Whether it has rules about files, but no such files exist.
    pub fn lacks_files(&self) -> bool {
        let Masks { hidden, read_only, .. } = self.masks();
        let is_about_files = !self.reads.is_empty() || !self.writes.is_empty();
        is_about_files && !hidden.iter().chain(&read_only).any(|path| path.exists())
    }

    pub fn hides(&self, path: &Path) -> bool {
        self.reads.iter().any(|rule| rule.is_about_path(path, &self.workspace))
    }

    /// What the sandbox hides or protects: existing files, and the locations of whole folders.
    pub fn masks(&self) -> Masks {
        let places =
            |rules: &[ToolRule]| rules.iter().flat_map(|rule| self.places(rule)).map(RawPath).collect();
        Masks {
            hidden: places(&self.reads),
            read_only: places(&self.writes),
            user_namespace: false,
            workspace: self.workspace.clone().into(),
            unread: self.reads.iter().filter_map(|rule| rule.pattern.clone()).collect(),
            programs: self.programs.clone(),
        }
    }

    fn places(&self, rule: &ToolRule) -> Vec<PathBuf> {
        let pattern = rule.pattern.as_deref().unwrap_or_default();
        let base = path::on_disk(&base(pattern, &self.workspace));
        let whole = pattern.trim_end_matches("**").trim_end_matches('/');
        let is_plain = !whole.contains(WILDCARDS);
        let name = Some(OsStr::new(whole)).filter(|_| is_plain && is_name(pattern));
        if is_plain && name.is_none() {
            return vec![base];
        }
        let root = if name.is_some() { &self.workspace } else { &base };
        let walk = Walk { hidden: true, ignored: true, ..Walk::new(root) };
        let all = walk.sorted().map(|entry| entry.path().to_owned());
        let fits = |path: &PathBuf| {
            name.is_none_or(|name| path.file_name() == Some(name))
                && rule.is_about_path(path, &self.workspace)
        };
        let mut found: Vec<PathBuf> = Vec::new();
        // A name that isn't there yet must not appear in the workspace.
        for path in name.map(|_| base.clone()).into_iter().chain(all.filter(fits)) {
            // What a folder holds is covered with it.
            if !found.iter().any(|folder| path.starts_with(folder)) {
                found.push(path);
            }
        }
        found
    }
}

fn of_git(call: &Call) -> Option<GitArguments> {
    GitArguments::read(&call.args().iter().map(|arg| arg.text.clone()).collect::<Vec<_>>())
}

/// Whether a command's call reads or writes a file of the rule's pattern, as far as its words tell.
pub fn touches(rule: &ToolRule, reads: bool, call: &AssessedCall, workspace: &Path) -> bool {
    let pattern = rule.pattern.as_deref().unwrap_or_default();
    let base = base(pattern, workspace);
    let own = [workspace.to_owned()];
    let folders = if call.call.folders.is_empty() { &own[..] } else { &call.call.folders };
    let expands_to = |word: &str| {
        let in_folder = word.rsplit_once('/').map_or("", |(folder, _)| folder);
        let Ok(matcher) = glob::matcher(word, false) else { return false };
        folders.iter().any(|folder| {
            let entries = std::fs::read_dir(folder.join(in_folder)).into_iter().flatten().flatten();
            let names = entries.map(|entry| Path::new(in_folder).join(entry.file_name()));
            names
                .filter(|name| matcher.is_match(name))
                .any(|name| rule.is_about_path(&folder.join(name), workspace))
        })
    };
    // Use the text before the first wildcard.
    let hits = |text: &str, may_be_more: bool, whole_trees: bool| {
        if may_be_more && expands_to(text) {
            return true;
        }
        let text = text.split(['*', '?', '[']).next().unwrap_or_default();
        folders.iter().any(|folder| {
            let named = path::resolve(folder, if text.is_empty() { "." } else { text }).canonical;
            rule.is_about_path(&named, workspace)
                || ((may_be_more || whole_trees) && base.starts_with(&named) && named.starts_with(workspace))
        })
    };
    let writes = call.call.files.iter().filter(|file| file.writes != reads);
    if writes.into_iter().any(|file| hits(&file.target.text, file.target.glob_at.is_some(), false)) {
        return true;
    }
    let name = call.call.name();
    if reads {
        let of_words = call.call.args().iter().any(|arg| {
            let may_be_more = arg.glob_at.is_some();
            // `git show HEAD:conf/key`
            let inner = arg.text.split_once(':').filter(|_| name == "git").map(|(_, path)| path);
            hits(&arg.text, may_be_more, false)
                || inner.is_some_and(|path| !path.is_empty() && hits(path, false, false))
        });
        return of_words && !NAMES_ONLY.contains(&name)
            || name == "git"
                && of_git(&call.call).is_some_and(|git| contents::shows(pattern, &git, workspace));
    }
    if call.assessment.risk == Risk::Reads {
        return false;
    }
    let written = call.assessment.effects.iter().filter_map(|effect| match effect {
        Effect::Write(what) => Some(what.as_str()),
        _ => None,
    });
    let written: Vec<&str> = written.collect();
    if !written.is_empty() {
        return written.iter().any(|what| hits(what, what.contains('*'), true));
    }
    call.call.args().iter().any(|arg| {
        let value = arg.text.split_once('=').map_or(arg.text.as_str(), |(_, value)| value);
        !arg.text.starts_with('-')
            && (hits(&arg.text, arg.glob_at.is_some(), false) || hits(value, false, false))
    })
}
