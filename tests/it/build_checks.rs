//! A build runs the project's checks: what fails, or tests that are gone, is no pass, whatever the review says.

use std::process::Command;

use serde_json::Value;

use crate::builds::{PLAN, SPEC, coding, passes, run, runs, said, text, whole, writes};
use crate::support::answer::{Answer, Reply, answer};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const ADD: &str = "def add(a, b):\n    return a + b\n";
const TEST: &str = "import unittest\nfrom calc import add\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        \
                    self.assertEqual(add(1, 2), 3)\n";

/// A project in Python with one test that passes.
fn calculator() -> Workplace {
    let place = Workplace::new();
    place.file("calc.py", ADD).file("test_calc.py", TEST);
    place
}

fn one_subtask(calls: Vec<Answer>) -> Vec<Reply> {
    let mut replies = vec![answer().text(SPEC).into(), answer().text("- [ ] 1. change it").into()];
    replies.extend(calls.into_iter().map(Into::into));
    replies.push(answer().text("Done.").into());
    replies
}

/// What is run where there are Python tests, which depends on the machine.
fn check_of_python() -> &'static str {
    let pytest = Command::new("python3").args(["-m", "pytest", "--version"]).output();
    match pytest {
        Ok(output) if output.status.success() => "python3 -m pytest -q",
        _ => "python3 -m unittest discover",
    }
}

#[test]
fn the_program_runs_the_checks_and_a_failed_one_is_no_pass() {
    let mut replies = one_subtask(vec![runs("sed -i s/+/-/ calc.py")]);
    replies.push(passes("All holds.").into());
    replies.push(runs("sed -i s/-/+/ calc.py").into());
    replies.push(writes("more.py", "").into());
    replies.push(answer().text("Mended.").into());
    replies.push(passes("All holds now.").into());
    let server = FakeServer::start(replies);
    let place = calculator();
    let output = run(&place, &server, &["subtract nothing"]);
    let report = stdout(&output);
    assert!(output.status.success(), "{}\n{report}", stderr(&output));
    let reviewer = said(&server.requests()[4].body);
    let check = check_of_python();
    for part in [&format!("{check}`: failed (exit code 1"), "AssertionError: -1 != 3"] {
        assert!(reviewer.contains(part), "{part} is not in {reviewer}");
    }
    let fixer = said(&server.requests()[5].body);
    assert!(fixer.contains("fails (exit code 1") && fixer.contains("AssertionError"), "{fixer}");
    assert!(report.contains(&format!("- `{check}`: passed (exit code 0)\n")), "{report}");
    assert!(report.contains("- more.py\n") && !report.contains(".pyc"), "{report}");

    let mut replies = one_subtask(vec![runs("sed -i s/+/-/ calc.py")]);
    for round in 1..=3 {
        replies.push(passes("All holds.").into());
        replies.extend((round < 3).then(|| answer().text("I can't.").into()));
    }
    let server = FakeServer::start(replies);
    let place = calculator();
    let output = run(&place, &server, &["subtract nothing"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains(&format!("Not passed: `{check}` fails")), "{}", stdout(&output));
}

#[test]
fn a_project_without_checks_says_so() {
    let server = FakeServer::start(whole());
    let place = Workplace::new();
    let output = run(&place, &server, &["greet"]);
    assert!(stdout(&output).contains("No check found"), "{}", stdout(&output));
    assert!(said(&server.requests()[6].body).contains("No check found"));
}

#[test]
fn tests_that_are_gone_are_no_pass() {
    let mut replies = one_subtask(vec![runs("rm test_calc.py && echo > new.py")]);
    for round in 1..=3 {
        replies.push(passes("All holds.").into());
        replies.extend((round < 3).then(|| answer().text("I can't.").into()));
    }
    let server = FakeServer::start(replies);
    let place = calculator();
    let output = run(&place, &server, &["make it pass"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("ran no tests, and there were some before"), "{}", stdout(&output));
}

#[test]
fn a_build_that_only_deletes_tests_is_not_passed() {
    let mut replies = one_subtask(vec![runs("rm test_more.py")]);
    for round in 1..=3 {
        replies.push(passes("All holds.").into());
        replies.extend((round < 3).then(|| answer().text("I can't.").into()));
    }
    let server = FakeServer::start(replies);
    let place = calculator();
    place.file("test_more.py", TEST.replace("Adds", "More"));
    let output = run(&place, &server, &["make it pass"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("only deletes tests (test_more.py)"), "{}", stdout(&output));
}

#[test]
fn a_subtask_without_a_change_or_a_check_stays_open() {
    let idle = || answer().text("Done: wrote `bye.txt`.");
    let mut replies = vec![answer().text(SPEC).into(), answer().text(PLAN).into()];
    replies.extend(coding().into_iter().take(2));
    replies.extend([idle().into(), idle().into()]);
    let server = FakeServer::start(replies);
    let place = Workplace::new();
    let output = run(&place, &server, &["greet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("Subtask 2 changed no file and ran no check"), "{}", stdout(&output));
    assert!(text(&place, "plan.md").contains("- [x] 1.") && text(&place, "plan.md").contains("- [ ] 2."));
    assert!(said(&server.requests()[5].body).contains("Not done yet"));
    // A check is enough where nothing is to be changed.
    server.push(runs("test -f hello.txt && python3 -c 'print(1)'"));
    server.push(answer().text("It is there."));
    server.push(passes("All holds."));
    let output = run(&place, &server, &["--last"]);
    assert!(output.status.success(), "{}", stdout(&output));
}

#[test]
fn a_build_at_its_cost_limit_says_so() {
    let server = FakeServer::start(vec![answer().text(SPEC).usage(1_000_000, 0, 10).into()]);
    let (place, url) = (Workplace::new(), server.base_url());
    let args = ["build", "--base-url", &url, "--model", "gpt-4.1", "--max-cost", "0.1", "greet"];
    let output = place.command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", stdout(&output));
    assert!(stdout(&output).contains("build --resume") && !stdout(&output).contains("exec -c"));
}

#[test]
fn a_build_without_a_change_is_not_passed() {
    let mut replies: Vec<Reply> = vec![answer().text(SPEC).into(), answer().text(PLAN).into()];
    replies.extend((0..4).map(|_| answer().text("Done.").into()));
    let server = FakeServer::start(replies);
    let place = Workplace::new();
    let output = run(&place, &server, &["--json", "greet"]);
    let last: Value = serde_json::from_str(stdout(&output).lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["outcome"].as_str(), output.status.code()),
        (Some("nothing_changed"), Some(11)),
        "{last}"
    );
    let report = text(&place, "report.md");
    assert!(report.contains(": nothing changed\n") && !report.contains("continues"), "{report}");
    assert_eq!(server.requests().len(), 6);
}
