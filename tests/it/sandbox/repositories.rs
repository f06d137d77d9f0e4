//! Repositories that commands make: what would run at the user's next git command is moved where it can be fetched back, and
//! nothing that is only a repository is touched.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

struct World {
    _dir: TempDir,
    project: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = dir.path().canonicalize().unwrap();
        let world = Self { project: top.join("p"), _dir: dir };
        fs::create_dir_all(world.project.join("node_modules/x")).unwrap();
        fs::create_dir_all(top.join("h")).unwrap();
        fs::write(
            top.join("h/.gitconfig"),
            "[user]\n\tname = A\n\temail = a@b.c\n[protocol \"file\"]\n\tallow = always\n",
        )
        .unwrap();
        let made = world.plain("git init -q -b main; echo a > a.txt; git add -A; git commit -qm one; git init -q --bare ../other; git push -q ../other main");
        assert!(made.status.success(), "{}", stderr(&made));
        world
    }

    fn start(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.project).env_clear().stdin(Stdio::null());
        let top = self.project.parent().unwrap();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", top.join("h"));
        command.env("MYCODE_HOME", top.join("own")).env("RAN", top.join("ran")).env("LANG", "C.UTF-8");
        command
    }

    fn plain(&self, line: &str) -> Output {
        self.start("bash", &["-c", line]).output().unwrap()
    }

    /// `None` where nothing can be confined.
    fn run(&self, line: &str) -> Option<Output> {
        let output = self.start(env!("CARGO_BIN_EXE_mycode"), &["sandbox", "--", line]).output().unwrap();
        assert!(!stderr(&output).contains("did not run"), "{}", stderr(&output));
        if output.status.code() == Some(3) && stderr(&output).contains("can't be confined") {
            eprintln!("SKIPPED: {}", stderr(&output));
            return None;
        }
        Some(output)
    }

    /// What a user then does in every folder: whatever of it runs a program leaves a trace.
    fn works(&self) -> bool {
        let line = "for g in $(find . -name .git; find . -name HEAD -not -path './.git/HEAD' | xargs -n1 dirname); do
            ( cd $(dirname $g) && git status; git log -1; git diff; git st; touch new; git add new; git commit -qm new; git checkout -q -b other )
            ( cd $g && git status; git st )
        done; git status; git submodule status; true";
        self.plain(line);
        self.project.with_file_name("ran").exists()
    }
}

/// Ends in a program of the attacker's; `E` stands for it.
const PLANTED: &[&str] = &[
    "git init -q n; cp E n/.git/hooks/pre-commit",
    "git init -q n; git -C n config core.fsmonitor E",
    "git init -q n; git -C n config core.pager E; git -C n config alias.st '!E'",
    "git init -q n; git -C n config core.hooksPath ../hooks; mkdir hooks; cp E hooks/post-checkout; cp E hooks/pre-commit",
    "mkdir -p n; cp -r .git n/.git; echo '[core]' >> n/.git/config; echo '  fsmonitor = E' >> n/.git/config",
    "git clone -q . n && git -C n config include.path /dev/shm/x; git -C n config --add core.fsmonitor E",
    "git init -q --bare n; git -C n config core.fsmonitor E; git -C n config core.bare false; git -C n config core.worktree ..",
    "git init -q away; git -C away config core.fsmonitor E; mkdir n; echo 'gitdir: ../away/.git' > n/.git",
    "git init -q away; git -C away config core.fsmonitor E; mkdir n; ln -s ../away/.git n/.git",
    "git init -q e; git -C e config core.fsmonitor E; mv e/.git e/g; mkdir n; mv e/g n/.git; rm -r e",
    "mkdir -p a/b/c/d/e; git init -q a/b/c/d/e; cp E a/b/c/d/e/.git/hooks/pre-commit",
    "git init -q node_modules/n; git -C node_modules/n config core.fsmonitor E",
    "mkdir -p .git/modules/n; cp -r .git/objects .git/refs .git/HEAD .git/modules/n/; echo '[core]' > .git/modules/n/config; \
     echo ' fsmonitor = E' >> .git/modules/n/config; mkdir n; echo 'gitdir: ../.git/modules/n' > n/.git",
    "git worktree add -q n; git init -q ev; git -C ev config core.fsmonitor E; echo ../../../ev/.git > .git/worktrees/n/commondir",
    "git worktree add -q n; printf '[core]\\n fsmonitor = E\\n' > .git/worktrees/n/config.worktree; git config extensions.worktreeConfig true",
];

