//! Predicts which work tree files a git command could change. Otherwise git would stop halfway at a file that
//! it can't write, or continue and leave its old text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::arguments::GitArguments;
use super::changes::Changes;
use super::files::{self, of_numstat};
use super::guarded::GuardedPaths;
use super::question::GitQuestion;
use base::file;

/// A list of steps, or one of git's own refs, in bytes.
const MAX_STATE_BYTES: u64 = 4 * 1024 * 1024;
const MAX_STEPS: usize = 2_000;

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

/// The guarded paths that the command would change; `None` if unknown, such as when git itself refuses.
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
    let mut preview = Changes { git, args, input, found: BTreeSet::new(), touched: BTreeSet::new() };
    look(&mut preview)?;
    let held = |name: &String| guarded.hold(&top.join(name.trim_end_matches('/')));
    let really = |name: &String| held(name) && !preview.is_same(&top, name);
    let touched: BTreeSet<&String> = preview.touched.iter().filter(|name| really(name)).collect();
    let found = preview.found.iter().filter(|name| held(name)).chain(touched).collect::<BTreeSet<_>>();
    let mut paths: Vec<PathBuf> =
        found.into_iter().map(|name| top.join(name.trim_end_matches('/'))).collect();
    // Removing a folder removes what is guarded in it.
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

fn look(on: &mut Changes<'_>) -> Option<()> {
    let resumes = on.args.has(&["--continue", "--skip", "--abort", "--resolved"]);
    match on.args.sub.as_str() {
        "switch" | "checkout" => checkout(on),
        "restore" => restore(on),
        "reset" => reset(on),
        "merge" | "rebase" | "cherry-pick" | "revert" | "am" if resumes => resume(on),
        "merge" => merge(on),
        "rebase" => rebase(on),
        "cherry-pick" | "revert" => pick(on),
        "stash" => stash(on),
        "am" | "apply" => files::patch(on),
        "bisect" => bisect(on),
        "rm" => files::remove(on),
        "mv" => files::rename(on),
        "clean" => files::clean(on),
        "read-tree" => files::read_tree(on),
        "checkout-index" => on.index(&[]),
        "sparse-checkout" => files::sparse(on),
        _ => None,
    }
}

fn checkout(on: &mut Changes<'_>) -> Option<()> {
    let words = on.args.words();
    let force = on.args.has(&["-f", "--force", "--discard-changes"]) || on.args.has(&["-m", "--merge"]);
    let is_switch = on.args.sub == "switch";
    if is_switch && on.args.has(&["--orphan"]) {
        let empty = on.empty_tree();
        return on.switch_to(&empty);
    }
    let first = words.first().copied();
    let commit = first.and_then(|word| on.git.commit(word)).or_else(|| {
        // A remote branch becomes a local one of the same name.
        let pattern = format!("refs/remotes/*/{}", first?);
        let found = on.git.line(&["for-each-ref", "--format=%(objectname)", &pattern])?;
        found.lines().next().map(str::to_owned)
    });
    let mut paths: Vec<&str> = on.args.paths().unwrap_or_default().iter().map(String::as_str).collect();
    paths.extend(words.iter().skip(usize::from(commit.is_some())));
    match commit {
        Some(commit) if paths.is_empty() => {
            on.switch_to(&commit)?;
            if force { on.against(&commit, &[]) } else { Some(()) }
        }
        Some(commit) => {
            on.against(&commit, &paths)?;
            // A word may name a branch and a file.
            paths.extend(first);
            on.index(&paths)
        }
        None if !paths.is_empty() => on.index(&paths),
        None if force => on.against("HEAD", &[]),
        None => Some(()),
    }
}

fn restore(on: &mut Changes<'_>) -> Option<()> {
    let staged = on.args.has(&["-S", "--staged"]);
    if staged && !on.args.has(&["-W", "--worktree"]) {
        return Some(());
    }
    let words = on.args.words();
    let behind = on.args.paths().unwrap_or_default().iter().map(String::as_str);
    let paths: Vec<&str> = words.into_iter().chain(behind).collect();
    let source = on.args.value(&["--source", "-s"]).or(staged.then_some("HEAD"));
    match source {
        Some(source) => {
            let commit = on.git.commit(source)?;
            on.against(&commit, &paths)
        }
        None => on.index(&paths),
    }
}

