//! git's settings. Harmless are those that run nothing and redirect nothing: what git itself writes for branches, remotes,
//! submodules and sparse checkouts. Some git commands also write settings: they may, if the result is checked
//! afterwards; otherwise they fail before they start.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::arguments::GitArguments;
use super::question::GitQuestion;
use base::process::timeout;
use base::search::words::listed;

const LIMIT: Duration = Duration::from_secs(5);

/// Full names, in which `*` matches any name.
const HARMLESS: &str = include_str!("harmless_settings.txt");

/// Settings that a fresh clone also has.
const OF_CLONES: &str = include_str!("clone_settings.txt");

/// The name as git writes it, and the value.
pub type Setting = (String, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A repository that existed before the command.
    User,
    /// A repository that a command created.
    Command,
}

/// In git's order; `None` if git can't parse it.
pub fn parsed(text: &[u8]) -> Option<Vec<Setting>> {
    let mut git = Command::new("git");
    git.args(["config", "--no-includes", "--file", "-", "--list", "-z"]).current_dir("/");
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_DIR", "/dev/null");
    let bytes = timeout::ask(&mut git, text, LIMIT)?;
    let records = bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    let settings = records.map(|record| {
        let text = std::str::from_utf8(record).ok()?;
        let (name, value) = text.split_once('\n').unwrap_or((text, "true"));
        Some((name.to_owned(), value.to_owned()))
    });
    settings.collect()
}

pub fn is_harmless((name, value): &Setting, owner: Owner) -> bool {
    let fits = |known: &str| match known.split_once('*') {
        Some((front, end)) => {
            let long = name.len() > front.len() + end.len();
            // Subsections keep their case.
            long && name.starts_with(front) && name.ends_with(end)
        }
        None => name == known,
    };
    let known = HARMLESS.split_whitespace().any(fits)
        || owner == Owner::Command && OF_CLONES.split_whitespace().any(fits);
    // Addresses with `::` name a program.
    let runs = value.contains("::");
    // A branch's remote must be a name, and files must be below the repository.
    let elsewhere = value.contains([':', '\\']) || value.starts_with(['/', '~']) || value.starts_with("..");
    let led = name.starts_with("branch.") && name.ends_with("remote") && elsewhere
        || name == "core.worktree" && value.starts_with(['/', '~']);
    known && !runs && !led
}

/// Settings in `after` that are neither in `before` nor harmless; `None` if one of the two can't be parsed.
pub fn harmful(before: &[u8], after: &[u8], owner: Owner) -> Option<Vec<Setting>> {
    let (before, after) = (parsed(before)?, parsed(after)?);
    Some(after.into_iter().filter(|one| !before.contains(one) && !is_harmless(one, owner)).collect())
}

pub fn written(settings: &[Setting]) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        let (Some((section, rest)), Some((_, key))) = (name.split_once('.'), name.rsplit_once('.')) else {
            continue;
        };
        let between = rest.strip_suffix(key).map_or("", |front| front.trim_end_matches('.'));
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        text += &match between {
            "" => format!("[{section}]\n"),
            name => format!("[{section} \"{}\"]\n", quoted(name)),
        };
        text += &format!("\t{key} = \"{}\"\n", quoted(value).replace('\n', "\\n").replace('\t', "\\t"));
    }
    text
}

pub const WRITING: &[&str] =
    &["branch", "checkout", "switch", "init", "config", "sparse-checkout", "submodule", "remote", "worktree"];

/// Whether it would write settings, all of which run no program; `None` if it may write others.
pub fn writes(git: &GitQuestion, args: &GitArguments) -> Option<bool> {
    let words = args.words();
    let words = &words[..];
    let begins_with = |list: &str| words.first().is_some_and(|word| listed(list, word));
    match args.sub.as_str() {
        "branch" => Some(branch(git, args, words)),
        "checkout" | "switch" => Some(checkout(git, args, words)),
        "worktree" => Some(words.first() == Some(&"add") && tracks(git, args, words.get(2).copied())),
        "init" => {
            let target = words.first().map_or_else(String::new, |folder| format!("{folder}/"));
            Some(!args.has("--bare") && git.path_exists(&format!("{target}.git/config")))
        }
        "sparse-checkout" => Some(begins_with("init set add disable reapply")),
        "submodule" => Some(begins_with("add init deinit update sync absorbgitdirs")),
        "config" => config(args, words),
        "remote" if begins_with("add remove rm rename set-url set-head set-branches") => None,
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
    (plain && is_harmless(&(name, value.to_owned()), Owner::User)).then_some(true)
}

/// A regular expression that matches only this name.
fn pattern(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_alphanumeric() || "/-_".contains(c) { c.to_string() } else { format!("[{c}]") })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod harmless_tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_found() {
        let plain = b"[core]\n\tbare = false\n[remote \"o.x\"]\n\turl = https://h/x\n[branch \"a\"]\n\tremote = o.x\n";
        assert_eq!(harmful(b"", plain, Owner::Command).unwrap(), []);
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\thooksPath = x\n",
            "[core] pager = x",
            "[alias]\n\tst = !sh\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:x\"]\n\tpath = x\n",
            "[diff \"x\"]\n\ttextconv = x\n",
            "[filter \"branch.x\"]\n\tremote = x\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[credential]\n\thelper = x\n",
            "[submodule \"x\"]\n\tupdate = !x\n",
            "[merge \"x\"]\n\tdriver = x\n",
            "[gpg]\n\tprogram = x\n",
        ] {
            assert_eq!(harmful(b"", text.as_bytes(), Owner::Command).unwrap().len(), 1, "{text}");
        }
        assert_eq!(harmful(b"", b"[remote \"o\"]\n\turl = h\n", Owner::User).unwrap().len(), 1);
        assert_eq!(harmful(b"", b"[core", Owner::User), None);
        assert_eq!(harmful(b"[alias]\n\tst = !sh\n", b"[alias]\n\tst = !sh\n", Owner::User).unwrap(), []);
    }

    #[test]
    fn settings_are_written_as_they_were_read() {
        let text = b"[a]\n\tb = \"x \\\"y\\\" \\\\ #\"\n[a \"q\\\"r.s\"]\n\tc = one\n\tc = two\n\td\n";
        let read = parsed(text).unwrap();
        assert_eq!(parsed(written(&read).as_bytes()).unwrap(), read);
    }
}