#[test]
fn planted_programs_do_not_run() {
    let mut broken = Vec::new();
    for attack in PLANTED {
        let world = World::new();
        let evil = world.project.join("evil");
        fs::write(&evil, "#!/bin/sh\necho ran >> $RAN\n").unwrap();
        world.plain("chmod +x evil");
        let line = attack
            .replace("E\n", "E")
            .replace('E', "EVIL")
            .replace("HEVILAD", "HEAD")
            .replace("EVIL", evil.to_str().unwrap());
        let control = World::new();
        let freely = line.replace(world.project.to_str().unwrap(), control.project.to_str().unwrap());
        fs::copy(&evil, control.project.join("evil")).unwrap();
        control.plain(&freely);
        assert!(control.works(), "the attack has no effect anyway: {attack}");
        let Some(output) = world.run(&line) else { return };
        if world.works() {
            broken.push(format!("{attack}\n{}{}", stdout(&output), stderr(&output)));
        } else if !stderr(&output).contains("moved to") {
            broken.push(format!("not reported: {attack}\n{}{}", stdout(&output), stderr(&output)));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The same in two calls of one session: nothing is made to look old.
#[test]
fn a_repository_of_an_earlier_command_is_watched() {
    let world = World::new();
    fs::write(world.project.join("evil"), "#!/bin/sh\necho ran >> $RAN\n").unwrap();
    world.plain("chmod +x evil");
    if world.run("true").is_none() {
        return;
    }
    let later = "rm -r n/.git/hooks; mv s/hooks n/.git/hooks; git -C n config core.fsmonitor ../evil; git -C c config user.name C";
    fs::write(world.project.join("later.sh"), later).unwrap();
    let lines =
        ["git init -q n; mkdir -p s/hooks; cp evil s/hooks/pre-commit; git clone -q . c", "bash later.sh"];
    let calls = lines.map(|line| serde_json::json!({"tool": "Bash", "args": {"command": line}}).to_string());
    let mut agent = world.start(env!("CARGO_BIN_EXE_mycode"), &["tool", "--permission", "auto", "-"]);
    let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    agent.stdin.take().unwrap().write_all(calls.join("\n").as_bytes()).unwrap();
    let said = stdout(&agent.wait_with_output().unwrap());
    let answers: Vec<&str> = said.lines().collect();
    assert!(answers.len() == 2 && !answers[0].contains("mycode:"), "{said}");
    assert!(
        answers[1].contains("pre-commit is protected") && answers[1].contains("without core.fsmonitor"),
        "{said}"
    );
    assert!(!world.works(), "{said}");
    let kept = fs::read_dir(world.project.with_file_name("own").join("state/set-aside")).unwrap();
    assert_eq!(kept.count(), 2, "{said}");
    assert!(config(&world, "c").contains("name = C"));
}

/// Each line is the whole of a workspace's day; none may be disturbed.
const HARMLESS: &[&str] = &[
    "git init -q n && git -C n commit -q --allow-empty -m x && git -C n branch -m trunk",
    "git clone -q ../p n && git -C n fetch -q && git -C n remote -v | grep -q p",
    "git clone -q --bare . n.git && git clone -q n.git m && git -C m push -q origin HEAD:refs/heads/x",
    "git worktree add -q n && git -C n commit -q --allow-empty -m x && git worktree remove n",
    "mkdir n && cd n && git init -q && git remote add origin https://host/x && git config user.name B && git checkout -q -b y",
    "git init -q n && git -C n init -q",
];

#[test]
fn plain_repositories_are_left_alone() {
    for line in HARMLESS {
        let world = World::new();
        let Some(output) = world.run(line) else { return };
        assert!(
            output.status.success() && !stderr(&output).contains("mycode:"),
            "{line}: {}",
            stderr(&output)
        );
    }
}

/// What a user does beside the command is the user's.
#[test]
fn the_users_own_repositories_stay() {
    let world = World::new();
    let made = world.plain("git init -q mine && git -C mine config core.pager less && cp mine/.git/hooks/pre-commit.sample mine/.git/hooks/pre-commit");
    assert!(made.status.success());
    let hook = world.project.join("mine/.git/hooks/pre-commit");
    let Some(output) = world.run("git -C mine status -s; git -C mine add -A; touch mine/x; ls mine/.git")
    else {
        return;
    };
    assert!(!stderr(&output).contains("mycode:"), "{}", stderr(&output));
    assert!(hook.exists() && config(&world, "mine").contains("pager"));
}

fn config(world: &World, name: &str) -> String {
    fs::read_to_string(world.project.join(name).join(Path::new(".git/config"))).unwrap()
}

/// Settings that run no program, which git writes beside its work or is told to.
const SETTINGS: &[(&str, &str)] = &[
    ("git branch -m trunk", "branch --show-current | grep -qx trunk"),
    ("git checkout -q --track -b topic main", "config branch.topic.merge"),
    ("git checkout -q -b topic origin/main", "config branch.topic.remote"),
    ("git switch -q far", "config branch.far.merge"),
    ("git branch -u origin/main", "config branch.main.merge"),
    ("git branch topic origin/main && git branch -d topic", "rev-parse -q --verify topic; test $? = 1"),
    ("git config user.email x@y.z", "config user.email | grep -qx x@y.z"),
    ("git config --unset branch.main.merge; git config set user.name Me", "config user.name | grep -qx Me"),
    ("git sparse-checkout set docs", "config core.sparseCheckout"),
    ("git init -q", "status"),
    ("git worktree add -q --track -b w wt origin/main", "config branch.w.merge"),
];

#[test]
fn harmless_settings_are_written() {
    for (line, check) in SETTINGS {
        let world = World::new();
        world.plain("git remote add origin ../other; git push -q origin main:far; git fetch -q; mkdir docs");
        let Some(output) = world.run(line) else { return };
        assert!(
            output.status.success() && !stderr(&output).contains("mycode:"),
            "{line}: {}",
            stderr(&output)
        );
        let checked = world.plain(&format!("git {check}"));
        assert!(checked.status.success(), "{line}: {}{}", stderr(&output), stderr(&checked));
    }
}

/// Through a hook that git runs meanwhile, for one.
#[test]
fn harmful_settings_are_undone_and_what_hides_fails_before_it_begins() {
    let world = World::new();
    world.plain("printf '#!/bin/sh\\nprintf \"[core]\\\\n fsmonitor = ./evil\\\\n\" >> .git/config\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout");
    let before = config(&world, ".");
    let Some(output) = world.run("git checkout -q --track -b topic main") else { return };
    assert!(stderr(&output).contains("the command set core.fsmonitor"), "{}", stderr(&output));
    assert_eq!(config(&world, "."), before);
    fs::remove_file(world.project.join(".git/hooks/post-checkout")).unwrap();
    for line in [
        "n=x; python3 -c 'import os; os.system(\"git branch -m new\")'",
        "git config core.pager x",
        "git remote add o x",
    ] {
        let output = world.run(line).unwrap();
        assert!(stderr(&output).contains("nothing has changed"), "{line}: {}", stderr(&output));
    }
    assert_eq!(config(&world, "."), before);
    assert!(stdout(&world.plain("git branch")).contains("main"));
}
