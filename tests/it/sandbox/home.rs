//! What confined commands see of a home: the dot folders of toolchains, and nothing of those that no list knows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

const SECRET: &str = "TOP-SECRET-5513";

/// Of programs that nobody has heard of.
const ODD: &[&str] = &[
    ".oddvendor/session.json",
    ".odd-token",
    ".config/oddcloud/credentials.yml",
    ".config/odd.toml",
    ".local/share/oddmail/inbox",
    ".local/state/odd/log",
    ".local/oddity/key",
];
/// Of toolchains, and of the user's other work.
const SEEN: &[&str] = &[
    ".cargo/config.toml",
    ".rustup/settings.toml",
    ".nvm/alias/default",
    ".pyenv/version",
    ".m2/repository/x.jar",
    ".gitconfig",
    ".bashrc",
    ".config/git/ignore",
    ".config/pip/constraints.txt",
    ".local/bin/tool",
    ".local/lib/python3/x.py",
    ".local/share/uv/tools/x",
    ".oddshell/bin/odd-tool",
    "other-project/README.md",
    ".dotfiles/notes/README.md",
];

/// A home and a project in one of its dot folders; not in `/tmp`, of which the sandbox has its own.
struct World {
    _dir: TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let home = dir.path().canonicalize().unwrap().join("home");
        for (names, text) in [(ODD, SECRET), (SEEN, "seen\n")] {
            for name in names {
                let path = home.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        Self { project: home.join(".dotfiles/notes"), home, _dir: dir }
    }

    fn run(&self, program: &Path, level: &str, script: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        Command::new(program)
            .args(["sandbox", "--permission", level, "--", script])
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", format!("{}:{path}", self.home.join(".oddshell/bin").display()))
            .env("HOME", &self.home)
            .env("MYCODE_HOME", self.home.with_file_name("state"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The commands that look for both.
    fn script() -> String {
        let cat = |names: &[&str]| names.iter().map(|name| format!("cat ~/{name}\n")).collect::<String>();
        format!("grep -rs TOP ~; find ~ -type f -exec cat {{}} +; {} echo ---\n{}", cat(ODD), cat(SEEN))
    }

    /// `None` where nothing can be confined.
    fn check(output: &Output) -> Option<()> {
        let (said, why) = (stdout(output), stderr(output));
        if why.contains("can't be confined") || output.status.code() == Some(3) {
            eprintln!("SKIPPED: {why}");
            return None;
        }
        assert!(!said.contains(SECRET), "{said}");
        let (_, seen) = said.split_once("---\n").unwrap_or_else(|| panic!("{said}\n{why}"));
        assert_eq!(seen, "seen\n".repeat(SEEN.len()), "{why}");
        Some(())
    }
}

#[test]
fn only_what_toolchains_keep_in_a_home_is_seen() {
    let world = World::new();
    let program = Path::new(env!("CARGO_BIN_EXE_mycode"));
    for level in ["auto", "read-only"] {
        let output = world.run(program, level, &World::script());
        if World::check(&output).is_none() {
            return;
        }
    }
    let before: Vec<_> =
        walkdir::WalkDir::new(&world.home).into_iter().flatten().map(|entry| entry.into_path()).collect();
    let output = world.run(
        program,
        "auto",
        "mkdir ~/.oddvendor/x; echo y > ~/.odd-token; echo y > ~/.new; ls ~/.oddvendor",
    );
    assert_eq!(stdout(&output), "", "{}", stderr(&output));
    let after: Vec<_> =
        walkdir::WalkDir::new(&world.home).into_iter().flatten().map(|entry| entry.into_path()).collect();
    assert_eq!(before, after);
}

/// Inside of our own sandbox there are no namespaces: Landlock alone must tell what is seen from what is not.
#[test]
fn the_same_under_landlock_alone() {
    // Without namespaces /tmp is the machine's own and open as a whole: a home below it cannot be hidden by Landlock.
    if Path::new(env!("CARGO_TARGET_TMPDIR")).starts_with("/tmp") {
        return;
    }
    let world = World::new();
    let outer = World::new();
    fs::copy(env!("CARGO_BIN_EXE_mycode"), outer.project.join("mycode")).unwrap();
    // The inner home is the outer project's, so that the outer walls hide nothing of it.
    let inner = outer.project.join("home");
    fs::rename(&world.home, &inner).unwrap();
    fs::write(outer.project.join("script"), World::script()).unwrap();
    let line = "export HOME=$PWD/home; PATH=$HOME/.oddshell/bin:$PATH; s=$(cat script); cd ~/.dotfiles/notes; \
        MYCODE_HOME=../../../own ../../../mycode sandbox -- \"$s\"";
    let output = outer.run(Path::new(env!("CARGO_BIN_EXE_mycode")), "auto", line);
    let _ = World::check(&output);
}

/// Go's cache lasts from one command to the next, for this project's confined commands and nobody else.
#[test]
fn a_project_keeps_its_own_build_cache() {
    let world = World::new();
    let program = Path::new(env!("CARGO_BIN_EXE_mycode"));
    let first =
        world.run(program, "auto", "echo built > $GOCACHE/entry; ls -A \"$(dirname \"$GOCACHE\")\"/..");
    if !first.status.success() {
        assert!(stderr(&first).contains("can't be confined"), "{}", stderr(&first));
        return;
    }
    assert_eq!(stdout(&first).lines().count(), 1, "only this project's: {}", stdout(&first));
    let again = world.run(
        program,
        "auto",
        "cat $GOCACHE/entry && ! touch $GOCACHE/../x && ! mv $GOCACHE $GOCACHE.old",
    );
    assert_eq!(stdout(&again), "built\n", "{}", stderr(&again));
    assert!(!world.home.join(".cache").exists());
    let other = World { project: world.home.join("other-project"), ..World::new() };
    let elsewhere = World { home: world.home.clone(), ..other };
    let unseen = elsewhere.run(program, "auto", "ls -A $GOCACHE");
    assert_eq!(stdout(&unseen), "", "{}", stderr(&unseen));
}
