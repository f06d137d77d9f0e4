//! A project's test commands, found by its manifests; the program runs them before a review.

use std::path::Path;

use serde_json::Value;

use base::file;
use base::process::programs;

const MAX_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectCheck {
    pub command: String,
    /// The alternative if that one's test runner is missing.
    pub otherwise: Option<String>,
    pub installed: bool,
}

impl ProjectCheck {
    /// The command whose test runner is installed, as far as can be seen without starting it.
    pub fn usable(&self) -> &str {
        let lacks_pytest = self.command.starts_with("python") && !programs::is_installed("pytest");
        self.otherwise.as_deref().filter(|_| lacks_pytest).unwrap_or(&self.command)
    }
}

const TABLE: &str = include_str!("project.txt");

/// The commands in this section of the table that match the project's files. Reads the disk.
fn commands(root: &Path, heading: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("[{heading}]");
    let rows = TABLE.lines().skip_while(move |line| *line != heading).skip(1);
    rows.map_while(|row| row.split_once(" = ")).filter_map(move |(file, command)| {
        let (name, needle) = file.split_once(" holds ").unwrap_or((file, ""));
        let path = root.join(name);
        let text = || format!("\n{}", file::small_text(&path, MAX_BYTES).unwrap_or_default());
        let holds =
            if needle.is_empty() { path.is_file() } else { text().contains(&needle.replace('^', "\n")) };
        holds.then_some(command)
    })
}

pub fn checks(root: &Path) -> Vec<ProjectCheck> {
    let check = |command: &str| check(root, command);
    if let Some(command) = commands(root, "targets").next() {
        return vec![check(command)];
    }
    let mut found: Vec<&str> = Vec::new();
    for command in commands(root, "manifests").chain(of_package(root)) {
        let tool = |command: &str| command.trim_start_matches("./").get(..3).map(str::to_owned);
        if !found.iter().any(|known| tool(known) == tool(command)) {
            found.push(command);
        }
    }
    let mut checks: Vec<ProjectCheck> = found.into_iter().map(check).collect();
    checks.extend(of_python(root));
    checks
}

fn check(root: &Path, command: &str) -> ProjectCheck {
    let program = command.split(' ').next().unwrap_or_default();
    let installed =
        if program.contains('/') { root.join(program).exists() } else { programs::is_installed(program) };
    ProjectCheck { command: command.to_owned(), otherwise: None, installed }
}

fn of_package(root: &Path) -> Option<&'static str> {
    let package = file::small_text(&root.join("package.json"), MAX_BYTES)?;
    let package: Value = serde_json::from_str(&package).ok()?;
    let script = package["scripts"]["test"].as_str()?;
    // The placeholder that `npm init` writes.
    if script.contains("no test specified") {
        return None;
    }
    commands(root, "packages").next()
}

fn of_python(root: &Path) -> Option<ProjectCheck> {
    let is_test =
        |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    let has_tests = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_str().is_some_and(is_test))
    };
    let folder = ["tests", "test"].into_iter().find(|name| has_tests(&root.join(name)));
    let is_configured = commands(root, "python").next().is_some();
    if folder.is_none() && !has_tests(root) && !is_configured {
        return None;
    }
    let own = [".venv/bin/python", "venv/bin/python"].into_iter().find(|path| root.join(path).exists());
    let python = own.unwrap_or(if programs::is_installed("python3") { "python3" } else { "python" });
    let start = folder.filter(|name| !root.join(name).join("__init__.py").exists());
    let start = start.map_or(String::new(), |name| format!(" -s {name}"));
    let otherwise = Some(format!("{python} -m unittest discover{start}"));
    Some(ProjectCheck { otherwise, ..check(root, &format!("{python} -m pytest -q")) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let shown = |check: ProjectCheck| match check.otherwise {
            Some(otherwise) => format!("{} or {otherwise}", check.command),
            None => check.command,
        };
        checks(folder.path()).into_iter().map(shown).collect()
    }

    #[test]
    fn manifests_name_the_tests() {
        assert_eq!(
            of(&[("Cargo.toml", "[package]"), ("package.json", r#"{"scripts":{"test":"jest"}}"#)]),
            ["cargo test", "npm test"]
        );
        assert_eq!(of(&[("Cargo.toml", ""), ("Makefile", "all:\n\ntest: all\n")]), ["make test"]);
        assert_eq!(
            of(&[
                ("Makefile", "all:\n\tcc a.c\n"),
                ("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)
            ]),
            [""; 0]
        );
        assert_eq!(
            of(&[("pnpm-lock.yaml", ""), ("package.json", r#"{"scripts":{"test":"x"}}"#)]),
            ["pnpm test"]
        );
        assert_eq!(of(&[("gradlew", ""), ("build.gradle", "")]), ["./gradlew test"]);
        let python = of(&[("tests/test_a.py", ""), ("a.py", "")]);
        assert!(python[0].ends_with("-m pytest -q or python3 -m unittest discover -s tests"), "{python:?}");
        assert_eq!(of(&[("README.md", ""), ("a.py", "")]), [""; 0]);
    }
}
