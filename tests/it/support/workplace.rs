//! A hermetic place to work: a project folder, a home of its own, and the real binary started in it with nothing
//! inherited that could reach a network or a user's settings.
#![allow(dead_code)]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The folders of one test.
pub struct Workplace {
    folder: TempDir,
}

impl Workplace {
    /// An empty project. What a run shows is not told to the model, so that a script needs no reply to it.
    pub fn new() -> Self {
        let place = Self::with_nudges();
        fs::write(place.home().join("config.toml"), "nudges = false\n").unwrap();
        place
    }

    /// An empty project with everything as users have it.
    pub fn with_nudges() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("project")).unwrap();
        fs::create_dir_all(folder.path().join("home")).unwrap();
        fs::create_dir_all(folder.path().join("user")).unwrap();
        Self { folder }
    }

    /// The project folder, canonical.
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project").canonicalize().unwrap()
    }

    /// `MYCODE_HOME`.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// `HOME`: nobody's.
    pub fn user_home(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    /// Writes a file of the project.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A file of the project.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap()
    }

    /// Runs git in the project.
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        let output =
            command.arg("-C").arg(self.project()).args(args).env("HOME", self.home()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Puts what is there under git, as one commit.
    pub fn repository(self) -> Self {
        let steps: [&[&str]; 5] = [
            &["init", "-q", "-b", "main"],
            &["config", "user.name", "n"],
            &["config", "user.email", "e@x"],
            &["add", "."],
            &["commit", "-qm", "first"],
        ];
        for step in steps {
            self.git(step);
        }
        self
    }

    /// The binary with `args`, ready to start.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mycode"));
        command.args(args).current_dir(self.project()).env_clear().stdin(Stdio::null());
        for name in ["PATH", "RUSTUP_TOOLCHAIN", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // What builds need lies in the real home; what its owner has set up for agents is none of the test's.
        for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let usual = || std::env::home_dir().map(|home| home.join(usual).into_os_string());
            command.envs(std::env::var_os(name).or_else(usual).map(|value| (name, value)));
        }
        command.env("HOME", self.user_home()).env("MYCODE_HOME", self.home()).env("LANG", "C.UTF-8");
        // What this machine has installed is none of the test's.
        command.env("MYCODE_LANGUAGE_SERVERS", "false");
        // A repository that happens to lie around the temporary folder is none of the test's.
        command.env("GIT_CEILING_DIRECTORIES", self.folder.path());
        command
    }

    /// `mycode exec` against a server, in the Chat Completions dialect.
    pub fn exec(&self, base_url: &str, args: &[&str]) -> Output {
        let mut all = vec!["exec", "--base-url", base_url, "--model", "test-model"];
        all.extend(args);
        self.command(&all).output().unwrap()
    }

    /// The log of the only (or last) session.
    pub fn log(&self) -> PathBuf {
        let mut logs: Vec<PathBuf> = walkdir::WalkDir::new(self.home().join("state/projects"))
            .into_iter()
            .flatten()
            .map(|entry| entry.path().to_owned())
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        logs.sort();
        logs.pop().expect("a session log")
    }
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Real text, cut anywhere: what an agent reads all day.
pub fn passage(seed: usize, lines: usize) -> String {
    let book = include_str!("../architecture.rs");
    let all: Vec<&str> = book.lines().collect();
    (0..lines).map(|n| format!("{}\n", all[(seed * 37 + n) % all.len()])).collect()
}
