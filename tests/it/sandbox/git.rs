//! git in front of protected files: over random histories a command has its full effect, or none. Never does it stop half way
//! or leave old texts as changes of the user's. Each command runs in the sandbox and, beside it, freely in a twin.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use agent::calls::policy_engine::PolicyEngine;
use base::config::mode::Mode;
use base::config::settings::{Permission, WorkSettings};
use guard::policy::access::Access;
use guard::policy::rules::Rules;
use guard::policy::verdict::Verdict;
use guard::sandbox::launch;
use guard::sandbox::probe;
use guard::sandbox::spec::Confinement;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

use crate::support::tools::Bench;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

const FILES: &[&str] =
    &["a.txt", "b.txt", "docs/c.txt", ".github/workflows/ci.yml", "AGENTS.md", ".vscode/settings.json"];
const FREE_FILES: usize = 3;

/// What is run: the branches are `main`, `one` and `two`, of which the first is checked out.
const COMMANDS: &[&str] = &[
    "git switch one",
    "git switch -c new two",
    "git switch --detach two~1",
    "git switch -f one",
    "git checkout one",
    "git checkout -q -",
    "git checkout -b new one",
    "git checkout two -- .",
    "git checkout one -- a.txt docs",
    "git checkout -- .",
    "git checkout -f",
    "git restore .",
    "git restore --source=one .",
    "git restore --staged .",
    "git restore --staged --worktree .",
    "git reset -q",
    "git reset --hard",
    "git reset -q --hard one",
    "git reset --keep two",
    "git reset --merge",
    "git merge one",
    "git merge -q --no-ff two",
    "git merge --no-commit one",
    "git merge --squash two",
    "git merge one two",
    "git merge --abort",
    "git merge --continue",
    "git rebase one",
    "git rebase --onto two main~1",
    "git rebase one two",
    "git rebase --abort",
    "git rebase --skip",
    "git rebase --continue",
    "git cherry-pick one",
    "git cherry-pick main..two",
    "git cherry-pick --no-commit two~1",
    "git cherry-pick --abort",
    "git cherry-pick --continue",
    "git revert --no-edit HEAD",
    "git revert --no-edit HEAD~2..HEAD",
    "git stash",
    "git stash -u",
    "git stash push -- a.txt",
    "git stash pop",
    "git stash apply --index",
    "git stash branch fresh",
    "git stash list",
    "git diff main one | git apply",
    "git diff main one > .git/patch; git apply --index .git/patch",
    "git format-patch -q --stdout main..one > .git/patch; git am -q .git/patch",
    "git format-patch -q --stdout main..two | git am -q --3way",
    "git bisect start one main~2",
    "git bisect start -q two main~1",
    "git rm -rq .",
    "git rm -q --cached -r .",
    "git rm -q a.txt",
    "git mv a.txt AGENTS.md -f",
    "git mv docs papers",
    "git clean -fdq",
    "git clean -fq docs",
    "git read-tree -u -m one",
    "git checkout-index -fa",
    "git commit -qam x",
    "git add -A",
    "b=two; git merge -q $b",
    "bash -c 'eval \"git  switch one\"'",
    "python3 -c 'import subprocess as s; s.run([\"git\", \"merge\", \"-q\", \"one\"])'",
];

#[derive(Clone, Debug)]
struct Change {
    branch: &'static str,
    file: usize,
    /// `None` deletes it.
    line: Option<usize>,
}

#[derive(Clone, Debug)]
struct Case {
    commits: Vec<Change>,
    /// Put aside with `git stash`.
    stashed: Option<usize>,
    /// A command that may stop in the middle.
    middle: Option<&'static str>,
    /// Changed and not committed; whether it is added.
    dirty: Option<(usize, bool)>,
    command: &'static str,
}

fn change() -> impl Strategy<Value = Change> {
    // Protected files are rare, as they are.
    let file = prop_oneof![4 => 0..FREE_FILES, 1 => FREE_FILES..FILES.len()];
    (select(&["main", "one", "two"][..]), file, proptest::option::weighted(0.85, 0..4_usize))
        .prop_map(|(branch, file, line)| Change { branch, file, line })
}

