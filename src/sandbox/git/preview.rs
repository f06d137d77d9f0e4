//! Which files of the work tree a command of git would change, found out beforehand: all that it could, where it goes through
//! several commits. Git would otherwise stop half way at a file that it may not write, or go on and leave its old text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::arguments::GitArguments;
use super::guarded::GuardedPaths;
use super::question::GitQuestion;
use crate::base::file;

/// A list of steps, or a name that git keeps for itself, is not larger, in bytes.
const MAX_STATE_BYTES: u64 = 4 * 1024 * 1024;
/// Steps that are looked at one by one.
const MAX_STEPS: usize = 2_000;

/// The sub-commands that change the work tree.
pub const CHANGING: &[&str] = &[
    "switch",
    "checkout",
    "restore",
    "reset",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "stash",
    "am",
    "apply",
    "bisect",
    "rm",
    "mv",
    "clean",
    "read-tree",
    "checkout-index",
    "sparse-checkout",
];

/// The guarded paths that the command would change; `None` when that cannot be known, such as where git itself refuses.
pub fn guarded_changes(
    git: &GitQuestion,
    args: &GitArguments,
    guarded: &GuardedPaths,
    input: &[u8],
) -> Option<Vec<PathBuf>> {
    if !CHANGING.contains(&args.sub.as_str()) {
        return Some(Vec::new());
    }
    let top = PathBuf::from(git.line(&["rev-parse", "--show-toplevel"])?);
    let mut preview = Preview { git, args, input, found: BTreeSet::new(), touched: BTreeSet::new() };
    preview.look()?;
    let held = |name: &String| guarded.hold(&top.join(name.trim_end_matches('/')));
    let really = |name: &String| held(name) && !preview.is_same(&top, name);
    let touched: BTreeSet<&String> = preview.touched.iter().filter(|name| really(name)).collect();
    let found = preview.found.iter().filter(|name| held(name)).chain(touched).collect::<BTreeSet<_>>();
    let mut paths: Vec<PathBuf> =
        found.into_iter().map(|name| top.join(name.trim_end_matches('/'))).collect();
    // A folder that goes takes with it what is guarded in it.
    let folders = preview
        .found
        .iter()
        .filter(|name| name.ends_with('/'))
        .map(|name| top.join(name.trim_end_matches('/')));
    for folder in folders {
        let inside = guarded.protected.iter().map(|path| &path.0);
        paths.extend(inside.filter(|path| path.starts_with(&folder) && path.exists()).cloned());
    }
    Some(paths)
}

struct Preview<'a> {
    git: &'a GitQuestion,
    args: &'a GitArguments,
    /// What the command finds on its standard input.
    input: &'a [u8],
    /// Relative to the top of the work tree.
    found: BTreeSet<String>,
    /// Files whose time differs from what git remembers; their content may be the same.
    touched: BTreeSet<String>,
}

