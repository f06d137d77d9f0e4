//! Collects the files that a git command would change, by asking git for names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::arguments::GitArguments;
use super::question::GitQuestion;
use base::file;

/// A list of steps, or one of git's own refs, in bytes.
const MAX_STATE_BYTES: u64 = 4 * 1024 * 1024;

pub struct GitChanges<'a> {
    pub git: &'a GitQuestion,
    pub args: &'a GitArguments,
    pub input: &'a [u8],
    /// Relative to the top of the work tree.
    pub found: BTreeSet<String>,
    /// Files whose time differs from the index; their content may be the same.
    pub touched: BTreeSet<String>,
}

impl GitChanges<'_> {
    /// `None` if nothing changes, because the command only looks.
    pub fn only_if(&self, changes: bool) -> Option<()> {
        changes.then_some(())
    }

    fn diff(&self, command: &str, options: &[&str], paths: &[&str]) -> Option<Vec<String>> {
        let names = ["--name-only", "-z", "--no-renames"];
        self.git.names(&[&[command], &names[..], options, &["--"], paths].concat())
    }

    pub fn between(&self, one: &str, other: &str) -> Option<Vec<String>> {
        self.diff("diff-tree", &["-r", one, other], &[])
    }

    pub fn switch_to(&mut self, commit: &str) -> Option<()> {
        let names = self.between(&self.head(), commit)?;
        self.found.extend(names);
        Some(())
    }

    /// The commit that is checked out; before the first commit, the empty tree.
    pub fn head(&self) -> String {
        self.git.commit("HEAD").unwrap_or_else(|| self.empty_tree())
    }

    pub fn empty_tree(&self) -> String {
        self.git.line(&["hash-object", "-t", "tree", "--stdin"]).unwrap_or_default()
    }

    /// What differs between a commit's tree and the work tree or the index, in `paths` or everywhere.
    pub fn against(&mut self, commit: &str, paths: &[&str]) -> Option<()> {
        let cached = self.diff("diff-index", &["--ignore-submodules=all", "--cached", commit], paths)?;
        self.found.extend(cached);
        let touched = self.diff("diff-index", &["--ignore-submodules=all", commit], paths)?;
        self.touched.extend(touched);
        Some(())
    }

    pub fn index(&mut self, paths: &[&str]) -> Option<()> {
        let touched = self.diff("diff-files", &["--ignore-submodules=all"], paths)?;
        self.touched.extend(touched);
        Some(())
    }

    /// Everything that the commits themselves change; `revisions` as for `git log`.
    pub fn commits(&mut self, revisions: &[impl AsRef<str>], walk: bool) -> Option<()> {
        if revisions.is_empty() {
            return Some(());
        }
        let revisions: Vec<&str> = revisions.iter().map(AsRef::as_ref).collect();
        let walk = if walk { "--do-walk" } else { "--no-walk" };
        let options = ["--format=", "--diff-merges=separate", walk, "--end-of-options"];
        let names = self.diff("log", &[&options[..], &revisions].concat(), &[])?;
        self.found.extend(names);
        Some(())
    }

    pub fn bases(&self, commit: &str) -> Vec<String> {
        let text = self.git.line(&["merge-base", "--all", "HEAD", commit]).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Tracked files, or with `--others` among the options those that aren't.
    pub fn listed(&mut self, options: &[&str], paths: &[&str]) -> Option<()> {
        let names =
            self.git.names(&[&["ls-files", "-z", "--full-name"], options, &["--"], paths].concat())?;
        self.found.extend(names);
        Some(())
    }

    /// What git noted of a command in progress.
    pub fn state(&self, name: &str) -> Option<String> {
        file::small_text(&self.git_folder()?.join(name), MAX_STATE_BYTES)
    }

    pub fn git_folder(&self) -> Option<PathBuf> {
        self.git.line(&["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
    }

    /// From the top to the command's folder.
    pub fn prefix(&self) -> String {
        self.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default()
    }

    /// Whether a touched file still has the content in the index.
    pub fn is_same(&self, top: &Path, name: &str) -> bool {
        let Some(listed) = self.git.line(&["ls-files", "--stage", "--full-name", "--", &format!(":/{name}")])
        else {
            return false;
        };
        let path = top.join(name);
        let Some(path) = path.to_str() else { return false };
        let now = self.git.line(&["hash-object", "--no-filters", "--", path]);
        now.is_some_and(|now| listed.contains(&now))
    }
}
