//! Predicts which work tree files a git command could change. Otherwise git would stop halfway at a file that
//! it can't write, or continue and leave the old text.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::arguments::GitArguments;
use super::changes::{self, GitChanges};
use super::guarded::GuardedPaths;
use super::question::GitQuestion;
use base::search::words::listed;

const MAX_STEPS: usize = 2_000;

/// Collects what the command changes. `None` if that is nothing, or unknown because git itself refuses.
type Preview = fn(&mut GitChanges<'_>) -> Option<()>;

const CHANGING: &[(&str, Preview)] = &[
    ("switch checkout", checkout),
    ("restore", restore),
    ("reset", reset),
    ("merge", merge),
    ("rebase", rebase),
    ("cherry-pick revert", pick),
    ("stash", stash),
    ("am apply", changes::patch),
    ("bisect", bisect),
    ("rm", changes::remove),
    ("mv", changes::rename),
    ("clean", changes::clean),
    ("read-tree", changes::read_tree),
    ("checkout-index", |on| on.index(&[])),
    ("sparse-checkout", changes::sparse),
];

fn preview_of(sub: &str) -> Option<Preview> {
    CHANGING.iter().find(|(names, _)| listed(names, sub)).map(|(_, preview)| *preview)
}

pub fn may_change(sub: &str) -> bool {
    preview_of(sub).is_some()
}

/// The guarded paths that the command would change, as far as known.
pub fn guarded_changes(
    git: &GitQuestion,
    args: &GitArguments,
    guarded: &GuardedPaths,
    input: &[u8],
) -> Vec<PathBuf> {
    let mut on = GitChanges { git, args, input, found: BTreeSet::new(), touched: BTreeSet::new() };
    let resumes = listed("merge rebase cherry-pick revert am", &args.sub)
        && args.has("--continue --skip --abort --resolved");
    let preview = if resumes { Some(resume as Preview) } else { preview_of(&args.sub) };
    let top = git.line(&["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    let known = top.zip(preview).and_then(|(top, preview)| preview(&mut on).map(|()| top));
    let Some(top) = known else { return Vec::new() };
    let path = |name: &String| top.join(name.trim_end_matches('/'));
    let held = |name: &&String| guarded.hold(&path(name));
    let touched = on.touched.iter().filter(held).filter(|name| !on.is_same(&top, name));
    let mut paths: BTreeSet<PathBuf> = on.found.iter().filter(held).chain(touched).map(path).collect();
    // Removing a folder also removes what is guarded in it.
    for folder in on.found.iter().filter(|name| name.ends_with('/')).map(path) {
        let inside = guarded.protected.iter().map(|path| &path.0);
        paths.extend(inside.filter(|path| path.starts_with(&folder) && path.exists()).cloned());
    }
    paths.into_iter().collect()
}

fn checkout(on: &mut GitChanges<'_>) -> Option<()> {
    let force = on.args.has("-f --force --discard-changes -m --merge");
    if on.args.sub == "switch" && on.args.has("--orphan") {
        let empty = on.empty_tree();
        return on.switch_to(&empty);
    }
    let first = on.args.words().first().copied();
    let commit = first.and_then(|word| on.git.commit(word).or_else(|| on.git.remote_branch(word)));
    let mut paths = on.args.named();
    paths.drain(..usize::from(commit.is_some()));
    match commit {
        Some(commit) if paths.is_empty() => {
            on.switch_to(&commit)?;
            if force { on.against(&commit, &[]) } else { Some(()) }
        }
        Some(commit) => {
            on.against(&commit, &paths)?;
            // A word may name both a branch and a file.
            paths.extend(first);
            on.index(&paths)
        }
        None if !paths.is_empty() => on.index(&paths),
        None if force => on.against("HEAD", &[]),
        None => Some(()),
    }
}

fn restore(on: &mut GitChanges<'_>) -> Option<()> {
    let staged = on.args.has("-S --staged");
    if staged && !on.args.has("-W --worktree") {
        return None;
    }
    let paths = on.args.named();
    match on.args.value("--source -s").or(staged.then_some("HEAD")) {
        Some(source) => on.against(&on.git.commit(source)?, &paths),
        None => on.index(&paths),
    }
}

fn reset(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(on.args.has("--hard --merge --keep"))?;
    let commit = on.git.commit(on.args.words().first().unwrap_or(&"HEAD"))?;
    on.switch_to(&commit)?;
    on.against(&commit, &[])
}

fn autostash(on: &mut GitChanges<'_>) -> Option<()> {
    let set = |key: &str| on.git.line(&["config", "--type=bool", "--get", key]).as_deref() == Some("true");
    if on.args.has("--autostash") || set("merge.autoStash") || set("rebase.autoStash") {
        on.against(&on.head(), &[])?;
    }
    Some(())
}

/// What changed only on the other side.
fn merge(on: &mut GitChanges<'_>) -> Option<()> {
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
        if !bases.contains(&head) || on.args.has("--no-ff") {
            // If a real merge fails, git resets the work tree and reapplies its changes.
            on.against(&head, &[])?;
        }
        if bases.is_empty() || on.args.has("-s --strategy -X --strategy-option") {
            on.found.extend(differ);
            continue;
        }
        for base in bases {
            let changed = on.between(&base, &commit)?;
            on.found.extend(changed.into_iter().filter(|name| differ.contains(name)));
        }
    }
    Some(())
}

fn rebase(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(!on.args.has("--quit --edit-todo --show-current-patch"))?;
    let words = on.args.words();
    let root = on.args.has("--root");
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
    let Some(upstream) = upstream else { return on.commits(&[tip], true) };
    let upstream = on.git.commit(upstream)?;
    let onto = match on.args.value("--onto") {
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
    on.commits(&[tip, format!("^{upstream}")], true)
}

fn pick(on: &mut GitChanges<'_>) -> Option<()> {
    on.only_if(!on.args.has("--quit"))?;
    on.commits(&on.args.words(), false)
}

/// Continues or aborts a merge, rebase or similar.
fn resume(on: &mut GitChanges<'_>) -> Option<()> {
    if !on.args.has("--continue --resolved") {
        on.against(&on.head(), &[])?;
    }
    if on.args.has("--abort") {
        let before = [
            "rebase-merge/orig-head",
            "rebase-apply/orig-head",
            "rebase-apply/abort-safety",
            "sequencer/head",
        ];
        for name in before {
            if let Some(commit) = on.state(name).and_then(|text| on.git.commit(text.trim())) {
                on.switch_to(&commit)?;
            }
        }
        return Some(());
    }
    for name in ["rebase-merge/git-rebase-todo", "sequencer/todo"] {
        let text = on.state(name).unwrap_or_default();
        let words =
            text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split(' ').take(4));
        let is_id = |word: &&str| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let steps = words.filter(is_id).filter_map(|word| on.git.commit(word)).take(MAX_STEPS);
        on.commits(&Vec::from_iter(steps), false)?;
    }
    let patches = std::fs::read_dir(on.git_folder()?.join("rebase-apply")).into_iter().flatten().flatten();
    let is_patch = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    for patch in patches.filter(|entry| entry.file_name().to_str().is_some_and(is_patch)).take(MAX_STEPS) {
        changes::patched(on, &["--", patch.path().to_str()?])?;
    }
    Some(())
}

fn stash(on: &mut GitChanges<'_>) -> Option<()> {
    let words = on.args.words();
    match words.first().copied() {
        Some("list" | "show" | "drop" | "clear" | "create" | "store") => None,
        Some(sub @ ("pop" | "apply" | "branch")) => {
            let name = words.get(1 + usize::from(sub == "branch")).copied().unwrap_or("0");
            let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
            let name = if is_number { format!("stash@{{{name}}}") } else { name.to_owned() };
            let stash = on.git.commit(&name)?;
            let base = on.git.commit(&format!("{stash}^1"))?;
            let names = on.between(&base, &stash)?;
            on.found.extend(names);
            // Files that were added, and untracked ones.
            let others = [2, 3].iter().filter_map(|number| on.git.commit(&format!("{stash}^{number}")));
            on.commits(&Vec::from_iter(others), false)?;
            if sub == "branch" { on.switch_to(&base) } else { Some(()) }
        }
        _ => {
            let paths = &on.args.named()[usize::from(!words.is_empty())..];
            on.against(&on.head(), paths)?;
            if on.args.has("-u --include-untracked") {
                on.listed(&["--others", "--exclude-standard"], paths)
            } else if on.args.has("-a --all") {
                on.listed(&["--others"], paths)
            } else {
                Some(())
            }
        }
    }
}

/// May check out any commit between the good and the bad ones.
fn bisect(on: &mut GitChanges<'_>) -> Option<()> {
    let words = on.args.words();
    let (sub, words) = words.split_first()?;
    match *sub {
        "log" | "view" | "visualize" | "terms" | "help" => return None,
        "reset" => {
            let start = on.state("BISECT_START").unwrap_or_default();
            return on.switch_to(&on.git.commit(words.first().copied().unwrap_or(start.trim()))?);
        }
        _ => {}
    }
    let kept = on.git.line(&["for-each-ref", "--format=%(objectname)", "refs/bisect"]).unwrap_or_default();
    let start = on.state("BISECT_START").unwrap_or_default();
    let all = words.iter().copied().chain(kept.lines()).chain([start.trim(), "HEAD"]);
    let commits: Vec<String> = all.filter_map(|word| on.git.commit(word)).collect();
    let names: Vec<&str> = commits.iter().map(String::as_str).collect();
    let base = on.git.line(&[&["merge-base", "--octopus"], &names[..]].concat());
    on.commits(&Vec::from_iter(commits.into_iter().chain(base.map(|base| format!("^{base}")))), true)
}
