//! What a lasting "yes" means: the few words at the front of a command that stand for others of its kind, and
//! whether such words cover another command.

use super::command::{AssessedCall, AssessedCommand};
use crate::policy::programs::assessment::Risk;
use crate::policy::programs::interpreters::is_interpreter;
use crate::policy::programs::network;
use crate::policy::programs::readers::is_looker;
use crate::policy::programs::writers::is_changer;
use crate::shell::interpret::call::Arg;
use crate::shell::interpret::wrappers::is_shell;

/// Programs of which the first word alone says too little: the prefix takes the second word too.
const WITH_SUBCOMMAND: &[&str] = &[
    "cargo",
    "git",
    "npm",
    "pnpm",
    "yarn",
    "go",
    "make",
    "uv",
    "poetry",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "dotnet",
    "mvn",
    "gradle",
    "gradlew",
    "mvnw",
    "bundle",
    "rake",
    "just",
    "task",
    "bazel",
    "swift",
    "mix",
    "composer",
    "pip",
    "pip3",
    "rustup",
    "deno",
    "bun",
    "hatch",
    "pdm",
    "rye",
    "pipenv",
    "conda",
    "mise",
    "nix",
    "brew",
    "gem",
    "gh",
    "glab",
    "aws",
    "gcloud",
    "az",
    "terraform",
    "nx",
    "turbo",
    "cmake",
    "ng",
    "zig",
    "stack",
    "cabal",
    "sbt",
    "lein",
    "ninja",
    "meson",
];

/// Programs for which no prefix is offered: they run whatever follows. So do those that reach beyond the workspace.
const RECKLESS: &[&str] = &[
    "env",
    "xargs",
    "parallel",
    "eval",
    "exec",
    "command",
    "builtin",
    "source",
    ".",
    "trap",
    "alias",
    "nohup",
    "timeout",
    "gtimeout",
    "time",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "setsid",
    "stdbuf",
    "unbuffer",
    "script",
    "watch",
    "entr",
    "flock",
    "valgrind",
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "emacs",
    "nano",
    "expect",
    "find",
    "fd",
    "npx",
    "pnpx",
    "bunx",
    "busybox",
    "toybox",
    "sqlite3",
    "psql",
    "mysql",
    "dd",
    "man",
    "less",
    "cd",
    "set",
    "shopt",
    "export",
    "declare",
    "hyperfine",
    "coverage",
    "bats",
    "dot",
    "make-install",
    "catchsegv",
];

/// Sub-commands that run whatever follows, or change what later ones run.
const OPEN_ENDED: &[&str] = &[
    "run",
    "exec",
    "config",
    "x",
    "dlx",
    "shell",
    "sh",
    "eval",
    "repl",
    "env",
    "tool",
    "task",
    "compose",
    "create",
    "init",
    "develop",
    "submodule",
    "bisect",
    "rebase",
    "filter-branch",
    "difftool",
    "mergetool",
    "alias",
    "extension",
    "cp",
    "remote",
    "credential",
    "clone",
    "install-hooks",
    "api",
    "auth",
    "secret",
    "ssh",
    "apply",
    "archive",
    "worktree",
    "maintenance",
    "global",
    "self",
    "plugin",
    "set",
];

/// Where `run NAME` starts what the project itself has named.
const NAMED_SCRIPTS: &[&str] = &["npm", "pnpm", "yarn", "bun", "composer", "deno"];

/// What "always" would allow: `cargo test` for `cargo test --lib x`. `None` for anything but one plain command (others
/// may look around beside it), and where the front says too little of what the rest can do.
pub fn general_prefix(judged: &AssessedCommand) -> Option<String> {
    let AssessedCommand::Segments(segments) = judged else { return None };
    let mut telling = segments.iter().filter(|segment| segment.finding.grade > Risk::Looks);
    let (Some(one), None) = (telling.next(), telling.next()) else { return None };
    of_segment(one)
}

fn of_segment(segment: &AssessedCall) -> Option<String> {
    let call = &segment.call;
    if segment.finding.grade >= Risk::Guarded
        || call.hidden.is_some()
        || call.wrapped
        || call.is_function
        || !call.assignments.is_empty()
    {
        return None;
    }
    if writes(segment) {
        return None;
    }
    let words: Vec<&str> = call.argv.iter().take(3).map_while(Arg::certain).collect();
    let program = *words.first()?;
    let name = call.name();
    let beyond = network::reaches_beyond(name) && !WITH_SUBCOMMAND.contains(&name);
    let reckless = beyond
        || RECKLESS.contains(&name)
        || is_interpreter(name)
        || is_shell(name)
        || is_changer(name)
        || is_looker(name);
    // Rules are compared word by word, and words are kept apart by single spaces.
    let plain =
        |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if reckless || !plain(program) {
        return None;
    }
    let sub = words.get(1).copied();
    if sub == Some("run") && NAMED_SCRIPTS.contains(&name) {
        let script = words.get(2).filter(|script| plain(script) && !script.starts_with(['-', '.', '/']))?;
        return Some(format!("{program} run {script}"));
    }
    let open_ended = |sub: &str| OPEN_ENDED.contains(&sub.split(':').next().unwrap_or(sub));
    if name == "cargo" && sub == Some("run") {
        return Some(format!("{program} run"));
    }
    if WITH_SUBCOMMAND.contains(&name) {
        let is_make = matches!(name, "make" | "ninja" | "just" | "task");
        return match sub {
            Some(sub) if plain(sub) && !sub.starts_with('-') && !open_ended(sub) && !sub.contains('=') => {
                Some(format!("{program} {sub}"))
            }
            None if is_make && call.argv.len() == 1 => Some(program.to_owned()),
            _ => None,
        };
    }
    match sub {
        Some(sub) if open_ended(sub) => None,
        _ => Some(program.to_owned()),
    }
}

/// Whether a redirection keeps what the program prints.
fn writes(segment: &AssessedCall) -> bool {
    segment.call.files.iter().any(|file| file.writes && file.target.text != "/dev/null")
}

/// Whether the segment begins with one of the prefixes. What touches secrets, steering files or places outside is
/// covered by no prefix.
pub fn covers<'a>(segment: &AssessedCall, mut prefixes: impl Iterator<Item = &'a str>) -> bool {
    let call = &segment.call;
    if segment.finding.grade >= Risk::Guarded
        || call.hidden.is_some()
        || !call.assignments.is_empty()
        || writes(segment)
    {
        return false;
    }
    let name = call.name();
    prefixes.any(|prefix| {
        let mut have = call.argv.iter().map(|arg| arg.certain());
        let matches = !prefix.is_empty() && prefix.split(' ').all(|word| have.next().flatten() == Some(word));
        // Whole targets only: `make` is not `make deploy`, nor `make -f other`.
        let bare = prefix == name && WITH_SUBCOMMAND.contains(&name) && call.argv.len() > 1;
        matches && !bare
    })
}