fn reset(on: &mut Changes<'_>) -> Option<()> {
    if !on.args.has(&["--hard", "--merge", "--keep"]) {
        return Some(());
    }
    let commit = on.git.commit(on.args.words().first().unwrap_or(&"HEAD"))?;
    on.switch_to(&commit)?;
    on.against(&commit, &[])
}

fn autostash(on: &mut Changes<'_>) -> Option<()> {
    let set = |key: &str| on.git.line(&["config", "--type=bool", "--get", key]).as_deref() == Some("true");
    if on.args.has(&["--autostash"]) || set("merge.autoStash") || set("rebase.autoStash") {
        let head = on.head();
        on.against(&head, &[])?;
    }
    Some(())
}

/// Of both sides' changes, those that only the other side has.
fn merge(on: &mut Changes<'_>) -> Option<()> {
    let mut words = on.args.words();
    if words.is_empty() {
        words.push("@{upstream}");
    }
    autostash(on)?;
    for word in words {
        let commit = on.git.commit(word)?;
        let head = on.head();
        let differ: BTreeSet<String> = on.between(&head, &commit)?.into_iter().collect();
        let bases = on.bases(&commit);
        if !bases.contains(&head) || on.args.has(&["--no-ff"]) {
            // When a real merge fails, git resets the work tree and reapplies its changes.
            on.against(&head, &[])?;
        }
        if bases.is_empty() || on.args.has(&["-s", "--strategy", "-X", "--strategy-option"]) {
            on.found.extend(differ);
            continue;
        }
        for base in bases {
            let changed = on.between(&base, &commit)?;
            on.add(changed.into_iter().filter(|name| differ.contains(name)).collect());
        }
    }
    Some(())
}

fn rebase(on: &mut Changes<'_>) -> Option<()> {
    if on.args.has(&["--quit", "--edit-todo", "--show-current-patch"]) {
        return Some(());
    }
    let words = on.args.words();
    let root = on.args.has(&["--root"]);
    let (upstream, tip) = match (root, &words[..]) {
        (true, words) => (None, words.first()),
        (false, words) => (Some(*words.first().unwrap_or(&"@{upstream}")), words.get(1)),
    };
    let tip = match tip {
        Some(word) => {
            let commit = on.git.commit(word)?;
            on.switch_to(&commit)?;
            commit
        }
        None => on.git.commit("HEAD")?,
    };
    autostash(on)?;
    let Some(upstream) = upstream else { return on.commits(&[&tip], true) };
    let upstream = on.git.commit(upstream)?;
    let onto = match on.args.value(&["--onto"]) {
        Some(word) => on.git.commit(word)?,
        None => upstream.clone(),
    };
    let plain = on.args.rest.iter().all(|arg| !arg.starts_with('-') || arg == "-q" || arg == "--quiet");
    let linear =
        || on.git.line(&["rev-list", "--merges", "--max-count=1", &format!("{onto}..{tip}")]).is_none();
    if plain && on.git.ask(&["merge-base", "--is-ancestor", &onto, &tip]).is_some() && linear() {
        // Already based on it.
        return Some(());
    }
    on.switch_to(&onto)?;
    on.commits(&[&tip, &format!("^{upstream}")], true)
}

fn pick(on: &mut Changes<'_>) -> Option<()> {
    if on.args.has(&["--quit"]) {
        return Some(());
    }
    let words = on.args.words();
    on.commits(&words, false)
}

