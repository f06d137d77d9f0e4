//! git commands that also write configuration: names and upstreams of branches, sparse checkouts, submodules.
//! They may if the result is checked afterwards; otherwise they fail before they start.

use std::path::PathBuf;

use super::arguments::GitArguments;
use super::harmless_config::{self, Owner};
use super::question::GitQuestion;

pub const WRITING: &[&str] =
    &["branch", "checkout", "switch", "init", "config", "sparse-checkout", "submodule", "remote", "worktree"];

/// Whether it would write settings that run no program; `None` if it may write others.
pub fn writes(git: &GitQuestion, args: &GitArguments) -> Option<bool> {
    let words = args.words();
    let words = &words[..];
    match args.sub.as_str() {
        "branch" => Some(branch(git, args, words)),
        "checkout" | "switch" => Some(checkout(git, args, words)),
        "worktree" => Some(words.first() == Some(&"add") && tracks(git, args, words.get(2).copied())),
        "init" => {
            let target = words.first().map_or_else(String::new, |folder| format!("{folder}/"));
            Some(!args.has("--bare") && git.path_exists(&format!("{target}.git/config")))
        }
        "sparse-checkout" => {
            Some(matches!(words.first(), Some(&("init" | "set" | "add" | "disable" | "reapply"))))
        }
        "submodule" => Some(matches!(
            words.first(),
            Some(&("add" | "init" | "deinit" | "update" | "sync" | "absorbgitdirs"))
        )),
        "config" => config(args, words),
        "remote"
            if matches!(
                words.first(),
                Some(&("add" | "remove" | "rm" | "rename" | "set-url" | "set-head" | "set-branches"))
            ) =>
        {
            None
        }
        _ => Some(false),
    }
}

pub fn files(git: &GitQuestion, args: &GitArguments) -> Vec<PathBuf> {
    let own = match (args.sub.as_str(), args.words().first()) {
        ("init", Some(folder)) => git.inside(folder),
        _ => git.clone(),
    };
    let folder = |what: &str| own.line(&["rev-parse", "--path-format=absolute", what]).map(PathBuf::from);
    let common = folder("--git-common-dir").map(|folder| folder.join("config"));
    let worktree = folder("--git-dir").map(|folder| folder.join("config.worktree"));
    common
        .into_iter()
        .chain(worktree)
        .filter_map(|path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)))
        .collect()
}

fn branch(git: &GitQuestion, args: &GitArguments, words: &[&str]) -> bool {
    if args.has("-m -M -c -C -u --move --copy --set-upstream-to --unset-upstream --edit-description") {
        return true;
    }
    if args.has("-d -D --delete") {
        return words.iter().any(|name| {
            git.line(&["config", "--get-regexp", &format!("^branch\\.{}\\.", pattern(name))]).is_some()
        });
    }
    !args.has("-l --list --contains --no-contains --merged --no-merged --points-at --show-current")
        && !words.is_empty()
        && tracks(git, args, words.get(1).copied())
}

fn checkout(git: &GitQuestion, args: &GitArguments, words: &[&str]) -> bool {
    let creates = args.has("-b -B") || args.sub == "switch" && args.has("-c -C --create --force-create");
    if creates || args.has("-t --track") {
        return tracks(git, args, words.first().copied());
    }
    let Some(name) = words.first().filter(|_| words.len() == 1 && args.paths().is_none()) else {
        return false;
    };
    git.commit(name).is_none() && git.remote_branch(name).is_some()
}

/// Whether a new branch that starts there tracks another one.
fn tracks(git: &GitQuestion, args: &GitArguments, start: Option<&str>) -> bool {
    if args.has("--no-track") {
        return false;
    }
    if args.has("-t --track") {
        return true;
    }
    let setup = git.line(&["config", "--get", "branch.autoSetupMerge"]).unwrap_or_default();
    let full = |start: &str| git.line(&["rev-parse", "--symbolic-full-name", "--verify", "--quiet", start]);
    let start =
        start.and_then(full).or_else(|| git.line(&["symbolic-ref", "-q", "HEAD"])).unwrap_or_default();
    match setup.as_str() {
        "false" => false,
        "always" | "inherit" => start.starts_with("refs/"),
        _ => start.starts_with("refs/remotes/"),
    }
}

/// `git config KEY VALUE` and similar; reading writes nothing.
fn config(args: &GitArguments, words: &[&str]) -> Option<bool> {
    if args.has("--get --get-all --get-regexp --get-urlmatch --list -l --global --system --blob") {
        return Some(false);
    }
    let unset = args.has("--unset --unset-all");
    let (key, value) = match words {
        ["get" | "list", ..] => return Some(false),
        ["set", key, value] | [key, value] if !key.is_empty() => (*key, *value),
        ["unset", key] => (*key, ""),
        [key] if unset => (*key, ""),
        [_] => return Some(false),
        _ => return None,
    };
    let known = ["--local", "--add", "--replace-all", "--unset", "--unset-all", "--bool", "--int"];
    let plain = args.rest.iter().filter(|arg| arg.starts_with('-')).all(|arg| known.contains(&arg.as_str()));
    let (section, rest) = key.split_once('.')?;
    let (between, last) = rest.rsplit_once('.').map_or(("", rest), |(between, last)| (between, last));
    let dot = if between.is_empty() { "" } else { "." };
    let name = format!("{}.{between}{dot}{}", section.to_lowercase(), last.to_lowercase());
    (plain && harmless_config::is_harmless(&(name, value.to_owned()), Owner::User)).then_some(true)
}

/// A regular expression that matches only this name.
fn pattern(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_alphanumeric() || "/-_".contains(c) { c.to_string() } else { format!("[{c}]") })
        .collect()
}
