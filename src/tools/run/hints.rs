//! Hints after a command, each once per session: a missing program, a place that can't be written, a needless sleep; and why
//! the network failed.

use crate::cx::ToolCx;
use base::pattern::Pattern;
use base::process::programs;
use base::process::run::Exit;
use guard::sandbox::spec::Confinement;

const LAST_LINES: usize = 3;
const LONG_SLEEP_S: u64 = 30;

pub fn of(command: &str, exit: &Exit, output: &str, cx: &ToolCx) -> Option<String> {
    let last: Vec<&str> = output.lines().rev().take(LAST_LINES).collect();
    let missing = last.iter().find_map(|line| missing_program(line));
    // Programs before a pipe don't affect the exit code.
    let failed =
        |name: &str| *exit != Exit::Code(0) || command.contains('|') && !programs::is_installed(name);
    if let Some(name) = missing.filter(|name| failed(name)) {
        return cx.shell.is_first(&format!("missing {name}")).then(|| missing_words(&name));
    }
    if matches!(cx.confinement, Confinement::Confined { .. })
        && READ_ONLY.is_match(output)
        && cx.shell.is_first("read-only")
    {
        return Some("In the sandbox a command writes only in the workspace and in /tmp".to_owned());
    }
    // Message of sudo 1.9.16, read in November 2026.
    let is_held = output.contains("\"no new privileges\" flag is set");
    if is_held && !matches!(cx.confinement, Confinement::Confined { .. }) && cx.shell.is_first("sudo") {
        let why = "With the user's deny rules for commands, sudo can't gain privileges; the user must run it";
        return Some(why.to_owned());
    }
    if let Some(name) = hidden_from_git(command, output, cx)
        && cx.shell.is_first("hidden from git")
    {
        return Some(format!(
            "A rule hides {name} from commands, so git calls it modified or can't read it; -- . ':(exclude){name}' leaves it out"
        ));
    }
    let running = cx.shell.jobs.list().iter().any(|job| job.ended.is_none());
    (running && sleeps(command) && cx.shell.is_first("sleep"))
        .then(|| "Use Job with wait_s instead of sleeping".to_owned())
}

/// A file that git lists as modified, or fails at, only because its content is hidden.
fn hidden_from_git<'o>(command: &str, output: &'o str, cx: &ToolCx) -> Option<&'o str> {
    if !command.contains("git") || cx.denied.is_empty() {
        return None;
    }
    static CHANGED: Pattern = Pattern::new(
        r"^\s*(?:[MDTRA]{1,2}\s|modified:|deleted:|typechange:|diff --git |error: unable to index|fatal: cannot hash|fatal: Unable to process)",
    );
    let changed = output.lines().filter(|line| CHANGED.is_match(line));
    let names = changed.filter_map(|line| line.split_whitespace().last());
    names
        .map(|name| name.trim_start_matches("b/").trim_matches('\''))
        .find(|name| cx.denied.hides(&cx.root.join(name)))
}

fn missing_program(line: &str) -> Option<String> {
    static MISSING: Pattern = Pattern::new(include_str!("missing.regex"));
    let found = MISSING.captures(line.trim())?;
    (1..=3).find_map(|group| found.get(group)).map(|name| name.as_str().to_owned())
}

fn missing_words(name: &str) -> String {
    if programs::is_installed(name) {
        return format!("`{name}` is installed, but the command does not find it");
    }
    match programs::instead_of(name) {
        Some(how) => {
            let is_tool = !how.contains(' ') && how.starts_with(char::is_uppercase);
            let quote = if is_tool || how.starts_with("the ") { "" } else { "`" };
            format!("There is no `{name}` command; use {quote}{how}{quote}")
        }
        None => format!("`{name}` is not installed on this machine"),
    }
}

fn sleeps(command: &str) -> bool {
    static SLEEP: Pattern = Pattern::new(r"^sleep\s+(\d+)(m?)s?\s*($|;|&&)");
    SLEEP.captures(command).is_some_and(|found| {
        let number: u64 = found[1].parse().unwrap_or(0);
        let seconds = if &found[2] == "m" { number * 60 } else { number };
        seconds >= LONG_SLEEP_S
    })
}

static READ_ONLY: Pattern = Pattern::new(r"(?i)read-only file ?system|\bEROFS\b");
static REFUSED: Pattern = Pattern::new("(?i)connection refused|econnrefused|could(n't| not) connect to");
static LOOPBACK: Pattern = Pattern::new(r"127\.0\.0\.1|localhost|::1|0\.0\.0\.0");
static NO_NETWORK: Pattern = Pattern::new(include_str!("no_network.regex"));

/// In a sandbox, network errors look as if a server were down. `None` with network access or without an error.
pub fn network(confinement: &Confinement, command: &str, output: &str) -> Option<&'static str> {
    let Confinement::Confined { network: false, .. } = confinement else { return None };
    if REFUSED.is_match(output) && (LOOPBACK.is_match(output) || LOOPBACK.is_match(command)) {
        return Some(
            "commands have a loopback of their own: servers of the host cannot be reached at localhost. Start the server \
             with `background: true`, or repeat the call with `network: true` if the user may be asked",
        );
    }
    NO_NETWORK.is_match(output).then_some(
        "this command has no network. If it needs one and the user may be asked, repeat the call with `network: true`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard::sandbox::spec::SandboxLevel;

    #[test]
    fn programs_that_are_missing() {
        for (line, name) in [
            ("bash: line 1: pip: command not found", Some("pip")),
            ("sh: 1: cargo: not found", Some("cargo")),
            ("zsh: command not found: node", Some("node")),
            ("error: file not found", None),
            ("a.py: No such file or directory (os error 2)", None),
        ] {
            assert_eq!(missing_program(line).as_deref(), name, "{line}");
        }
        assert!(missing_words("no-such-program-here").contains("is not installed"));
        assert!(
            sleeps("sleep 60; cat log")
                && sleeps("sleep 1m")
                && !sleeps("sleep 5")
                && !sleeps("make && sleep 60")
        );
    }

    #[test]
    fn only_without_a_network_and_only_where_one_is_missed() {
        let confined = |open| Confinement::Confined {
            level: SandboxLevel::Workspace,
            network: open,
            opened: Vec::new(),
        };
        let curl =
            "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server";
        let node = "Error: connect ECONNREFUSED 127.0.0.1:5432";
        for (command, output, part) in [
            ("curl localhost:8080", curl, "loopback of their own"),
            ("npm test", node, "loopback of their own"),
            ("psql -h localhost", "psql: error: Connection refused", "loopback of their own"),
            ("go mod tidy", "dial tcp: lookup proxy.golang.org: no such host", "no network"),
        ] {
            assert!(
                network(&confined(false), command, output).is_some_and(|said| said.contains(part)),
                "{command}"
            );
            assert_eq!(network(&confined(true), command, output), None);
            assert_eq!(network(&Confinement::Free, command, output), None);
        }
        assert_eq!(network(&confined(false), "cargo test", "test connection ... ok"), None);
        assert_eq!(
            network(&confined(false), "ssh example.com", "ssh: connect to host x: Connection refused"),
            None
        );
    }
}
