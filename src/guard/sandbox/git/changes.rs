//! Collects the files that a git command would change, by asking git for their names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::arguments::GitArguments;
use super::question::GitQuestion;
use base::file;

/// Limit for a list of steps or one of git's own refs.
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
    /// `None` if nothing changes because the command is read-only.
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

    /// The checked-out commit; before the first commit, the empty tree.
    pub fn head(&self) -> String {
        self.git.commit("HEAD").unwrap_or_else(|| self.empty_tree())
    }

    pub fn empty_tree(&self) -> String {
        self.git.line(&["hash-object", "-t", "tree", "--stdin"]).unwrap_or_default()
    }

    /// What differs between a commit's tree and the work tree or index, in `paths` or everywhere.
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

    /// Everything that these commits change; `revisions` as for `git log`.
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

    /// Tracked files; with `--others` among the options, untracked ones.
    pub fn listed(&mut self, options: &[&str], paths: &[&str]) -> Option<()> {
        let names =
            self.git.names(&[&["ls-files", "-z", "--full-name"], options, &["--"], paths].concat())?;
        self.found.extend(names);
        Some(())
    }

    /// A file in which git stores the state of a command in progress.
    pub fn state(&self, name: &str) -> Option<String> {
        file::small_text(&self.git_folder()?.join(name), MAX_STATE_BYTES)
    }

    pub fn git_folder(&self) -> Option<PathBuf> {
        self.git.line(&["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
    }

    /// The path from the top to the command's folder.
    pub fn prefix(&self) -> String {
        self.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default()
    }

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

pub fn patch(on: &mut GitChanges<'_>) -> Option<()> {
    let is_apply = on.args.sub == "apply";
    let looks = on.args.has("--check --stat --numstat --summary") && !on.args.has("--apply");
    on.only_if(!match is_apply {
        true => looks || on.args.has("--cached"),
        false => on.args.has("--quit --show-current-patch"),
    })?;
    const STEERING: &str = "-R --reverse --3way -3 --index --unidiff-zero --recount --unsafe-paths -p --directory= --include= --exclude=";
    let steers = |arg: &&str| *arg != "-p" && STEERING.split(' ').any(|name| arg.starts_with(name));
    let mut args: Vec<&str> = on.args.rest.iter().map(String::as_str).filter(steers).collect();
    args.retain(|_| is_apply);
    args.push("--");
    args.extend(on.args.named());
    patched(on, &args)
}

/// Adds the names in patches; a rename lists both after an empty one.
pub fn patched(on: &mut GitChanges<'_>, args: &[&str]) -> Option<()> {
    let bytes = on.git.ask_with(&[&["apply", "--numstat", "-z"], args].concat(), on.input)?;
    let text = String::from_utf8_lossy(&bytes);
    let names = text.split('\0').filter_map(|record| record.splitn(3, '\t').last());
    on.found.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
    Some(())
}

pub fn remove(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(!on.args.has("--cached -n --dry-run"))?;
    on.listed(&[], &on.args.named())
}

pub fn rename(on: &mut GitChanges<'_>) -> Option<()> {
    let mut words = on.args.named();
    let target = words.pop()?.trim_end_matches('/').trim_start_matches("./");
    let target = format!("{}{target}", on.prefix());
    on.listed(&[], &words)?;
    for source in words {
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        on.found.insert(format!("{target}/{name}"));
    }
    on.found.insert(target);
    Some(())
}

pub fn clean(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(!on.args.has("-n --dry-run"))?;
    let rest: Vec<&str> = on.args.rest.iter().map(String::as_str).collect();
    let (options, paths) = rest.split_at(rest.iter().position(|arg| *arg == "--").unwrap_or(rest.len()));
    // The last of contradicting options wins.
    let harmless = ["--dry-run", "--no-quiet", "--no-interactive"];
    let text = on.git.ask(&[&["clean"], options, &harmless, paths].concat())?;
    let prefix = on.prefix();
    let text = String::from_utf8_lossy(&text);
    let names = text.lines().filter_map(|line| line.strip_prefix("Would remove "));
    on.found.extend(names.map(|name| format!("{prefix}{}", name.trim_matches('"'))));
    Some(())
}

pub fn read_tree(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(on.args.has("-u --reset"))?;
    for word in on.args.words() {
        let tree = on.git.object(word, "tree")?;
        on.against(&tree, &[])?;
    }
    Some(())
}

/// Removes files in folders that aren't named, and restores those removed earlier.
pub fn sparse(on: &mut GitChanges<'_>) -> Option<()> {
    let words = on.args.words();
    let (all, kept) = match words.split_first() {
        Some((&("set" | "add" | "init" | "reapply"), kept)) => (false, kept),
        Some((&"disable", _)) => (true, &[][..]),
        _ => return None,
    };
    let is_plain = !on.args.has("--no-cone --stdin");
    let inside = |name: &str| {
        !name.contains('/')
            || kept.iter().any(|folder| name.starts_with(&format!("{}/", folder.trim_matches('/'))))
    };
    let lines = on.git.names(&["ls-files", "-t", "-z", "--full-name", ":/"])?;
    let entries = lines.iter().filter_map(|line| line.split_once(' '));
    let changed = entries.filter(|(kind, name)| *kind == "S" || !(all || is_plain && inside(name)));
    on.found.extend(changed.map(|(_, name)| name.to_owned()));
    Some(())
}