fn case() -> impl Strategy<Value = Case> {
    let middle = select(
        &["git merge -q one", "git rebase -q two", "git cherry-pick main~1..one", "git cherry-pick two"][..],
    );
    (
        proptest::collection::vec(change(), 2..9),
        proptest::option::weighted(0.4, 0..FILES.len()),
        proptest::option::weighted(0.3, middle),
        proptest::option::weighted(0.3, (0..FILES.len(), any::<bool>())),
        select(COMMANDS),
    )
        .prop_map(|(commits, stashed, middle, dirty, command)| Case {
            commits,
            stashed,
            middle,
            dirty,
            command,
        })
}

impl Case {
    /// The commits, as `git fast-import` reads them.
    fn history(&self) -> String {
        let text = |lines: &[String]| lines.concat();
        let fresh = || ["1\n", "2\n", "3\n", "4\n"].map(str::to_owned).to_vec();
        let base: BTreeMap<&str, Vec<String>> = FILES.iter().map(|file| (*file, fresh())).collect();
        let mut trees = BTreeMap::from(["main", "one", "two"].map(|branch| (branch, base.clone())));
        let mut stream = String::new();
        let mut commit = |branch: &str, message: &str, from: &str, files: &BTreeMap<&str, Vec<String>>| {
            stream += &format!(
                "commit refs/heads/{branch}\ncommitter A <a@b.c> 1700000000 +0000\ndata {}\n{message}\n",
                message.len()
            );
            stream += from;
            stream += "deleteall\n";
            for (name, lines) in files {
                let text = text(lines);
                stream += &format!("M 644 inline {name}\ndata {}\n{text}\n", text.len());
            }
        };
        commit("main", "base", "", &base);
        commit("main", "more", "", &base);
        for branch in ["one", "two"] {
            commit(branch, branch, "from refs/heads/main\n", &base);
        }
        for (number, change) in self.commits.iter().enumerate() {
            let files = trees.get_mut(change.branch).unwrap();
            let name = FILES[change.file];
            match change.line {
                Some(line) => files.entry(name).or_insert_with(fresh)[line] = format!("{line} {number}\n"),
                None => drop(files.remove(name)),
            }
            commit(change.branch, &format!("c{number}"), "", files);
        }
        stream
    }

    /// A script that makes the rest of the repository in the current folder.
    fn setup(&self) -> String {
        let mut script = String::from(
            "git init -q --template= -b main; git fast-import --quiet < ../history; git reset -q --hard; git checkout -q two; git checkout -q main\n",
        );
        if let Some(file) = self.stashed {
            script += &format!("mkdir -p $(dirname {0}); echo stashed >> {0}; git stash -qu\n", FILES[file]);
        }
        if let Some(middle) = self.middle {
            script += &format!("{middle}\n");
        }
        if let Some((file, added)) = self.dirty {
            script += &format!("mkdir -p $(dirname {0}); echo dirty >> {0}\n", FILES[file]);
            script += if added { "git add -A\n" } else { "" };
        }
        script + "true\n"
    }
}

/// All that git and the user see of a repository.
fn state(world: &World, folder: &Path) -> String {
    let asked = world.plain(
        folder,
        "git symbolic-ref -q HEAD; git rev-parse HEAD; git for-each-ref; git ls-files -s; git status --porcelain -b -uall; ls .git | grep HEAD",
    );
    let mut text = stdout(&asked);
    let mut files = BTreeMap::new();
    let entries = walkdir::WalkDir::new(folder).into_iter().filter_entry(|entry| entry.file_name() != ".git");
    for entry in entries.flatten().filter(|entry| entry.file_type().is_file()) {
        files.insert(
            entry.path().strip_prefix(folder).unwrap().to_owned(),
            fs::read_to_string(entry.path()).unwrap(),
        );
    }
    for (name, content) in files {
        text += &format!("{}: {content:?}\n", name.display());
    }
    text
}

