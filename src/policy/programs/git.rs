//! What a call of `git` does, by its sub-command and telling options. Flat tables.

use super::assessment::{Assessment, Effect, Risk};
use super::git_lists::{lists_branches, reads_config};
use super::options;
use super::path_effects::{changing, reading, secret};
use crate::policy::path_scope::{PathScope, ReadRisk, WriteRisk};
use crate::shell::interpret::call::{Arg, Call};

/// Sub-commands that only read.
const LOOKS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "rev-parse",
    "ls-files",
    "ls-tree",
    "describe",
    "shortlog",
    "cat-file",
    "rev-list",
    "merge-base",
    "name-rev",
    "grep",
    "for-each-ref",
    "show-ref",
    "var",
    "count-objects",
    "check-ignore",
    "check-attr",
    "check-ref-format",
    "diff-tree",
    "diff-index",
    "diff-files",
    "version",
    "help",
    "whatchanged",
    "cherry",
    "range-diff",
    "fsck",
    "verify-pack",
    "show-branch",
    "get-tar-commit-id",
    "show-index",
    "column",
    "stripspace",
    "patch-id",
    "interpret-trailers",
];

/// Options that make a reading sub-command run or write.
const MORE: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "-O",
    "--open-files-in-pager",
    "--show-signature",
    "--lost-found",
    "--in-place",
];

/// Sub-commands that change the checkout and the local history.
const WORKS: &[&str] = &[
    "add",
    "commit",
    "checkout",
    "switch",
    "restore",
    "reset",
    "stash",
    "branch",
    "tag",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "rm",
    "mv",
    "clean",
    "init",
    "apply",
    "am",
    "format-patch",
    "notes",
    "worktree",
    "bisect",
    "gc",
    "prune",
    "sparse-checkout",
    "archive",
    "bundle",
    "commit-tree",
    "write-tree",
    "read-tree",
    "update-index",
    "update-ref",
    "hash-object",
    "mktree",
    "reflog",
    "symbolic-ref",
    "rerere",
    "pack-refs",
    "repack",
    "replace",
    "stage",
    "merge-file",
    "merge-tree",
    "checkout-index",
    "maintenance",
];

const NETWORK: &[&str] = &[
    "push",
    "fetch",
    "pull",
    "clone",
    "ls-remote",
    "lfs",
    "send-email",
    "svn",
    "request-pull",
    "fetch-pack",
    "send-pack",
    "archive-remote",
    "p4",
    "imap-send",
];

/// Sub-commands that hand out secrets, or run things for others.
const GUARDED: &[&str] = &[
    "credential",
    "credential-store",
    "credential-cache",
    "daemon",
    "instaweb",
    "web--browse",
    "shell",
    "http-backend",
    "cvsserver",
];

/// Keys of the configuration that steer nothing.
const TAME_KEYS: &[&str] = &[
    "color.",
    "advice.",
    "user.name",
    "user.email",
    "core.quotepath",
    "core.autocrlf",
    "core.abbrev",
    "core.safecrlf",
    "diff.algorithm",
    "diff.renames",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "init.defaultbranch",
    "log.",
    "grep.",
    "column.",
    "status.",
    "commit.gpgsign",
    "tag.gpgsign",
    "merge.conflictstyle",
    "pull.rebase",
    "rebase.autosquash",
    "gc.auto",
    "safe.directory",
    "i18n.",
    "core.commentchar",
    "core.filemode",
    "core.longpaths",
    "blame.",
    "branch.sort",
    "tag.sort",
    "versionsort.",
    "format.",
    "push.default",
];

/// Values of any key that run nothing.
const TAME_VALUES: &[&str] = &["", "cat", "true", "false", ":", "0", "1", "less"];

