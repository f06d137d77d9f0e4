//! A place to attack from inside the sandbox: a project, a home with secrets, and a folder that is neither.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::workplace::stderr;
use super::workplace::stdout;

/// Stands in every secret; must never be seen.
pub const SECRET: &str = "TOP-SECRET-7241";

/// A project, a home with secrets, and a folder that is neither; not in `/tmp`, of which the sandbox has its own.
pub struct World {
    _dir: TempDir,
    pub project: PathBuf,
    pub home: PathBuf,
    pub outside: PathBuf,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = dir.path().canonicalize().unwrap();
        let world = Self {
            project: top.join("project"),
            home: top.join("home"),
            outside: top.join("outside"),
            _dir: dir,
        };
        for folder in [".git/hooks", ".vscode", "src"] {
            fs::create_dir_all(world.project.join(folder)).unwrap();
        }
        for folder in [
            ".ssh",
            ".aws",
            ".config/gh",
            ".config/google-chrome/Default",
            ".docker",
            ".local/share/keyrings",
        ] {
            fs::create_dir_all(world.home.join(folder)).unwrap();
        }
        fs::create_dir_all(world.outside.join("state")).unwrap();
        for (name, text) in [
            (".ssh/id_rsa", SECRET),
            (".aws/credentials", SECRET),
            (".config/gh/hosts.yml", SECRET),
            (".config/google-chrome/Default/Cookies", SECRET),
            (".docker/config.json", SECRET),
            (".local/share/keyrings/login.keyring", SECRET),
            (".netrc", SECRET),
            (".npmrc", SECRET),
            (".git-credentials", SECRET),
            (".bash_history", SECRET),
            (".bashrc", "# mine\n"),
            (".gitconfig", "[user]\n\tname = A\n\temail = a@b.c\n[safe]\n\tdirectory = *\n"),
        ] {
            fs::write(world.home.join(name), text).unwrap();
        }
        fs::write(world.outside.join("file"), "mine\n").unwrap();
        fs::write(world.outside.join("state/key"), SECRET).unwrap();
        symlink(&world.outside, world.project.join("way_out")).unwrap();
        fs::write(world.project.join(".vscode/settings.json"), "{}\n").unwrap();
        fs::write(world.project.join("CODE_LAW.md"), "# rules\n").unwrap();
        fs::write(world.project.join(".gitignore"), "way_out\n*.o\n").unwrap();
        fs::write(world.project.join("src/a.py"), "def twice(x):\n    return 2 * x\n").unwrap();
        fs::remove_dir_all(world.project.join(".git")).unwrap();
        let made = world.plain("git init -q -b main && git add -A && git commit -qm first && git tag one");
        assert!(made.status.success(), "{}", stderr(&made));
        world
    }

    pub fn start(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.project).env_clear().stdin(Stdio::null());
        for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // The toolchains of the machine stay where they are, whatever the home.
        if let Some(home) = std::env::home_dir() {
            for (name, folder) in
                [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")]
            {
                if home.join(folder).is_dir() && std::env::var_os(name).is_none() {
                    command.env(name, home.join(folder));
                }
            }
        }
        command
            .env("HOME", &self.home)
            .env("MYCODE_HOME", self.outside.join("state"))
            .env("OUT", &self.outside)
            .env("LANG", "C.UTF-8")
            .env("OPENAI_API_KEY", SECRET)
            .env("DATABASE_URL", format!("postgres://me:{SECRET}@host/db"))
            .env("AWS_ACCESS_KEY_ID", SECRET);
        command
    }

    pub fn plain(&self, line: &str) -> Output {
        self.start("bash", &["-c", line]).output().unwrap()
    }

    pub fn sandbox(&self, flags: &[&str], line: &str) -> Command {
        let mut args = vec!["sandbox"];
        args.extend(flags);
        args.extend(["--", line]);
        self.start(env!("CARGO_BIN_EXE_mycode"), &args)
    }

    pub fn run(&self, flags: &[&str], line: &str) -> Output {
        self.sandbox(flags, line).output().unwrap()
    }

    /// Everything that no command may change, by path.
    pub fn fingerprint(&self, with_project: bool) -> BTreeMap<PathBuf, Vec<u8>> {
        let protected =
            [".git/hooks", ".git/config", ".vscode", "CODE_LAW.md", ".mycode", ".github", ".mcp.json"];
        let mut roots = vec![self.home.clone(), self.outside.clone()];
        if with_project {
            roots.push(self.project.clone());
        } else {
            roots.extend(protected.iter().map(|name| self.project.join(name)));
        }
        let entries = roots.iter().flat_map(|root| walkdir::WalkDir::new(root).into_iter().flatten());
        // Ours: what the program itself writes around a command.
        let state = self.outside.join("state/state");
        let ours = [state.join("private"), state.join("set-aside"), state.join("build-caches")];
        let theirs = entries.filter(|entry| {
            entry.path() != state && !ours.iter().any(|folder| entry.path().starts_with(folder))
        });
        theirs.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap_or_default())).collect()
    }
}

/// Whether this machine can confine at all; says so when not.
pub fn walls() -> bool {
    let world = World::new();
    let tried = world.run(&[], "true");
    if tried.status.code() == Some(3) {
        eprintln!("SKIPPED: the kernel allows no sandbox here: {}", stderr(&tried));
        return false;
    }
    assert!(tried.status.success(), "{}", stderr(&tried));
    true
}

/// The same command where no namespaces can be made, as in most containers.
pub fn without_namespaces(command: &Command) -> Command {
    let none = "for n in mnt pid net ipc user; do echo 0 > /proc/sys/user/max_${n}_namespaces || exit 3; done; exec \"$@\"";
    let mut outer = Command::new("unshare");
    outer.args(["-Ur", "sh", "-c", none, "sh"]).arg(command.get_program()).args(command.get_args());
    outer.env_clear().stdin(Stdio::null());
    outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    outer
}

/// Whether there are namespaces, which some promises need.
pub fn namespaces(world: &World) -> bool {
    stdout(&world.run(&[], "readlink /proc/self/ns/net"))
        != stdout(&world.plain("readlink /proc/self/ns/net"))
}

/// Whether a process with this command line runs.
pub fn running(command: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines
        .flatten()
        .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ") == command)
}