impl Preview<'_> {
    fn look(&mut self) -> Option<()> {
        let resumes = self.args.has(&["--continue", "--skip", "--abort", "--resolved"]);
        match self.args.sub.as_str() {
            "switch" | "checkout" => self.checkout(),
            "restore" => self.restore(),
            "reset" => self.reset(),
            "merge" | "rebase" | "cherry-pick" | "revert" | "am" if resumes => self.resume(),
            "merge" => self.merge(),
            "rebase" => self.rebase(),
            "cherry-pick" | "revert" => self.pick(),
            "stash" => self.stash(),
            "am" | "apply" => self.patch(),
            "bisect" => self.bisect(),
            "rm" => self.remove(),
            "mv" => self.rename(),
            "clean" => self.clean(),
            "read-tree" => self.read_tree(),
            "checkout-index" => self.index(&[]),
            "sparse-checkout" => self.sparse(),
            _ => None,
        }
    }

    fn add(&mut self, names: Vec<String>) {
        self.found.extend(names);
    }

    /// What differs between two trees.
    fn between(&self, one: &str, other: &str) -> Option<Vec<String>> {
        self.git.names(&["diff-tree", "-r", "--name-only", "-z", "--no-renames", one, other, "--"])
    }

    fn switch_to(&mut self, commit: &str) -> Option<()> {
        let head = self.head();
        let names = self.between(&head, commit)?;
        self.add(names);
        Some(())
    }

    /// The commit that is checked out; before the first one the tree without files.
    fn head(&self) -> String {
        self.git.commit("HEAD").unwrap_or_else(|| self.empty_tree())
    }

    fn empty_tree(&self) -> String {
        self.git.line(&["hash-object", "-t", "tree", "--stdin"]).unwrap_or_default()
    }

    /// What a commit's tree and the work tree or the index have different, in `paths` or everywhere.
    fn against(&mut self, commit: &str, paths: &[&str]) -> Option<()> {
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

    /// What the index and the work tree have different.
    fn index(&mut self, paths: &[&str]) -> Option<()> {
        let mut args =
            vec!["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", "--"];
        args.extend(paths);
        let names = self.git.names(&args)?;
        self.touched.extend(names);
        Some(())
    }

    /// All that the commits themselves change; `revisions` as `git log` takes them.
    fn commits(&mut self, revisions: &[&str], walk: bool) -> Option<()> {
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

    fn bases(&self, commit: &str) -> Vec<String> {
        let text = self.git.line(&["merge-base", "--all", "HEAD", commit]).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn checkout(&mut self) -> Option<()> {
        let words = self.args.words();
        let force =
            self.args.has(&["-f", "--force", "--discard-changes"]) || self.args.has(&["-m", "--merge"]);
        let is_switch = self.args.sub == "switch";
        if is_switch && self.args.has(&["--orphan"]) {
            let empty = self.empty_tree();
            return self.switch_to(&empty);
        }
        let first = words.first().copied();
        let commit = first.and_then(|word| self.git.commit(word)).or_else(|| {
            // A branch of a remote becomes one of the same name here.
            let pattern = format!("refs/remotes/*/{}", first?);
            let found = self.git.line(&["for-each-ref", "--format=%(objectname)", &pattern])?;
            found.lines().next().map(str::to_owned)
        });
        let mut paths: Vec<&str> = self.args.paths().unwrap_or_default().iter().map(String::as_str).collect();
        paths.extend(words.iter().skip(usize::from(commit.is_some())));
        match commit {
            Some(commit) if paths.is_empty() => {
                self.switch_to(&commit)?;
                if force { self.against(&commit, &[]) } else { Some(()) }
            }
            Some(commit) => {
                self.against(&commit, &paths)?;
                // A word may name a branch and a file.
                paths.extend(first);
                self.index(&paths)
            }
            None if !paths.is_empty() => self.index(&paths),
            None if force => self.against("HEAD", &[]),
            None => Some(()),
        }
    }

    fn restore(&mut self) -> Option<()> {
        let staged = self.args.has(&["-S", "--staged"]);
        if staged && !self.args.has(&["-W", "--worktree"]) {
            return Some(());
        }
        let words = self.args.words();
        let behind = self.args.paths().unwrap_or_default().iter().map(String::as_str);
        let paths: Vec<&str> = words.into_iter().chain(behind).collect();
        let source = self.args.value(&["--source", "-s"]).or(staged.then_some("HEAD"));
        match source {
            Some(source) => {
                let commit = self.git.commit(source)?;
                self.against(&commit, &paths)
            }
            None => self.index(&paths),
        }
    }

    fn reset(&mut self) -> Option<()> {
        if !self.args.has(&["--hard", "--merge", "--keep"]) {
            return Some(());
        }
        let commit = self.git.commit(self.args.words().first().unwrap_or(&"HEAD"))?;
        self.switch_to(&commit)?;
        self.against(&commit, &[])
    }

    /// What git puts aside before and back afterwards.
    fn autostash(&mut self) -> Option<()> {
        let set =
            |key: &str| self.git.line(&["config", "--type=bool", "--get", key]).as_deref() == Some("true");
        if self.args.has(&["--autostash"]) || set("merge.autoStash") || set("rebase.autoStash") {
            let head = self.head();
            self.against(&head, &[])?;
        }
        Some(())
    }

    /// Of both sides' changes, those that the other side has and this one has not.
    fn merge(&mut self) -> Option<()> {
        let mut words = self.args.words();
        if words.is_empty() {
            words.push("@{upstream}");
        }
        self.autostash()?;
        for word in words {
            let commit = self.git.commit(word)?;
            let head = self.head();
            let differ: BTreeSet<String> = self.between(&head, &commit)?.into_iter().collect();
            let bases = self.bases(&commit);
            if !bases.contains(&head) || self.args.has(&["--no-ff"]) {
                // When a real merge fails, git resets the work tree and applies what was changed in it anew.
                self.against(&head, &[])?;
            }
            if bases.is_empty() || self.args.has(&["-s", "--strategy", "-X", "--strategy-option"]) {
                self.found.extend(differ);
                continue;
            }
            for base in bases {
                let changed = self.between(&base, &commit)?;
                self.add(changed.into_iter().filter(|name| differ.contains(name)).collect());
            }
        }
        Some(())
    }

    fn rebase(&mut self) -> Option<()> {
        if self.args.has(&["--quit", "--edit-todo", "--show-current-patch"]) {
            return Some(());
        }
        let words = self.args.words();
        let root = self.args.has(&["--root"]);
        let (upstream, tip) = match (root, &words[..]) {
            (true, words) => (None, words.first()),
            (false, words) => (Some(*words.first().unwrap_or(&"@{upstream}")), words.get(1)),
        };
        let tip = match tip {
            Some(word) => {
                let commit = self.git.commit(word)?;
                self.switch_to(&commit)?;
                commit
            }
            None => self.git.commit("HEAD")?,
        };
        self.autostash()?;
        let Some(upstream) = upstream else { return self.commits(&[&tip], true) };
        let upstream = self.git.commit(upstream)?;
        let onto = match self.args.value(&["--onto"]) {
            Some(word) => self.git.commit(word)?,
            None => upstream.clone(),
        };
        let plain = self.args.rest.iter().all(|arg| !arg.starts_with('-') || arg == "-q" || arg == "--quiet");
        let linear =
            || self.git.line(&["rev-list", "--merges", "--max-count=1", &format!("{onto}..{tip}")]).is_none();
        if plain && self.git.ask(&["merge-base", "--is-ancestor", &onto, &tip]).is_some() && linear() {
            // It lies there already.
            return Some(());
        }
        self.switch_to(&onto)?;
        self.commits(&[&tip, &format!("^{upstream}")], true)
    }

    fn pick(&mut self) -> Option<()> {
        if self.args.has(&["--quit"]) {
            return Some(());
        }
        let words = self.args.words();
        self.commits(&words, false)
    }

    /// A merge, a rebase or the like that stands in the middle.
    fn resume(&mut self) -> Option<()> {
        let folder = PathBuf::from(self.git.line(&["rev-parse", "--absolute-git-dir"])?);
        let text = |name: &str| file::small_text(&folder.join(name), MAX_STATE_BYTES);
        if !self.args.has(&["--continue", "--resolved"]) {
            let head = self.head();
            self.against(&head, &[])?;
        }
        if self.args.has(&["--abort"]) {
            for name in [
                "rebase-merge/orig-head",
                "rebase-apply/orig-head",
                "rebase-apply/abort-safety",
                "sequencer/head",
            ] {
                if let Some(commit) = text(name).and_then(|text| self.git.commit(text.trim())) {
                    self.switch_to(&commit)?;
                }
            }
            return Some(());
        }
        for name in ["rebase-merge/git-rebase-todo", "sequencer/todo"] {
            let text = text(name).unwrap_or_default();
            let words =
                text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split(' ').take(4));
            let is_id = |word: &&str| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            let steps: Vec<String> =
                words.filter(is_id).filter_map(|word| self.git.commit(word)).take(MAX_STEPS).collect();
            if !steps.is_empty() {
                self.commits(&steps.iter().map(String::as_str).collect::<Vec<_>>(), false)?;
            }
        }
        let patches = std::fs::read_dir(folder.join("rebase-apply")).into_iter().flatten().flatten();
        let is_patch = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
        };
        for path in patches.map(|entry| entry.path()).filter(is_patch).take(MAX_STEPS) {
            let names = self.git.names(&["apply", "--numstat", "-z", "--", path.to_str()?])?;
            self.add(of_numstat(names));
        }
        Some(())
    }

    fn stash(&mut self) -> Option<()> {
        let words = self.args.words();
        match words.first().copied() {
            Some("list" | "show" | "drop" | "clear" | "create" | "store") => Some(()),
            Some(sub @ ("pop" | "apply" | "branch")) => {
                let name = words.get(1 + usize::from(sub == "branch")).copied().unwrap_or("0");
                let name = if name.bytes().all(|byte| byte.is_ascii_digit()) {
                    format!("stash@{{{name}}}")
                } else {
                    name.to_owned()
                };
                let stash = self.git.commit(&name)?;
                let (base, index) = (format!("{stash}^1"), format!("{stash}^2"));
                for tree in [&stash, &index] {
                    let names = self.between(&base, tree)?;
                    self.add(names);
                }
                if let Some(others) = self.git.commit(&format!("{stash}^3")) {
                    let names =
                        self.git.names(&["ls-tree", "-r", "--name-only", "-z", "--full-tree", &others])?;
                    self.add(names);
                }
                if sub == "branch" { self.switch_to(&self.git.commit(&base)?) } else { Some(()) }
            }
            _ => {
                let mut paths: Vec<&str> =
                    self.args.paths().unwrap_or_default().iter().map(String::as_str).collect();
                paths.extend(words.iter().skip(1));
                let head = self.head();
                self.against(&head, &paths)?;
                if self.args.has(&["-u", "--include-untracked"]) {
                    self.untracked(&["--exclude-standard"], &paths)?;
                } else if self.args.has(&["-a", "--all"]) {
                    self.untracked(&[], &paths)?;
                }
                Some(())
            }
        }
    }

    fn untracked(&mut self, options: &[&str], paths: &[&str]) -> Option<()> {
        let mut args = vec!["ls-files", "--others", "-z", "--full-name"];
        args.extend(options);
        args.push("--");
        args.extend(paths);
        let names = self.git.names(&args)?;
        self.add(names);
        Some(())
    }

    fn patch(&mut self) -> Option<()> {
        let looks = ["--check", "--stat", "--numstat", "--summary"];
        if self.args.sub == "apply"
            && (self.args.has(&["--cached"]) || self.args.has(&looks) && !self.args.has(&["--apply"]))
        {
            return Some(());
        }
        if self.args.sub == "am" && self.args.has(&["--quit", "--show-current-patch"]) {
            return Some(());
        }
        let mut args = vec!["apply", "--numstat", "-z"];
        let options =
            ["-R", "--reverse", "--3way", "-3", "--index", "--unidiff-zero", "--recount", "--unsafe-paths"];
        let steers = |arg: &&str| {
            ["-p", "--directory", "--include", "--exclude"]
                .iter()
                .any(|name| arg.starts_with(name) && arg.len() > name.len())
        };
        if self.args.sub == "apply" {
            args.extend(
                self.args.rest.iter().map(String::as_str).filter(|arg| options.contains(arg) || steers(arg)),
            );
        }
        args.push("--");
        args.extend(self.args.words());
        args.extend(self.args.paths().unwrap_or_default().iter().map(String::as_str));
        let bytes = self.git.ask_with(&args, self.input)?;
        let names = bytes.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
        // Names in a patch start at the folder of the command.
        let front = self.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default();
        let names = of_numstat(names.collect()).into_iter().map(|name| format!("{front}{name}"));
        self.found.extend(names);
        Some(())
    }

    /// Between the good and the bad ones it may check out any.
    fn bisect(&mut self) -> Option<()> {
        let mut words = self.args.words().into_iter();
        let sub = words.next();
        if matches!(sub, None | Some("log" | "view" | "visualize" | "terms" | "help")) {
            return Some(());
        }
        let mut commits: Vec<String> = words.filter_map(|word| self.git.commit(word)).collect();
        let kept =
            self.git.line(&["for-each-ref", "--format=%(objectname)", "refs/bisect"]).unwrap_or_default();
        commits.extend(kept.lines().map(str::to_owned));
        let start = self.git.line(&["rev-parse", "--git-path", "BISECT_START"]).and_then(|path| {
            let folder = self.git.line(&["rev-parse", "--absolute-git-dir"])?;
            let path = if Path::new(&path).is_absolute() {
                PathBuf::from(path)
            } else {
                Path::new(&folder).join("BISECT_START")
            };
            self.git.commit(file::small_text(&path, MAX_STATE_BYTES)?.trim())
        });
        commits.extend(start);
        commits.push(self.git.commit("HEAD")?);
        commits.sort();
        commits.dedup();
        for commit in &commits {
            self.switch_to(commit)?;
        }
        if sub == Some("reset") || commits.len() < 2 {
            return Some(());
        }
        let mut args = vec!["merge-base", "--octopus"];
        args.extend(commits.iter().map(String::as_str));
        let base = self.git.line(&args).map(|base| format!("^{base}"));
        let revisions: Vec<&str> = commits.iter().chain(&base).map(String::as_str).collect();
        self.commits(&revisions, true)
    }

    fn tracked(&self, paths: &[&str]) -> Option<Vec<String>> {
        let mut args = vec!["ls-files", "-z", "--full-name", "--"];
        args.extend(paths);
        self.git.names(&args)
    }

    fn remove(&mut self) -> Option<()> {
        if self.args.has(&["--cached"]) || self.args.has(&["-n", "--dry-run"]) {
            return Some(());
        }
        let mut paths = self.args.words();
        paths.extend(self.args.paths().unwrap_or_default().iter().map(String::as_str));
        let names = self.tracked(&paths)?;
        self.add(names);
        Some(())
    }

    fn rename(&mut self) -> Option<()> {
        let mut words = self.args.words();
        words.extend(self.args.paths().unwrap_or_default().iter().map(String::as_str));
        let front = self.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default();
        let target = words.pop()?;
        let names = self.tracked(&words)?;
        self.add(names);
        let target = format!("{front}{}", target.trim_end_matches('/').trim_start_matches("./"));
        for source in words {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
            self.found.insert(format!("{target}/{name}"));
        }
        self.found.insert(target);
        Some(())
    }

    fn clean(&mut self) -> Option<()> {
        if self.args.has(&["-n", "--dry-run"]) {
            return Some(());
        }
        let mut args = vec!["clean", "-n"];
        args.extend(
            self.args
                .rest
                .iter()
                .map(String::as_str)
                .filter(|arg| !matches!(*arg, "-i" | "--interactive" | "-q" | "--quiet")),
        );
        let rest: Vec<String> = args
            .iter()
            .map(|arg| match arg.starts_with('-') && !arg.starts_with("--") {
                true => arg.replace(['q', 'i'], ""),
                false => (*arg).to_owned(),
            })
            .filter(|arg| arg != "-")
            .collect();
        let text = self.git.ask(&rest.iter().map(String::as_str).collect::<Vec<_>>())?;
        let front = self.git.line(&["rev-parse", "--show-prefix"]).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let names = text.lines().filter_map(|line| line.strip_prefix("Would remove "));
        self.found.extend(names.map(|name| format!("{front}{}", name.trim_matches('"'))));
        Some(())
    }

    fn read_tree(&mut self) -> Option<()> {
        if !self.args.has(&["-u"]) && !self.args.has(&["--reset"]) {
            return Some(());
        }
        for word in self.args.words() {
            let tree = self.git.line(&[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &format!("{word}^{{tree}}"),
            ])?;
            self.against(&tree, &[])?;
        }
        Some(())
    }

    /// It takes away what lies in other folders than those that are named, and brings back what was away.
    fn sparse(&mut self) -> Option<()> {
        let words = self.args.words();
        let kept: Vec<&str> = match words.split_first() {
            Some((&("set" | "add" | "init" | "reapply"), rest)) => rest.to_vec(),
            Some((&"disable", _)) => Vec::new(),
            _ => return Some(()),
        };
        let inside = |name: &str| {
            !name.contains('/')
                || kept.iter().any(|folder| name.starts_with(&format!("{}/", folder.trim_matches('/'))))
        };
        let is_plain = !self.args.has(&["--no-cone"]) && !self.args.has(&["--stdin"]);
        let names = self.git.names(&["ls-files", "-t", "-z", "--full-name", ":/"])?;
        let names = names.into_iter().filter_map(|line| {
            let (kind, name) = line.split_once(' ')?;
            let stays =
                kind != "S" && words.first() == Some(&"disable") || is_plain && inside(name) && kind != "S";
            (!stays).then(|| name.to_owned())
        });
        self.add(names.collect());
        Some(())
    }

    /// Whether a file that was touched has the content that the index knows.
    fn is_same(&self, top: &Path, name: &str) -> bool {
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

/// The names in what `git apply --numstat -z` prints: of a file that is renamed, both stand alone behind an empty one.
fn of_numstat(records: Vec<String>) -> Vec<String> {
    records
        .into_iter()
        .filter_map(|record| {
            let name = record.splitn(3, '\t').last()?.to_owned();
            Some(name).filter(|name| !name.is_empty())
        })
        .collect()
}