pub fn judge(call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    let mut inside = call.clone();
    let mut finding = Assessment::looks();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.text.as_str();
        let value = args.get(at + 1);
        match text {
            "-C" => {
                let Some(folder) = value.and_then(Arg::certain) else {
                    return unsure("where git works is not known");
                };
                inside.folders =
                    inside.folders.iter().map(|from| crate::base::path::follow(&from.join(folder))).collect();
                at += 2;
            }
            "-c" => {
                let setting = value.and_then(Arg::certain).unwrap_or("?");
                if !is_tame(setting) {
                    finding.raise(Assessment::new(Risk::Unsure, format!("git is told `{setting}`")));
                }
                at += 2;
            }
            "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env"
            | "--super-prefix" => {
                finding.raise(Assessment::new(Risk::Unsure, format!("git is told {text}")));
                at += 2;
            }
            "--no-pager"
            | "-P"
            | "--no-optional-locks"
            | "--literal-pathspecs"
            | "--version"
            | "--help"
            | "-p"
            | "--paginate" => at += 1,
            _ if text.starts_with('-') => {
                finding.raise(Assessment::new(Risk::Unsure, format!("git is told {text}")));
                at += 1;
            }
            _ => break,
        }
    }
    let Some(sub) = args.get(at) else { return finding };
    let Some(sub) = sub.certain() else { return unsure("what git does is not known") };
    inside.argv = args[at..].to_vec();
    finding.raise(judge_sub(sub, &inside, place));
    let elsewhere = inside.folders.iter().any(|folder| !folder.starts_with(&place.workspace));
    if finding.grade > Risk::Looks && (elsewhere || inside.folders.is_empty()) {
        let why = "git works outside the workspace";
        finding.raise(Assessment::new(
            if inside.folders.is_empty() { Risk::Unsure } else { Risk::Guarded },
            why,
        ));
    }
    finding
}

fn unsure(why: &str) -> Assessment {
    Assessment::new(Risk::Unsure, why).with(Effect::Run("git".to_owned()))
}

fn is_tame(setting: &str) -> bool {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let key = key.to_ascii_lowercase();
    let pager =
        key == "core.pager" || key.starts_with("pager.") || key == "core.editor" || key == "sequence.editor";
    TAME_KEYS.iter().any(|tame| key.starts_with(tame))
        || (pager && TAME_VALUES.contains(&value))
        || (key == "core.fsmonitor" && value == "false")
        || (key == "core.hookspath" && value == "/dev/null")
}

