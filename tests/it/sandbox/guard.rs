//! What the guard does after a command, outside of the walls: it must not follow folders that the command has led elsewhere,
//! and the user's own files must outlive it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

/// A project, a home beside it, and others' projects in that home; not in `/tmp`, of which the sandbox has its own.
struct World {
    _dir: TempDir,
    project: PathBuf,
    home: PathBuf,
    state: PathBuf,
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What belongs to the user and lies where the attacks lead.
fn fill_home(home: &Path) {
    for name in [".ssh/config", ".ssh/hooks/x", "other/.github/workflows/ci.yml", "other/.git/HEAD"] {
        write(&home.join(name), "mine");
    }
    for name in ["other/.git/hooks/pre-commit", "other/.git/config", "other/.git/info/attributes"] {
        write(&home.join(name), "mine");
    }
}

fn repository(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(folder).status().unwrap().success());
    for name in [".github/CODEOWNERS", ".git/worktrees/a/notes", ".git/worktrees/b/notes"] {
        write(&folder.join(name), "x");
    }
}

fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten();
    entries.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap_or_default())).collect()
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = dir.path().canonicalize().unwrap();
        let world =
            Self { project: top.join("p"), home: top.join("h"), state: top.join("own/state"), _dir: dir };
        repository(&world.project);
        fill_home(&world.home);
        world
    }

    fn sandbox(&self, script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mycode"));
        command
            .args(["sandbox", "--permission", "auto", "--", script])
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("MYCODE_HOME", self.state.parent().unwrap())
            .stdin(Stdio::null());
        command
    }

    /// `None` where nothing can be confined.
    fn run(&self, script: &str) -> Option<Output> {
        let output = self.sandbox(script).output().unwrap();
        let said = stderr(&output);
        if said.contains("can't be confined") {
            eprintln!("SKIPPED: {said}");
            return None;
        }
        assert!(!said.contains("did not run"), "{said}");
        Some(output)
    }
}

/// Folders with protected paths in them, swapped for links to the user's own.
const SWAPS: &str = "mv .github gh2; ln -s ~/other/.github .github
    mv .git/worktrees/a .git/wa; ln -s ~/.ssh .git/worktrees/a
    mv .git/worktrees/b .git/wb; ln -s ~/other/.git .git/worktrees/b
    mv .git .g; ln -s ~/.ssh .git
    ls -ld .github .git/worktrees/a; echo tried";

#[test]
fn swapped_folders_are_not_followed() {
    let world = World::new();
    let before = everything(&world.home);
    let Some(output) = world.run(SWAPS) else { return };
    assert!(stdout(&output).contains("tried"), "{}", stderr(&output));
    assert!(world.project.join(".github").is_symlink(), "the attack was not run");
    assert_eq!(everything(&world.home), before, "{}", stderr(&output));
    assert!(stderr(&output).contains("was replaced while the command ran"), "{}", stderr(&output));
}

/// Inside of our own sandbox there are no namespaces: nothing is mounted over what is protected.
#[test]
fn swapped_folders_are_not_followed_under_landlock_alone() {
    let world = World::new();
    let (inner, home) = (world.project.join("inner"), world.project.join("home"));
    repository(&inner);
    // The sandbox around it must not keep this repository in its place.
    fs::rename(inner.join(".git"), inner.join(".g")).unwrap();
    fill_home(&home);
    write(&inner.join(".mcp.json"), "mine");
    fs::copy(env!("CARGO_BIN_EXE_mycode"), world.project.join("mycode")).unwrap();
    let before = everything(&home);
    for attack in
        [SWAPS, "mv .git .g; mkdir .git; echo evil > .git/config; echo evil > .mcp.json; echo tried"]
    {
        let line = format!(
            "cd inner && mv .g .git && HOME=$OLDPWD/home MYCODE_HOME=$OLDPWD/own ../mycode sandbox -- '{attack}'"
        );
        let Some(output) = world.run(&line) else { return };
        if output.status.code() == Some(3) {
            eprintln!("SKIPPED: no Landlock here");
            return;
        }
        assert!(stdout(&output).contains("tried"), "{}", stderr(&output));
        assert_eq!(everything(&home), before, "{}", stderr(&output));
        // Neither the link nor the new folder stays where git would use it.
        assert!(!inner.join(".git").exists(), "{}", stderr(&output));
        assert!(inner.join(".g/HEAD").exists(), "the attack was not run");
    }
    assert_eq!(fs::read(inner.join(".mcp.json")).unwrap(), b"mine");
}