/// A merge, rebase or similar that is in progress.
fn resume(on: &mut Changes<'_>) -> Option<()> {
    let folder = PathBuf::from(on.git.line(&["rev-parse", "--absolute-git-dir"])?);
    let text = |name: &str| file::small_text(&folder.join(name), MAX_STATE_BYTES);
    if !on.args.has(&["--continue", "--resolved"]) {
        let head = on.head();
        on.against(&head, &[])?;
    }
    if on.args.has(&["--abort"]) {
        for name in [
            "rebase-merge/orig-head",
            "rebase-apply/orig-head",
            "rebase-apply/abort-safety",
            "sequencer/head",
        ] {
            if let Some(commit) = text(name).and_then(|text| on.git.commit(text.trim())) {
                on.switch_to(&commit)?;
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
            words.filter(is_id).filter_map(|word| on.git.commit(word)).take(MAX_STEPS).collect();
        if !steps.is_empty() {
            on.commits(&steps.iter().map(String::as_str).collect::<Vec<_>>(), false)?;
        }
    }
    let patches = std::fs::read_dir(folder.join("rebase-apply")).into_iter().flatten().flatten();
    let is_patch = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
    };
    for path in patches.map(|entry| entry.path()).filter(is_patch).take(MAX_STEPS) {
        let names = on.git.names(&["apply", "--numstat", "-z", "--", path.to_str()?])?;
        on.add(of_numstat(names));
    }
    Some(())
}

fn stash(on: &mut Changes<'_>) -> Option<()> {
    let words = on.args.words();
    match words.first().copied() {
        Some("list" | "show" | "drop" | "clear" | "create" | "store") => Some(()),
        Some(sub @ ("pop" | "apply" | "branch")) => {
            let name = words.get(1 + usize::from(sub == "branch")).copied().unwrap_or("0");
            let name = if name.bytes().all(|byte| byte.is_ascii_digit()) {
                format!("stash@{{{name}}}")
            } else {
                name.to_owned()
            };
            let stash = on.git.commit(&name)?;
            let (base, index) = (format!("{stash}^1"), format!("{stash}^2"));
            for tree in [&stash, &index] {
                let names = on.between(&base, tree)?;
                on.add(names);
            }
            if let Some(others) = on.git.commit(&format!("{stash}^3")) {
                let names = on.git.names(&["ls-tree", "-r", "--name-only", "-z", "--full-tree", &others])?;
                on.add(names);
            }
            if sub == "branch" { on.switch_to(&on.git.commit(&base)?) } else { Some(()) }
        }
        _ => {
            let mut paths: Vec<&str> =
                on.args.paths().unwrap_or_default().iter().map(String::as_str).collect();
            paths.extend(words.iter().skip(1));
            let head = on.head();
            on.against(&head, &paths)?;
            if on.args.has(&["-u", "--include-untracked"]) {
                on.untracked(&["--exclude-standard"], &paths)?;
            } else if on.args.has(&["-a", "--all"]) {
                on.untracked(&[], &paths)?;
            }
            Some(())
        }
    }
}

/// May check out any commit between the good and the bad ones.
fn bisect(on: &mut Changes<'_>) -> Option<()> {
    let mut words = on.args.words().into_iter();
    let sub = words.next();
    if matches!(sub, None | Some("log" | "view" | "visualize" | "terms" | "help")) {
        return Some(());
    }
    let mut commits: Vec<String> = words.filter_map(|word| on.git.commit(word)).collect();
    let kept = on.git.line(&["for-each-ref", "--format=%(objectname)", "refs/bisect"]).unwrap_or_default();
    commits.extend(kept.lines().map(str::to_owned));
    let start = on.git.line(&["rev-parse", "--git-path", "BISECT_START"]).and_then(|path| {
        let folder = on.git.line(&["rev-parse", "--absolute-git-dir"])?;
        let path = if Path::new(&path).is_absolute() {
            PathBuf::from(path)
        } else {
            Path::new(&folder).join("BISECT_START")
        };
        on.git.commit(file::small_text(&path, MAX_STATE_BYTES)?.trim())
    });
    commits.extend(start);
    commits.push(on.git.commit("HEAD")?);
    commits.sort();
    commits.dedup();
    for commit in &commits {
        on.switch_to(commit)?;
    }
    if sub == Some("reset") || commits.len() < 2 {
        return Some(());
    }
    let mut args = vec!["merge-base", "--octopus"];
    args.extend(commits.iter().map(String::as_str));
    let base = on.git.line(&args).map(|base| format!("^{base}"));
    let revisions: Vec<&str> = commits.iter().chain(&base).map(String::as_str).collect();
    on.commits(&revisions, true)
}
