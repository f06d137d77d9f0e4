//! `mycode build` in a repository: commits, worktrees for parallel subtasks, conflicts, and a kill between any two steps.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::builds::{PLAN, SPEC, build, coding, folder, passes, run, runs, said, text, whole, writes};
use crate::support::answer::{answer, silence};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// A project under git with one commit.
fn repository() -> Workplace {
    let place = Workplace::new();
    place.file("README.md", "# Sample\n").file(".gitignore", ".mycode/\n");
    place.repository()
}

#[test]
fn an_interrupt_reaches_parallel_subtasks() {
    let plan = "- [ ] 1. a (after: none)\n- [ ] 2. b (after: none)";
    let server = FakeServer::start(vec![answer().text(SPEC).into(), answer().text(plan).into()]);
    server.on_body("Your subtask", silence());
    let place = repository();
    let child = build(&place, &server, &["--parallel", "2", "greet"]).spawn().unwrap();
    server.wait_for_requests(4);
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(text(&place, "plan.md").contains("- [ ] 1. a"));
}

#[test]
fn commits_and_worktrees() {
    let plan = "- [ ] 1. a (after: none)\n- [ ] 2. b (after: none)\n- [ ] 3. c (after: 1, 2)";
    let server = FakeServer::start(vec![answer().text(SPEC).into(), answer().text(plan).into()]);
    // Whoever has a result to show is done; who begins is told apart by its subtask.
    server.on_body("\"role\":\"tool\"", answer().text("Wrote it."));
    server.on_body("Your subtask\\n1. a", writes("shared.txt", "one\n").text("Begin."));
    let elsewhere = "git checkout -q --detach; echo two > shared.txt";
    server.on_body("Your subtask\\n2. b", runs(elsewhere).text("Begin."));
    let place = repository();
    // A hook that lies in the project may be what a role has just written: it must not run.
    let ran = place.home().join("hook-ran");
    for hook in ["pre-commit", "post-commit", "post-merge", "post-checkout"] {
        place.file(&format!(".husky/{hook}"), format!("#!/bin/sh\ntouch {}\n", ran.display()));
        let path = place.project().join(".husky").join(hook);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    place.git(&["add", "."]);
    place.git(&["commit", "-qm", "hooks"]);
    place.git(&["config", "core.hooksPath", ".husky"]);
    for reply in [runs("printf 'one\\ntwo\\n' > shared.txt"), writes("c.txt", "c"), passes("")] {
        server.push(reply);
    }
    let output = run(&place, &server, &["--parallel", "2", "greet"]);
    assert!(output.status.success(), "{}\n{}", stderr(&output), stdout(&output));
    assert_eq!(place.text("shared.txt"), "one\ntwo\n");
    assert_eq!(place.text("c.txt"), "c");
    let log = place.git(&["log", "--format=%s"]);
    for subject in ["a", "b", "c", "first"] {
        assert!(log.lines().any(|line| line == subject), "{subject} is not in {log}");
    }
    assert!(log.contains("Merge commit"), "{log}");
    // What was done in the worktrees is told as well.
    let reviewer = said(&server.requests().last().unwrap().body);
    assert!(reviewer.contains("c.txt\\nshared.txt"), "{reviewer}");
    assert!(stdout(&output).contains("- c.txt\n- shared.txt\n"), "{}", stdout(&output));
    let id = folder(&place).file_name().unwrap().to_str().unwrap().to_owned();
    let report = stdout(&place.command(&["report", &id]).output().unwrap());
    assert!(report.contains("shared.txt"), "{report}");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(place.git(&["branch", "--list"]).trim(), "* main");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert!(!ran.exists(), "a hook ran outside the sandbox");
}

#[test]
fn what_is_not_committed_stays_out_of_a_build() {
    let server = FakeServer::start(whole());
    let place = repository();
    place.file("mine.txt", "x");
    let paused = run(&place, &server, &["--commit", "--pause-after", "plan", "greet"]);
    assert!(stderr(&paused).contains("uncommitted changes"), "{}", stderr(&paused));
    let output = run(&place, &server, &["--commit", "--last"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let id = folder(&place).file_name().unwrap().to_str().unwrap().to_owned();
    assert!(stderr(&output).contains(&format!("`mycode work merge {id}`")), "{}", stderr(&output));
    assert_eq!(place.git(&["status", "--porcelain"]), "?? mine.txt\n");
    let merged = place.command(&["work", "merge", &id]).output().unwrap();
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert_eq!((place.text("hello.txt"), place.text("bye.txt")), ("hello".to_owned(), "bye".to_owned()));
    assert_eq!(place.git(&["status", "--porcelain"]), "?? mine.txt\n");
}

/// At each request, and a moment later: the server doesn't wait for the kill.
#[test]
fn a_kill_anywhere_in_parallel_work_loses_nothing() {
    let plan = "- [ ] 1. a (after: none)\n- [ ] 2. b (after: none)\n- [ ] 3. c (after: 1, 2)";
    for cut in 1..=11 {
        let server = FakeServer::start(vec![]);
        server.on_body("You write the specification", answer().text(SPEC));
        server.on_body("You turn a specification", answer().text(plan));
        server.on_body("You review a finished change", passes("All holds."));
        server.on_body("\"role\":\"tool\"", answer().text("Wrote it."));
        server
            .on_body("Files with conflict marks", runs("printf 'one\\ntwo\\n' > shared.txt").text("Begin."));
        server.on_body("Your subtask\\n1. a", writes("shared.txt", "one\n").text("Begin."));
        server.on_body("Your subtask\\n2. b", writes("shared.txt", "two\n").text("Begin."));
        server.on_body("Your subtask\\n3. c", writes("c.txt", "c").text("Begin."));
        let place = repository();
        let mut child = build(&place, &server, &["--parallel", "2", "greet"]).spawn().unwrap();
        server.wait_for_requests(cut);
        child.kill().unwrap();
        child.wait().unwrap();
        let shared = fs::read_to_string(place.project().join("shared.txt")).unwrap_or_default();
        assert!(!shared.contains("<<<<"), "cut {cut}: {shared}");
        let output = run(&place, &server, &["--last"]);
        assert!(output.status.success(), "cut {cut}: {}\n{}", stderr(&output), stdout(&output));
        let made = (place.text("shared.txt"), place.text("c.txt"));
        let log = place.git(&["log", "--graph", "--stat"]);
        assert_eq!(made, ("one\ntwo\n".to_owned(), "c".to_owned()), "cut {cut}: {}\n{log}", stderr(&output));
        assert_eq!(text(&place, "plan.md").matches("- [x]").count(), 3, "cut {cut}");
        let status = place.git(&["status", "--porcelain"]);
        assert!(status.lines().all(|line| line.contains(".mycode-write-")), "cut {cut}: {status}");
        assert!(stdout(&output).contains("- c.txt\n- shared.txt\n"), "cut {cut}: {}", stdout(&output));
    }
}

#[test]
fn a_kill_anywhere_between_commits_loses_nothing() {
    for cut in 1..=7 {
        let server = FakeServer::start(vec![]);
        server.on_body("You write the specification", answer().text(SPEC));
        server.on_body("You turn a specification", answer().text(PLAN));
        server.on_body("You review a finished change", passes("All holds."));
        server.on_body("\"role\":\"tool\"", answer().text("Wrote it."));
        server.on_body("Your subtask\\n1. ", writes("hello.txt", "hello").text("Begin."));
        server.on_body("Your subtask\\n2. ", runs("printf bye > bye.txt").text("Begin."));
        let place = repository();
        let mut child = build(&place, &server, &["--commit", "greet"]).spawn().unwrap();
        server.wait_for_requests(cut);
        child.kill().unwrap();
        child.wait().unwrap();
        let output = run(&place, &server, &["--last", "--commit"]);
        assert!(output.status.success(), "cut {cut}: {}\n{}", stderr(&output), stdout(&output));
        assert_eq!((place.text("hello.txt"), place.text("bye.txt")), ("hello".to_owned(), "bye".to_owned()));
        let status = place.git(&["status", "--porcelain"]);
        assert!(status.lines().all(|line| line.contains(".mycode-write-")), "cut {cut}: {status}");
        assert!(stdout(&output).contains("- bye.txt\n- hello.txt\n"), "cut {cut}: {}", stdout(&output));
    }
}

#[test]
fn a_conflict_that_stays_never_reaches_the_project() {
    let plan = "- [ ] 1. a (after: none)\n- [ ] 2. b (after: none)";
    let server = FakeServer::start(vec![answer().text(SPEC).into(), answer().text(plan).into()]);
    server.on_body("Files with conflict marks", answer().text("I can't."));
    server.on_body("\"role\":\"tool\"", answer().text("Wrote it."));
    server.on_body("Your subtask\\n1. a", writes("shared.txt", "one\n").text("Begin."));
    server.on_body("Your subtask\\n2. b", writes("shared.txt", "two\n").text("Begin."));
    let place = repository();
    let output = run(&place, &server, &["--parallel", "2", "greet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("still had conflict marks"), "{}", stdout(&output));
    assert_eq!(
        (place.text("shared.txt"), place.git(&["status", "--porcelain"])),
        ("one\n".to_owned(), String::new())
    );
    assert!(text(&place, "plan.md").contains("- [x] 1. a") && text(&place, "plan.md").contains("- [ ] 2. b"));
    // A later try begins with the conflict anew.
    let before = server.requests().len();
    let output = run(&place, &server, &["--last"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!stderr(&output).contains("uncommitted changes"), "{}", stderr(&output));
    assert!(server.requests().len() > before && place.text("shared.txt") == "one\n");
}

#[test]
fn a_fix_that_commits_conflict_marks_never_reaches_the_project() {
    let plan = "- [ ] 1. a (after: none)\n- [ ] 2. b (after: none)";
    let server = FakeServer::start(vec![answer().text(SPEC).into(), answer().text(plan).into()]);
    server.on_body("\"role\":\"tool\"", answer().text("Done."));
    let half = "sed -i '/^[<>]/d' shared.txt; git add -A; git commit -qm half";
    server.on_body("Files with conflict marks", runs(half).text("Begin."));
    server.on_body("Your subtask\\n1. a", writes("shared.txt", "one\n").text("Begin."));
    server.on_body("Your subtask\\n2. b", writes("shared.txt", "two\n").text("Begin."));
    let place = repository();
    for args in [&["--parallel", "2", "greet"][..], &["--last"]] {
        let output = run(&place, &server, args);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stdout(&output).contains("still had conflict marks"), "{}", stdout(&output));
        assert_eq!(place.text("shared.txt"), "one\n");
    }
}

#[test]
fn a_fix_whose_check_fails_never_reaches_the_project() {
    let plan = "- [ ] 1. a (after: none)\n- [ ] 2. b (after: none)";
    let server = FakeServer::start(vec![answer().text(SPEC).into(), answer().text(plan).into()]);
    server.on_body("\"role\":\"tool\"", answer().text("All tests pass."));
    let fix = "printf 'one\\ntwo\\n' > shared.txt; python3 -m unittest no_such_test";
    server.on_body("Files with conflict marks", runs(fix).text("Begin."));
    server.on_body("Your subtask\\n1. a", writes("shared.txt", "one\n").text("Begin."));
    server.on_body("Your subtask\\n2. b", writes("shared.txt", "two\n").text("Begin."));
    let place = repository();
    let output = run(&place, &server, &["--parallel", "2", "greet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("after the fix, `python3 -m unittest"), "{}", stdout(&output));
    assert_eq!(place.text("shared.txt"), "one\n");
}

#[test]
fn what_the_first_checks_leave_is_no_obstacle() {
    let plan = "- [ ] 1. a (after: none)\n- [ ] 2. b (after: none)";
    let server = FakeServer::start(vec![answer().text(SPEC).into(), answer().text(plan).into()]);
    server.on_body("\"role\":\"tool\"", answer().text("Wrote it."));
    for (subtask, file) in [("1. a", "a.txt"), ("2. b", "b.txt")] {
        let does = format!("echo x > {file}; echo lock > uv.lock");
        server.on_body(&format!("Your subtask\\n{subtask}"), runs(&does).text("Begin."));
    }
    server.on_body("You review a finished change", passes("All holds."));
    let place = repository();
    let test = "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        open('uv.lock', 'w').write('lock\\n')\n        open('seen.txt', 'a')\n";
    place.file("test_it.py", test);
    place.git(&["add", "."]);
    place.git(&["commit", "-qm", "test"]);
    let output = run(&place, &server, &["--parallel", "2", "greet"]);
    assert!(output.status.success(), "{}\n{}", stderr(&output), stdout(&output));
    assert_eq!((place.text("a.txt"), place.text("uv.lock")), ("x\n".to_owned(), "lock\n".to_owned()));
    assert!(place.project().join("seen.txt").exists(), "nobody knows whose it is");
}

#[test]
fn the_edits_of_a_killed_role_are_the_builds_own() {
    let first = vec![
        answer().text(SPEC).into(),
        answer().text(PLAN).into(),
        writes("hello.txt", "hello").into(),
        silence(),
    ];
    let server = FakeServer::start(first);
    let place = repository();
    let mut child = build(&place, &server, &["--commit", "greet"]).spawn().unwrap();
    server.wait_for_requests(4);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(place.git(&["status", "--porcelain"]).contains("hello.txt"));
    for reply in coding().into_iter().skip(1) {
        server.push(reply);
    }
    server.push(passes("All holds."));
    place.file("mine.txt", "x");
    let refused = run(&place, &server, &["--last", "--commit"]);
    assert!(stderr(&refused).contains("uncommitted changes (mine.txt)"), "{}", stderr(&refused));
    fs::remove_file(place.project().join("mine.txt")).unwrap();
    let output = run(&place, &server, &["--last", "--commit"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert!(place.git(&["log", "--format=%s", "--", "hello.txt"]).contains("write hello.txt"));
}