/// The command and the user create files at the same time.
fn both_create(without_namespaces: bool) {
    let world = World::new();
    let script = "touch started; while ! test -e go; do sleep 0.01; done
        mkdir .vscode .idea AGENTS.md; mkdir .zed; echo evil > .mcp.json; mkdir g g/actions; mv g/actions .github/actions
        ln -s .claude a; ln -s a b; echo evil > b; echo evil > /proc/self/cwd/Jenkinsfile
        mv .git/hooks h; mv .git .g; rm .git/config; true";
    let mut command = world.sandbox(script);
    if without_namespaces {
        command = crate::support::sandbox_world::without_namespaces(&command);
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !world.project.join("started").exists() {
        if child.try_wait().unwrap().is_some() {
            eprintln!("SKIPPED: {}", stderr(&child.wait_with_output().unwrap()));
            return;
        }
        std::thread::yield_now();
    }
    let made =
        [".vscode/settings.json", ".idea/workspace.xml", "AGENTS.md", ".envrc", ".github/workflows/ci.yml"];
    for name in made {
        write(&world.project.join(name), "mine");
    }
    write(&world.project.join("go"), "");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for name in made {
        assert_eq!(fs::read_to_string(world.project.join(name)).unwrap(), "mine", "{name}");
    }
    let said = stderr(&output);
    let moved: Vec<&str> = said.lines().filter_map(|line| line.split(" is protected; ").next()).collect();
    let planted = [".claude", ".github/actions", ".mcp.json", ".zed", "Jenkinsfile"];
    for name in planted {
        let path = world.project.join(name);
        assert!(!path.exists(), "{name} stayed: {said}");
        assert!(moved.iter().any(|line| line.ends_with(&*path.to_string_lossy())), "{name}: {said}");
    }
    assert_eq!(said.matches("puts it back").count(), planted.len(), "{said}");
    assert!(
        world.project.join(".git/config").exists() && world.project.join(".git/hooks").exists(),
        "{said}"
    );
}

#[test]
fn only_what_the_command_made_is_moved_aside() {
    both_create(false);
}

#[test]
fn the_same_without_namespaces() {
    both_create(true);
}

/// Nobody waits for the helper: killed callers, many at a time, and a helper that is gone.
#[test]
fn watching_never_holds_up_a_command() {
    let world = World::new();
    let storm = "for i in $(seq 20); do (while :; do : > k$i; done) & done; sleep 0.1; kill -9 $(jobs -p); wait
        (for i in $(seq 50); do mkdir m$i; done) & (for i in $(seq 50); do mkdir n$i; done) & wait; ls -d m* n* | wc -l";
    let Some(output) = world.run(storm) else { return };
    assert_eq!(stdout(&output).trim(), "100", "{}", stderr(&output));
}

impl World {
    fn restore(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mycode"));
        command.args(["sandbox", "restore"]).args(args).current_dir(&self.project).env_clear();
        command.env("HOME", &self.home).env("MYCODE_HOME", self.state.parent().unwrap()).output().unwrap()
    }
}

#[test]
fn what_was_set_aside_can_be_put_back() {
    let world = World::new();
    let Some(planted) = world.run("mkdir .mycode; echo mine > .mycode/config.toml; ln -s ~/other .claude")
    else {
        return;
    };
    let said = stderr(&planted);
    let listed = stdout(&world.restore(&["--list"]));
    let id = |name: &str| {
        let row = listed
            .lines()
            .find(|line| line.ends_with(&format!("/p/{name}")))
            .unwrap_or_else(|| panic!("{listed}"));
        row.split_whitespace().next().unwrap().to_owned()
    };
    assert!(said.contains(&format!("`mycode sandbox restore {}` puts it back", id(".mycode"))), "{said}");
    // By its name; what stands there meanwhile is not replaced.
    write(&world.project.join(".mycode/other"), "newer");
    let refused = world.restore(&[&id(".mycode")]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("is still at"), "{}", stderr(&refused));
    fs::remove_dir_all(world.project.join(".mycode")).unwrap();
    assert!(world.restore(&[&id(".mycode")]).status.success());
    assert_eq!(fs::read_to_string(world.project.join(".mycode/config.toml")).unwrap(), "mine\n");
    // By its path, from where it was.
    let by_path = world.restore(&[".claude"]);
    assert!(by_path.status.success(), "{}", stderr(&by_path));
    assert!(world.project.join(".claude").is_symlink());
    assert_eq!(stdout(&world.restore(&[])), "Nothing was moved aside.\n");
    assert_eq!(world.restore(&["nothing"]).status.code(), Some(2));
    assert_eq!(fs::read_dir(world.state.join("set-aside")).unwrap().count(), 0);
}

/// Killed with no chance to clean up: nothing lies in the folder for temporary files, and the next command clears the rest.
#[test]
fn a_kill_leaves_nothing_for_long() {
    let world = World::new();
    let temporary = world.home.join("temporary");
    fs::create_dir(&temporary).unwrap();
    for kill_command in [false, true] {
        let script = "echo x > /tmp/x; touch ~/.cache/x; touch started; exec sleep 724713";
        let mut child = world
            .sandbox(script)
            .env("TMPDIR", &temporary)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while !world.project.join("started").exists() {
            if child.try_wait().unwrap().is_some() {
                eprintln!("SKIPPED: {}", stderr(&child.wait_with_output().unwrap()));
                return;
            }
            std::thread::yield_now();
        }
        fs::remove_file(world.project.join("started")).unwrap();
        assert_eq!(fs::read_dir(world.state.join("private")).unwrap().count(), 1);
        if kill_command {
            let inner = Command::new("pkill").args(["-9", "-fx", "sleep 724713"]).status();
            assert!(inner.is_ok_and(|status| status.success()));
        } else {
            child.kill().unwrap();
        }
        child.wait_with_output().unwrap();
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
        assert!(world.run("true").unwrap().status.success());
        assert_eq!(fs::read_dir(world.state.join("private")).unwrap().count(), 0);
    }
}

/// What would be used without a question is moved where it can be fetched back, never to `/tmp`; nothing else stays behind,
/// also of sessions that were killed.
#[test]
fn planted_files_can_be_fetched_back() {
    let world = World::new();
    let dead = world.state.join("private/mycode-1-dead");
    write(&dead.join("lock"), "");
    write(&dead.join("tmp/x"), "");
    fs::create_dir_all(dead.join("cache/0/a/work/work")).unwrap();
    fs::set_permissions(dead.join("cache/0/a/work/work"), fs::Permissions::from_mode(0o000)).unwrap();
    let temporary = world.home.join("temporary");
    fs::create_dir(&temporary).unwrap();
    let plant = "mkdir .mycode; echo evil > .mycode/config.toml; ln -s ~/.ssh .claude; echo x > /tmp/x";
    let output = world.sandbox(plant).env("TMPDIR", &temporary).output().unwrap();
    if stderr(&output).contains("can't be confined") {
        eprintln!("SKIPPED: {}", stderr(&output));
        return;
    }
    let mut kept = BTreeMap::new();
    for entry in fs::read_dir(world.state.join("set-aside")).unwrap() {
        let folder = entry.unwrap().path();
        kept.insert(PathBuf::from(fs::read_to_string(folder.join("origin")).unwrap()), folder);
    }
    let named: Vec<&PathBuf> = kept.keys().collect();
    assert_eq!(named, [&world.project.join(".claude"), &world.project.join(".mycode")]);
    let config = kept[&world.project.join(".mycode")].join(".mycode/config.toml");
    assert_eq!(fs::read_to_string(&config).unwrap(), "evil\n");
    assert!(kept[&world.project.join(".claude")].join(".claude").is_symlink());
    assert!(stderr(&output).contains(&config.parent().unwrap().display().to_string()), "{}", stderr(&output));
    assert!(!world.project.join(".mycode").exists() && !world.project.join(".claude").is_symlink());
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert_eq!(fs::read_dir(world.state.join("private")).unwrap().count(), 0);
    assert!(world.home.join(".ssh/config").exists());
    // The quota: what does not fit stays beside its place, where nothing reads it.
    for number in 0..200 {
        fs::create_dir_all(world.state.join("set-aside").join(number.to_string())).unwrap();
    }
    symlink("nowhere", world.project.join("link")).unwrap();
    let output = world.run("mv link .mycode").unwrap();
    let beside = fs::read_dir(&world.project)
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with(".mycode.set-aside-"));
    assert!(beside.is_some() && !world.project.join(".mycode").is_symlink(), "{}", stderr(&output));
}
