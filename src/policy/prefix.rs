//! What a lasting "yes" means: the few words at the front of a command that stand for others of its kind, and whether
//! such words cover another command. Knows nothing of levels or files of rules.

use super::command;
use super::place::Place;
use super::programs;
use super::shell::{Simple, split};

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
    "bundle",
    "rake",
    "just",
    "bazel",
    "swift",
    "mix",
    "composer",
    "pip",
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
    "aws",
    "terraform",
    "nx",
    "turbo",
    "tox",
];

/// Their sub-commands that run whatever follows, or change what later ones run.
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
];

/// Where `run NAME` starts what the project itself has named.
const NAMED_SCRIPTS: &[&str] = &["npm", "pnpm", "yarn", "bun"];

/// What "always" would allow: `cargo test` for `cargo test --lib x`. `None` for anything but one plain command, and
/// where the front says too little of what the rest can do.
pub fn general_prefix(command: &str) -> Option<String> {
    let commands = split(command)?;
    let [Simple { words, redirects }] = commands.as_slice() else { return None };
    if redirects.iter().any(|redirect| redirect.target.text != "/dev/null") {
        return None;
    }
    let texts: Vec<&str> = words.iter().take(3).map(|word| word.text.as_str()).collect();
    let program = *texts.first()?;
    let reckless = programs::is_assignment(program)
        || programs::is_reserved(program)
        || matches!(program, "for" | "case" | "select" | "function" | "cd")
        || programs::runs_anything(program)
        || programs::goes_beyond(program)
        || (programs::changes(program) && !is_make(program))
        || command::is_looker(program);
    // Rules are compared word by word, and words are kept apart by single spaces.
    let plain = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    if reckless || !plain(program) {
        return None;
    }
    let sub = texts.get(1).copied();
    let name = programs::name(program);
    if sub == Some("run") && NAMED_SCRIPTS.contains(&name) {
        let script = texts.get(2).filter(|script| plain(script) && !script.starts_with(['-', '.', '/']))?;
        return Some(format!("{program} run {script}"));
    }
    let open_ended = |sub: &str| OPEN_ENDED.contains(&sub.split(':').next().unwrap_or(sub));
    match sub {
        Some(sub) if open_ended(sub) => None,
        Some(sub) if WITH_SUBCOMMAND.contains(&name) => {
            (plain(sub) && !sub.starts_with('-') && words[1].glob_at.is_none())
                .then(|| format!("{program} {sub}"))
        }
        None if WITH_SUBCOMMAND.contains(&name) && !is_make(program) => None,
        _ => Some(program.to_owned()),
    }
}

fn is_make(program: &str) -> bool {
    matches!(programs::name(program), "make" | "gmake")
}

/// Whether every simple command of the line begins with one of the prefixes (or only looks around) and stays in the
/// workspace.
pub fn covered<'a>(command: &str, prefixes: impl Iterator<Item = &'a str> + Clone, place: &Place) -> bool {
    let starts = |simple: &Simple, prefix: &str| {
        let mut have = simple.words.iter().map(|word| word.text.as_str());
        !prefix.is_empty() && prefix.split(' ').all(|word| have.next() == Some(word))
    };
    let stays = |simple: &Simple| {
        command::quiet(simple, place) && simple.words.iter().skip(1).all(|word| place.may_read(word))
    };
    split(command).is_some_and(|commands| {
        commands.iter().all(|simple| {
            command::looks(simple, place)
                || (stays(simple) && prefixes.clone().any(|prefix| starts(simple, prefix)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn prefixes_are_general_but_not_reckless() {
        for (command, prefix) in [
            ("cargo test --lib x", "cargo test"),
            ("cargo test 2>&1", "cargo test"),
            ("pytest -q tests/a.py", "pytest"),
            ("npm run build -- --watch", "npm run build"),
            ("docker build .", "docker build"),
            ("make", "make"),
            ("make it", "make it"),
            ("gcc-13 -c a.c", "gcc-13"),
            ("./check.sh all", "./check.sh"),
        ] {
            assert_eq!(general_prefix(command).as_deref(), Some(prefix), "{command}");
        }
        for command in [
            "bash -c 'x'",
            "/bin/bash x",
            "python3.12 x.py",
            "busybox rm x",
            "ksh x",
            "nice x",
            "setsid x",
            "gawk x",
            "parallel x",
            "stdbuf -o0 x",
            "watch x",
            "gdb x",
            "rm -rf build",
            "cp a b",
            "mv a b",
            "tee a",
            "ln a b",
            "chmod +x a",
            "chown a b",
            "tar xf a",
            "rsync a b",
            "install a b",
            "touch a",
            "mkdir a",
            "truncate -s0 a",
            "sort -o a b",
            "git -C /x push",
            "git config x y",
            "docker run x",
            "docker exec x",
            "uv run x",
            "npm exec x",
            "npm run",
            "npm run --prefix",
            "pnpm dlx x",
            "bundle exec x",
            "mvn exec:java",
            "poetry shell",
            "sudo x",
            "FOO=1 make",
            "a && b",
            "cargo test > f",
            "for x in a",
        ] {
            assert_eq!(general_prefix(command), None, "{command}");
        }
    }

    #[test]
    fn a_prefix_covers_its_kind_inside_the_workspace() {
        let place = Place::new(Path::new("/w"), &[], Path::new("/w"));
        let covered = |command: &str| covered(command, ["cargo test", "tool"].into_iter(), &place);
        for command in ["cargo test --lib && git status", "cargo test 2>&1 | tail -5", "tool a/b"] {
            assert!(covered(command), "{command}");
        }
        for command in [
            "cargo test && rm x",
            "cargo testx",
            "cargo test >f",
            "cargo test --manifest-path ../x/Cargo.toml",
            "cargo test --manifest-path=/x/Cargo.toml",
            "tool /etc/x",
            "tool ~/x",
            "tool -o/etc/x",
            "cat /etc/x",
            "FOO=1 cargo test",
        ] {
            assert!(!covered(command), "{command}");
        }
    }
}
