//! What helps a model after a command, said once per session: a program that is missing, a wait that was slept through.

use crate::cx::ToolCx;
use base::pattern::Pattern;
use base::process::run::Exit;
use base::programs;

const NOT_FOUND: Exit = Exit::Code(127);
const LAST_LINES: usize = 3;
const LONG_SLEEP_S: u64 = 30;

pub fn of(command: &str, exit: &Exit, output: &str, cx: &ToolCx) -> Option<String> {
    let last: Vec<&str> = output.lines().rev().take(LAST_LINES).collect();
    let missing = last.iter().find_map(|line| missing_program(line));
    if let Some(name) = missing.filter(|_| *exit == NOT_FOUND || *exit != Exit::Code(0)) {
        return cx.shell.is_first(&format!("missing {name}")).then(|| missing_words(&name));
    }
    let running = cx.shell.jobs.list().iter().any(|job| job.ended.is_none());
    (running && sleeps(command) && cx.shell.is_first("sleep"))
        .then(|| "Use Job with wait_s instead of sleeping".to_owned())
}

fn missing_program(line: &str) -> Option<String> {
    static MISSING: Pattern = Pattern::new(
        r"(?:^|: )(?:line \d+: )?([A-Za-z0-9_.+-]+): (?:command not found|not found)$|^(?:env: )?[‘'`]?([A-Za-z0-9_.+-]+)[’']?: No such file or directory$|command not found: ([A-Za-z0-9_.+-]+)$",
    );
    let found = MISSING.captures(line.trim())?;
    (1..=3).find_map(|group| found.get(group)).map(|name| name.as_str().to_owned())
}

fn missing_words(name: &str) -> String {
    if programs::is_installed(name) {
        return format!("`{name}` is installed, but the command does not find it");
    }
    match programs::instead_of(name) {
        Some(how) if how.contains(' ') || how.chars().next().is_some_and(char::is_uppercase) => {
            let how = if how.starts_with("the ") || !how.contains(' ') {
                how.to_owned()
            } else {
                format!("`{how}`")
            };
            format!("There is no `{name}` command; use {how}")
        }
        Some(how) => format!("There is no `{name}` command; use `{how}`"),
        None => format!("`{name}` is not installed on this machine"),
    }
}

/// As the whole command, or before a look at something.
fn sleeps(command: &str) -> bool {
    static SLEEP: Pattern = Pattern::new(r"^sleep\s+(\d+)(m?)s?\s*($|;|&&)");
    SLEEP.captures(command).is_some_and(|found| {
        let number: u64 = found[1].parse().unwrap_or(0);
        let seconds = if &found[2] == "m" { number * 60 } else { number };
        seconds >= LONG_SLEEP_S
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
