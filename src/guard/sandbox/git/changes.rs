//! Collects the files that a git command would change, by asking git for names.

use std::collections::BTreeSet;
use std::path::Path;

use super::arguments::GitArguments;
use super::question::GitQuestion;

pub struct Changes<'a> {
    pub git: &'a GitQuestion,
    pub args: &'a GitArguments,
    pub input: &'a [u8],
    /// Relative to the top of the work tree.
    pub found: BTreeSet<String>,
    /// Files whose time differs from the index; their content may be the same.
    pub touched: BTreeSet<String>,
}

impl Changes<'_> {
    pub fn add(&mut self, names: Vec<String>) {
        self.found.extend(names);
    }

    pub fn between(&self, one: &str, other: &str) -> Option<Vec<String>> {
        self.git.names(&["diff-tree", "-r", "--name-only", "-z", "--no-renames", one, other, "--"])
    }

    pub fn switch_to(&mut self, commit: &str) -> Option<()> {
        let head = self.head();
        let names = self.between(&head, commit)?;
        self.add(names);
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
        for cached in [true, false] {
            let mut args = vec!["diff-index", "--name-only", "-z", "--no-renames", "--ignore-submodules=all"];
            args.extend(cached.then_some("--cached"));
            args.extend([commit, "--"]);
            args.extend(paths);
            let names = self.git.names(&args)?;
            if cached { &mut self.found } else { &mut self.touched }.extend(names);
        }
        Some(())
    }

    pub fn index(&mut self, paths: &[&str]) -> Option<()> {
        let mut args =
            vec!["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", "--"];
        args.extend(paths);
        let names = self.git.names(&args)?;
        self.touched.extend(names);
        Some(())
    }

    /// Everything that the commits themselves change; `revisions` as for `git log`.
    pub fn commits(&mut self, revisions: &[&str], walk: bool) -> Option<()> {
        let mut args =
            vec!["log", "--format=", "--name-only", "-z", "--no-renames", "--diff-merges=separate"];
        args.extend((!walk).then_some("--no-walk"));
        args.push("--end-of-options");
        args.extend(revisions);
        args.push("--");
        let names = self.git.names(&args)?;
        self.add(names);
        Some(())
    }

    pub fn bases(&self, commit: &str) -> Vec<String> {
        let text = self.git.line(&["merge-base", "--all", "HEAD", commit]).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn untracked(&mut self, options: &[&str], paths: &[&str]) -> Option<()> {
        let mut args = vec!["ls-files", "--others", "-z", "--full-name"];
        args.extend(options);
        args.push("--");
        args.extend(paths);
        let names = self.git.names(&args)?;
        self.add(names);
        Some(())
    }

    pub fn tracked(&self, paths: &[&str]) -> Option<Vec<String>> {
        let mut args = vec!["ls-files", "-z", "--full-name", "--"];
        args.extend(paths);
        self.git.names(&args)
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
