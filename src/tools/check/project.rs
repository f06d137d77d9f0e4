//! The commands that test a project, by its manifests: what the program itself runs before a review.

use std::path::Path;

use serde_json::Value;

use base::file;
use base::programs;

const MAX_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectCheck {
    pub command: String,
    /// Where that one lacks its test runner.
    pub otherwise: Option<String>,
    pub installed: bool,
}

impl ProjectCheck {
    /// The command that has its test runner, as far as can be seen without starting it.
    pub fn usable(&self) -> &str {
        let lacks_pytest = self.command.starts_with("python") && !programs::is_installed("pytest");
        self.otherwise.as_deref().filter(|_| lacks_pytest).unwrap_or(&self.command)
    }
}

/// File, text that it must hold, command. The first of a file's name that is there decides.
const MANIFESTS: &[(&str, &str, &str)] = &[
    ("Cargo.toml", "", "cargo test"),
    ("go.mod", "", "go test ./..."),
    ("mvnw", "", "./mvnw -q test"),
    ("pom.xml", "", "mvn -q test"),
    ("gradlew", "", "./gradlew test"),
    ("build.gradle", "", "gradle test"),
    ("build.gradle.kts", "", "gradle test"),
    ("mix.exs", "", "mix test"),
    (".rspec", "", "bundle exec rspec"),
    ("Rakefile", "test", "rake test"),
    ("phpunit.xml", "", "vendor/bin/phpunit"),
    ("phpunit.xml.dist", "", "vendor/bin/phpunit"),
    ("Package.swift", "", "swift test"),
    ("build.zig", "test", "zig build test"),
    ("dune-project", "", "dune test"),
    ("pubspec.yaml", "flutter:", "flutter test"),
    ("stack.yaml", "", "stack test"),
];

/// A project's own word for its tests: then nothing else runs.
const TARGETS: &[(&str, &str, &str)] = &[
    ("justfile", "\ntest", "just test"),
    ("Makefile", "\ntest:", "make test"),
    ("Makefile", "\ncheck:", "make check"),
];

/// Reads the disk.
pub fn checks(root: &Path) -> Vec<ProjectCheck> {
    let holds = |(name, needle, _): &&(&str, &str, &str)| {
        file::small_text(&root.join(name), MAX_BYTES).is_some_and(|text| format!("\n{text}").contains(needle))
    };
    let check = |command: &str| check(root, command);
    if let Some((_, _, command)) = TARGETS.iter().find(holds) {
        return vec![check(command)];
    }
    let found = MANIFESTS.iter().filter(holds).map(|(_, _, command)| *command);
    let mut commands: Vec<&str> = Vec::new();
    for command in found.chain(of_package(root)) {
        let tool = |command: &str| command.trim_start_matches("./").get(..3).map(str::to_owned);
        if !commands.iter().any(|known| tool(known) == tool(command)) {
            commands.push(command);
        }
    }
    let mut checks: Vec<ProjectCheck> = commands.into_iter().map(check).collect();
    checks.extend(of_python(root));
    checks
}

fn check(root: &Path, command: &str) -> ProjectCheck {
    let program = command.split(' ').next().unwrap_or_default();
    let installed = match program.contains('/') {
        true => root.join(program).exists(),
        false => programs::is_installed(program),
    };
    ProjectCheck { command: command.to_owned(), otherwise: None, installed }
}

fn of_package(root: &Path) -> Option<&'static str> {
    let package = file::small_text(&root.join("package.json"), MAX_BYTES)?;
    let package: Value = serde_json::from_str(&package).ok()?;
    let script = package["scripts"]["test"].as_str()?;
    // What `npm init` writes.
    if script.contains("no test specified") {
        return None;
    }
    let managers = [
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lock", "bun run test"),
        ("bun.lockb", "bun run test"),
    ];
    Some(
        managers.iter().find(|(lock, _)| root.join(lock).exists()).map_or("npm test", |(_, command)| command),
    )
}

fn of_python(root: &Path) -> Option<ProjectCheck> {
    let is_test =
        |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    let has_tests = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_str().is_some_and(is_test))
    };
    let folder = ["tests", "test"].into_iter().find(|name| has_tests(&root.join(name)));
    let configured = [
        ("pytest.ini", ""),
        ("conftest.py", ""),
        ("pyproject.toml", "[tool.pytest"),
        ("setup.cfg", "[tool:pytest"),
    ];
    let is_configured = configured.iter().any(|(name, needle)| {
        file::small_text(&root.join(name), MAX_BYTES).is_some_and(|text| text.contains(needle))
    });
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