fn judge_sub(sub: &str, call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    let first = args.iter().find(|arg| !arg.text.starts_with('-')).map_or("", |arg| arg.text.as_str());
    let only_options = args.iter().all(|arg| arg.text.starts_with('-'));
    let listed = |words: &[&str]| words.contains(&first);
    let looking = match sub {
        "stash" => listed(&["list", "show"]),
        "branch" => lists_branches(args),
        "tag" => {
            only_options && !options::has(args, &["-d", "--delete", "-a", "-s", "-m", "-F", "-u"])
                || options::has(args, &["-l", "--list", "--contains", "--points-at", "--merged", "-n"])
                    && !options::has(args, &["-d"])
        }
        "remote" => first.is_empty() || listed(&["get-url"]),
        "config" => reads_config(args),
        "worktree" | "sparse-checkout" => listed(&["list"]),
        "submodule" => listed(&["status", "summary"]),
        "bisect" => listed(&["log", "view"]),
        // It may open what the configuration calls a browser.
        "help" => !options::has(args, &["-w", "--web"]),
        "notes" => listed(&["list", "show"]) || first.is_empty(),
        "reflog" => first.is_empty() || !listed(&["expire", "delete", "drop", "write"]),
        "symbolic-ref" => {
            args.iter().filter(|arg| !arg.text.starts_with('-')).count() <= 1
                && !options::has(args, &["-d", "--delete"])
        }
        "archive" => !options::has(args, &["-o", "--output", "--remote", "--exec"]),
        "lfs" => listed(&["ls-files", "status", "env", "version"]),
        "apply" => {
            options::has(args, &["--check", "--stat", "--numstat", "--summary"])
                && !options::has(args, &["--apply"])
        }
        "clean" => options::has(args, &["-n", "--dry-run"]),
        "bundle" => listed(&["verify", "list-heads"]),
        _ => LOOKS.contains(&sub),
    };
    if looking {
        return look(sub, call, place);
    }
    if GUARDED.contains(&sub) {
        return Assessment::new(Risk::Guarded, format!("git {sub} hands out secrets or serves others"));
    }
    match sub {
        "config" => {
            return Assessment::new(Risk::Guarded, "it changes git's settings, which can run programs")
                .with(Effect::Write(".git/config".to_owned()));
        }
        "remote" if listed(&["add", "remove", "rm", "rename", "set-url", "set-head", "set-branches"]) => {
            return Assessment::new(Risk::Guarded, "it changes where git sends the work")
                .with(Effect::Write(".git/config".to_owned()));
        }
        "remote" => return net(sub),
        "submodule" if listed(&["foreach"]) => return unsure("git submodule foreach runs what it is given"),
        "submodule" => return net(sub),
        _ => {}
    }
    if NETWORK.contains(&sub) {
        let mut finding = if stays_here(sub, call, place) {
            unsure(&format!("git {sub} works with a repository on this machine"))
        } else {
            net(sub)
        };
        let helper = args.iter().any(|arg| arg.text.contains("ext::") || arg.text.contains("fd::"));
        if helper
            || options::has(args, &["--upload-pack", "--receive-pack", "--exec", "--config"])
            || (sub == "clone" && args.iter().any(|arg| arg.text == "-u" || arg.text == "-c"))
        {
            finding.raise(Assessment::new(Risk::Guarded, format!("git {sub} is told to run a program")));
        }
        if sub == "clone" {
            for arg in args.iter().filter(|arg| !arg.text.starts_with('-') && !arg.text.contains(':')) {
                if let WriteRisk::Outside(what) = place.changing(arg, &call.folders) {
                    finding.raise(Assessment::new(
                        Risk::Guarded,
                        format!("it writes to {what}, outside the workspace"),
                    ));
                }
            }
        }
        return finding;
    }
    if WORKS.contains(&sub) {
        return work(sub, call, place);
    }
    match sub {
        "difftool" | "mergetool" | "filter-branch" | "gui" | "citool" | "gitk" => {
            unsure(&format!("git {sub} runs other programs"))
        }
        // An alias may be anything.
        _ => unsure(&format!("what git {sub} does is not known")),
    }
}

/// Whether the other repository is named by a path in the workspace: its first word, and no option that takes a word stands before it.
fn stays_here(sub: &str, call: &Call, place: &PathScope) -> bool {
    let args = call.args();
    const PLAIN: &[&str] = &[
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "--local",
        "-l",
        "--bare",
        "-n",
        "--no-checkout",
        "--no-hardlinks",
        "--no-local",
        "-s",
        "--shared",
        "--no-tags",
        "--tags",
        "-f",
        "--force",
        "--ff-only",
        "--rebase",
        "--no-rebase",
        "--prune",
        "-p",
        "--single-branch",
        "--mirror",
        "--dry-run",
        "--no-edit",
        "--progress",
        "--no-progress",
    ];
    let mut words =
        args.iter().skip_while(|arg| PLAIN.contains(&arg.text.as_str()) || arg.text.starts_with("--depth="));
    let by_path = |arg: &&Arg| {
        arg.certain().is_some_and(|text| {
            matches!(text, "." | "..") || ["./", "../", "/"].iter().any(|front| text.starts_with(front))
        }) && !matches!(place.changing(arg, &call.folders), WriteRisk::Outside(_) | WriteRisk::Everything(_))
    };
    matches!(sub, "clone" | "fetch" | "pull" | "push" | "ls-remote")
        && words.next().as_ref().is_some_and(by_path)
        && !args.iter().any(|arg| arg.text.contains("recurse-submodules") || arg.text == "--recursive")
}