struct World {
    _dir: TempDir,
    top: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir(top.join("home")).unwrap();
        fs::write(
            top.join("home/.gitconfig"),
            "[user]\n\tname = A\n\temail = a@b.c\n[safe]\n\tdirectory = *\n",
        )
        .unwrap();
        Self { _dir: dir, top }
    }

    fn start(&self, folder: &Path, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.top.join("home"));
        command.env("MYCODE_HOME", self.top.join("own")).env("LANG", "C.UTF-8").env("GIT_EDITOR", "true");
        // The same commits in both.
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(name, "2024-01-01T00:00:00Z");
        }
        command
    }

    fn plain(&self, folder: &Path, line: &str) -> Output {
        self.start(folder, "bash", &["-c", line]).output().unwrap()
    }

    fn sandbox(&self, folder: &Path, line: &str) -> Output {
        self.start(folder, env!("CARGO_BIN_EXE_mycode"), &["sandbox", "--permission", "auto", "--", line])
            .output()
            .unwrap()
    }

    /// Two repositories that are the same, and what they are.
    fn twins(&self, case: &Case) -> (PathBuf, PathBuf, String) {
        let (real, twin) = (self.top.join("real/p"), self.top.join("twin/p"));
        for folder in [&real, &twin] {
            let _ = fs::remove_dir_all(folder.parent().unwrap());
            fs::create_dir_all(folder.parent().unwrap()).unwrap();
        }
        fs::create_dir(&real).unwrap();
        fs::write(real.with_file_name("history"), case.history()).unwrap();
        self.plain(&real, &case.setup());
        self.plain(&real, "cp -a . ../../twin/p");
        let before = state(self, &real);
        assert_eq!(before, state(self, &twin), "the twins differ from the start: {case:?}");
        (real, twin, before)
    }
}

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Nothing,
    Done,
    Refused,
}

fn judged(case: &Case, before: &str, after: &str, twin: &str, said: &str) -> Outcome {
    assert!(
        after == before || after == twin,
        "{case:?}\n{said}\nbefore:\n{before}\nafter:\n{after}\ntwin:\n{twin}"
    );
    assert!(!said.contains("Read-only") && !said.contains("Device or resource busy"), "{case:?}\n{said}");
    match after == twin {
        true if after == before => Outcome::Nothing,
        true => Outcome::Done,
        false => {
            assert!(said.contains("protected"), "{case:?}: refused for another reason\n{said}");
            Outcome::Refused
        }
    }
}

fn confines(world: &World) -> bool {
    let tried = world.sandbox(&world.top.join("home"), "true");
    let held = tried.status.code() != Some(3);
    if !held {
        eprintln!("SKIPPED: {}", stderr(&tried));
    }
    held
}

fn run_cases(world: &World, cases: u32, confined: impl Fn(&Case, &Path) -> Output) {
    let outcome = |case: &Case| {
        let (real, twin, before) = world.twins(case);
        let output = confined(case, &real);
        world.plain(&twin, case.command);
        let said = stdout(&output) + &stderr(&output);
        judged(case, &before, &state(world, &real), &state(world, &twin), &said)
    };
    let seen = std::cell::RefCell::new(BTreeMap::<Outcome, usize>::new());
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 30,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(case in case())| {
        *seen.borrow_mut().entry(outcome(&case)).or_default() += 1;
    });
    let seen = seen.into_inner();
    eprintln!("{seen:?}");
    assert!(seen.contains_key(&Outcome::Done) && seen.contains_key(&Outcome::Refused), "{seen:?}");
}

#[test]
fn git_does_all_or_nothing() {
    let world = World::new();
    if !confines(&world) {
        return;
    }
    run_cases(&world, cases(), |case, real| world.sandbox(real, case.command));
}

