//! Programs that a command may not start, in whatever way: the user's rules name them, and the helper checks each
//! program that starts.

use super::git::arguments::GitArguments;
use super::git::contents;
use super::rule_pattern::{fits, mentions};
use super::spec::Masks;
use crate::shell::interpret::wrappers::is_shell;

/// These only name files.
const LISTING: [&str; 3] = ["ls", "find", "du"];

/// The rule that forbids starting a program with these names and arguments; `tree` gives git its work tree.
pub fn rule_against(
    masks: &Masks,
    names: &[String],
    args: &[String],
    tree: impl FnOnce() -> Option<String>,
) -> Option<String> {
    // Shells are judged by what they start, because their arguments are whole scripts.
    if names.iter().any(|name| is_shell(name)) {
        return None;
    }
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let denied = |pattern: &&String| names.iter().any(|name| is_denied(pattern, name, &words));
    if let Some(pattern) = masks.programs.iter().find(denied) {
        return Some(format!("Bash({pattern})"));
    }
    // `git-show` means `git show`.
    let sub = names.iter().find_map(|name| name.strip_prefix("git-").map(str::to_owned));
    let is_git = sub.is_some() || names.iter().any(|name| name == "git");
    let git = is_git && !masks.unread.is_empty();
    let git = git.then(|| tree().into_iter().chain(sub).chain(args.iter().cloned()).collect::<Vec<_>>());
    let git = git.and_then(|words| GitArguments::read(&words));
    let shown = masks.unread.iter().find(|pattern| match &git {
        Some(git) => contents::shows(pattern, git, &masks.workspace),
        None if is_git || names.iter().any(|name| LISTING.contains(&name.as_str())) => false,
        None => contents::is_in_objects(pattern, args, &masks.workspace),
    })?;
    Some(format!("Read({shown})"))
}

fn is_denied(pattern: &str, name: &str, args: &[&str]) -> bool {
    let first = pattern.split(' ').next().unwrap_or_default();
    let whole = [&[name], args].concat();
    // `git-push` means `git push`.
    let apart = name.strip_prefix(first).and_then(|rest| rest.strip_prefix('-'));
    // `git -c alias.x=push x` renames a subcommand.
    let renames = name == first && args.iter().any(|arg| arg.starts_with("alias."));
    fits(pattern, &whole)
        || apart.is_some_and(|rest| fits(pattern, &[&[first, rest], args].concat()))
        || renames && mentions(pattern, &whole.join(" "))
}

pub const UNSEEN: &str = "a program that hides its memory, as key agents do, could not start another: the user denied some programs, and which one it starts can't be seen";

pub const UNSEEN_FILE: &str = "a program was not started: the user denied some programs, and its path leads through another process's files, so which one it is can't be seen";

pub fn told(rule: &str, line: &str) -> String {
    format!("`{line}` was not started: the user denied it ({rule}), in whatever way it is called")
}