/// Beyond the network it needs the user's own keys.
fn net(sub: &str) -> Assessment {
    Assessment::new(Risk::Outside, format!("git {sub} needs the network"))
        .with(Effect::Net(format!("git {sub}")))
}

fn look(sub: &str, call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    let mut finding = Assessment::looks();
    let mut after_dashes = false;
    for arg in args {
        let text = arg.text.as_str();
        if !after_dashes {
            // `-O` of `git diff` names a file with an order; that of `git grep` a program.
            if MORE.iter().any(|more| options::is(text, more))
                && !(text.starts_with("--o") && text.starts_with("--oneline"))
                && !(text.starts_with("--text") && text == "--text")
            {
                let target = options::value(args, "", "--output");
                match target {
                    Some(target) => finding.raise(changing(&target, call, place)),
                    None => finding.raise(unsure(&format!("git is told {text}"))),
                }
            }
            if arg.front_is_open() || place.may_be_option(arg, &call.folders) {
                finding.raise(unsure(&format!("what {text} stands for is not known")));
            }
        }
        after_dashes |= text == "--";
        if let ReadRisk::Secret(what) = place.reading(arg, &call.folders, sub == "grep") {
            finding.raise(secret(&what));
        }
    }
    // It then goes through the folder itself, whether git knows it or not.
    if sub == "grep"
        && options::has(args, &["--no-index", "--untracked"])
        && let ReadRisk::Secret(what) = place.reading(&Arg::known("."), &call.folders, true)
    {
        finding.raise(secret(&what));
    }
    finding
}

fn work(sub: &str, call: &Call, place: &PathScope) -> Assessment {
    let args = call.args();
    let mut finding = Assessment::new(Risk::Works, "it works on the local history")
        .with(Effect::Write("the checkout".to_owned()));
    let telling: &[&str] = match sub {
        "rebase" => &["-x", "--exec"],
        "archive" => &["--exec", "--remote"],
        "apply" | "am" => &["--unsafe-paths", "--directory"],
        "init" => &["--template", "--separate-git-dir"],
        "commit" => &["--gpg-sign", "-S"],
        "maintenance" => &["--schedule"],
        _ => &[],
    };
    if let Some(option) = telling.iter().find(|option| options::has(args, &[option])) {
        finding.raise(unsure(&format!("git {sub} is told {option}")));
    }
    let first = args.iter().find(|arg| !arg.text.starts_with('-')).map_or("", |arg| arg.text.as_str());
    if (sub == "bisect" && first == "run") || (sub == "maintenance" && matches!(first, "start" | "register"))
    {
        finding.raise(Assessment::new(
            if sub == "bisect" { Risk::Unsure } else { Risk::Guarded },
            format!("git {sub} {first} runs programs"),
        ));
    }
    if sub == "update-ref"
        || sub == "branch" && options::has(args, &["-u", "--set-upstream-to", "--edit-description"])
    {
        finding.raise(Assessment::new(Risk::Unsure, format!("git {sub} changes what steers git")));
    }
    let mut message_next = false;
    for arg in args {
        let text = arg.text.as_str();
        let is_message = std::mem::replace(
            &mut message_next,
            matches!(text, "-m" | "--message" | "--author" | "--date" | "-am" | "--trailer"),
        );
        if is_message || text.starts_with("--message=") || text.starts_with("-m") {
            continue;
        }
        if let WriteRisk::Outside(what) | WriteRisk::Everything(what) = place.changing(arg, &call.folders) {
            finding.raise(
                Assessment::new(Risk::Guarded, format!("git {sub} names {what}, outside the workspace"))
                    .with(Effect::Write(what)),
            );
        }
        finding.raise(match reading(arg, call, place, false) {
            found if found.grade == Risk::Guarded => found,
            _ => Assessment::looks(),
        });
    }
    finding
}