/// `WALLS_GIT_CASES` for a longer look.
fn cases() -> u32 {
    std::env::var("WALLS_GIT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}

/// Inside of our own sandbox there are no namespaces, so nothing is mounted over what is protected.
#[test]
fn git_does_all_or_nothing_under_landlock_alone() {
    let world = World::new();
    if !confines(&world) {
        return;
    }
    fs::create_dir_all(world.top.join("real")).unwrap();
    let doctor = world.sandbox(&world.top, &format!("{} doctor", env!("CARGO_BIN_EXE_mycode")));
    if !stdout(&doctor).lines().any(|line| line.contains("landlock") && line.contains("available")) {
        eprintln!("SKIPPED: no Landlock here");
        return;
    }
    run_cases(&world, cases() / 2, |case, real| {
        // The sandbox around must not protect the repository itself.
        fs::rename(real.join(".git"), real.join(".g")).unwrap();
        fs::write(real.with_file_name("line"), case.command).unwrap();
        let us = env!("CARGO_BIN_EXE_mycode");
        let line = format!("cd real/p && mv .g .git && {us} sandbox -- \"$(cat ../line)\"; mv .git .g");
        let output = world.sandbox(&world.top, &line);
        fs::rename(real.join(".g"), real.join(".git")).unwrap();
        output
    });
}

/// A project in which `topic` has other protected files than what is checked out.
fn project(bench: &Bench) {
    for (name, text) in [
        (".github/workflows/ci.yml", "1"),
        (".github/workflows/other.yml", "1"),
        ("AGENTS.md", "1"),
        ("a", "1"),
    ] {
        bench.put(name, text);
    }
    git(bench, "git init -q -b main; git add -A; git commit -qm one; git checkout -q -b topic");
    for (name, text) in [(".github/workflows/ci.yml", "2"), (".vscode/settings.json", "{}"), ("a", "2")] {
        bench.put(name, text);
    }
    git(bench, "git rm -q AGENTS.md; git add -A; git commit -qm two; git checkout -q main");
}

fn git(bench: &Bench, line: &str) -> String {
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(&bench.root).env("GIT_CONFIG_GLOBAL", "/dev/null");
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), "a").env(format!("GIT_{name}_EMAIL"), "a@b.c");
    }
    stdout(&command.output().unwrap())
}

#[tokio::test]
async fn a_yes_opens_the_files_that_git_changes_and_no_others() {
    launch::use_helper(env!("CARGO_BIN_EXE_mycode").into());
    if !probe::status().files {
        eprintln!("SKIPPED: this machine can't confine");
        return;
    }
    let mut bench = Bench::new();
    project(&bench);
    let work = WorkSettings {
        most_permission: Permission::Full,
        folders: Vec::new(),
        mode: Mode::Auto,
        permission: Permission::Auto,
        sandbox: true,
        max_steps: 9,
        light_model: None,
        nudges: true,
        keep_services: false,
        patch_tool: false,
        inject_notes: None,
        task_context: None,
    };
    let engine = PolicyEngine::new(&work, Rules::default(), &bench.root, Vec::new(), &[]);
    let assess = |command: &str| {
        engine.assess(&[Access::Exec { command: command.to_owned(), cwd: bench.root.clone() }])
    };
    let call = assess("git switch -q topic");
    let reason = engine.decide(&call).reason().to_owned();
    assert_eq!(
        reason,
        "`git switch` would change .github/workflows/ci.yml, .vscode/settings.json and 1 more, which are protected"
    );
    // No rule covers it, and a yes is for what was asked.
    assert_eq!(engine.always_grant(&call), None);
    let confinement = engine.confinement(&call, true);
    let Confinement::Confined { opened, .. } = &confinement else { panic!("{confinement:?}") };
    assert_eq!(opened.len(), 3);
    assert_eq!(engine.decide(&assess("git switch -q -c other")), Verdict::Allow);
    // What accounts need is not hidden by it.
    assert_eq!(engine.confinement(&assess("git switch -q topic && git push"), true), Confinement::Free);
    bench.cx.confinement = confinement;
    let done = bench
        .bash("git switch -q topic; echo evil >> .github/workflows/other.yml; echo evil > CLAUDE.md")
        .await;
    assert_eq!(git(&bench, "git status --porcelain -b -uno"), "## topic\n", "{}", done.wire());
    assert_eq!(bench.text(".github/workflows/other.yml"), "1", "{}", done.wire());
    assert!(
        done.wire().contains("CLAUDE.md is protected") && !done.wire().contains("ci.yml"),
        "{}",
        done.wire()
    );
}

/// With nobody to ask, the model is told which files are in the way, and nothing has happened.
#[test]
fn without_a_user_nothing_happens() {
    let bench = Bench::new();
    project(&bench);
    let before = git(&bench, "git status -b --porcelain; git stash list; git log --oneline");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mycode"));
    let args = serde_json::json!({"command": "git merge -q topic"}).to_string();
    command.args(["tool", "--permission", "auto", "Bash", "--args", &args]).current_dir(&bench.root);
    let output = command.env("MYCODE_HOME", bench.root.with_file_name("own")).output().unwrap();
    let said = stdout(&output);
    assert!(said.contains("PERMISSION_DENIED") && said.contains(".github/workflows/ci.yml"), "{said}");
    assert_eq!(git(&bench, "git status -b --porcelain; git stash list; git log --oneline"), before);
}
