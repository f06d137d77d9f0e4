//! `mycode review`: a diff is read with a fresh eye.

use base::protocol::approval::Answer;
use base::protocol::event::Event;
use base::protocol::op::Work;
use frontend::exec::output_schema::OutputSchema;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::{Reply, answer};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn say(text: &str) -> Reply {
    answer().text(text).into()
}

fn finding(severity: &str) -> String {
    let finding =
        json!({"path": "a.py", "line": 1, "severity": severity, "problem": "adds 2", "evidence": "read it"});
    json!({"verdict": "fail", "findings": [finding]}).to_string()
}

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("a.py", "x = 1\n").file(".gitignore", "*.pyc\n");
    let place = place.repository();
    place.file("a.py", "x = 2\n").file("new.py", "y = 1\n").file("b.pyc", "no\n");
    place
}

fn review(place: &Workplace, server: &FakeServer, args: &[&str]) -> std::process::Output {
    let url = server.base_url();
    let command = if args.first() == Some(&"exec") { &[][..] } else { &["review"] };
    let all = [command, args, &["--base-url", &url, "--model", "test-model"]].concat();
    place.command(&all).output().unwrap()
}

#[test]
fn what_is_not_committed_is_reviewed() {
    let place = place();
    // Git refuses to add a repository without a commit.
    place.git(&["init", "--quiet", "inner"]);
    place.file("inner/c.py", "z = 1\n");
    let server = FakeServer::start(vec![say("It FAILs."), say(&finding("high"))]);
    let out = review(&place, &server, &["--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    let schema = stdout(&place.command(&["schema", "review"]).output().unwrap());
    let line: Value = OutputSchema::parse(&schema).unwrap().read(stdout(&out).trim()).unwrap();
    assert_eq!((&line["verdict"], &line["findings"][0]["severity"]), (&json!("fail"), &json!("high")));
    let asked = &server.requests()[0].raw;
    for part in ["+x = 2", "+y = 1", "No check found"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert!(!asked.contains("b.pyc") && !asked.contains("z = 1"), "{asked}");
    let status = " M a.py\n?? inner/\n?? new.py\n";
    assert_eq!(place.git(&["status", "--porcelain"]), status, "the index is as it was");
}

#[test]
fn a_review_is_no_session_to_continue() {
    let place = place();
    let server = FakeServer::start(vec![
        answer().text("One.").into(),
        say("It FAILs."),
        say(&finding("high")),
        answer().text("Two.").into(),
    ]);
    let url = server.base_url();
    let exec = |args: &[&str]| {
        let all = [&["exec", "--base-url", &url, "--model", "m"], args].concat();
        place.command(&all).output().unwrap()
    };
    exec(&["the task"]);
    review(&place, &server, &[]);
    assert_eq!(stdout(&exec(&["-c", "go on"])), "Two.\n");
    let last = &server.requests()[3].raw;
    assert!(last.contains("the task") && !last.contains("Review of the changes"), "{last}");
}

#[test]
fn only_grave_findings_and_failed_checks_fail() {
    let place = place();
    let server = FakeServer::start(vec![say(&finding("low"))]);
    let out = review(&place, &server, &[]);
    assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(0), "low     a.py:1 adds 2 (read it)\n"));
    place.file("Makefile", "test:\n\t@false\n");
    let server = FakeServer::start(vec![say(r#"{"verdict": "pass"}"#)]);
    let out = review(&place, &server, &[]);
    assert_eq!(out.status.code(), Some(1));
    assert!(stdout(&out).starts_with("check   `make test`: failed"), "{}", stdout(&out));
    let server = FakeServer::start(vec![say("Looks fine. PASS"), say("PASS")]);
    let out = review(&place, &server, &[]);
    assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(1), ""), "no verdict is no pass");
}

#[test]
fn a_branch_or_a_commit_is_reviewed() {
    let place = place();
    place.git(&["checkout", "-qb", "topic"]);
    place.git(&["add", "."]);
    place.git(&["commit", "-qm", "second"]);
    place.file("a.py", "x = 3\n");
    // The last ones as `codex exec review` has them.
    for (args, shown, hidden) in [
        (&["main"][..], "+x = 3", "+x = 2"),
        (&["--commit", "HEAD", "-o", "review.md"], "+x = 2", "+x = 3"),
        (&["exec", "review", "--base", "main", "--skip-git-repo-check"], "+x = 3", "+x = 2"),
        (&["exec", "review", "--commit=HEAD", "--title", "second"], "+x = 2", "+x = 3"),
        (&["exec", "-s", "read-only", "review", "--uncommitted"], "-x = 2", "+y = 1"),
        (&["exec", "review", "Look at the SQL."], "Look at the SQL.", "+y = 1"),
    ] {
        let server = FakeServer::start(vec![say(r#"{"verdict": "pass"}"#)]);
        let out = review(&place, &server, args);
        assert_eq!(
            (out.status.code(), stdout(&out).as_str()),
            (Some(0), "No findings.\n"),
            "{}",
            stderr(&out)
        );
        let asked = &server.requests()[0].raw;
        assert!(asked.contains(shown) && !asked.contains(hidden), "{asked}");
    }
    assert_eq!(place.text("review.md"), "No findings.\n");
    let server = FakeServer::start(vec![]);
    let out = review(&place, &server, &["no-such-branch"]);
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
    place.git(&["checkout", "-q", "."]);
    std::fs::remove_file(place.project().join("review.md")).unwrap();
    let out = review(&place, &server, &[]);
    assert_eq!(out.status.code(), Some(0), "nothing to review: {}", stderr(&out));
}

/// The user's `/review`: findings are shown, and go along with the next message.
#[tokio::test]
async fn a_session_is_reviewed_in_the_chat() {
    let place = Workplace::new();
    let call = answer().call("Write", json!({"path": "a.py", "content": "x = 2\n"}));
    let call = call.call("Bash", json!({"command": "mkdir __pycache__; echo > __pycache__/a.pyc"})).into();
    let server = FakeServer::start(vec![call, say("Done."), say(&finding("high")), say("Mended.")]);
    let config = format!("nudges = false\nmodel = \"test-model\"\nbase_url = \"{}\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, false);
    agent.turn("write x").await;
    agent.send(Work::Review);
    let found = |event: &Event| match event {
        Event::Review(outcome) => Some(outcome.text()),
        _ => None,
    };
    assert_eq!(agent.until(found).await, "high    a.py:1 adds 2 (read it)");
    agent.turn("mend it").await;
    let requests = server.requests();
    assert!(!requests[2].raw.contains("### __pycache__"), "{}", requests[2].raw);
    assert!(requests[2].raw.contains("+x = 2") && requests[2].raw.contains("write x"), "{}", requests[2].raw);
    assert!(requests[3].raw.contains("A reviewer who saw only the task"), "{}", requests[3].raw);
}

#[tokio::test]
async fn a_check_that_needs_approval_is_asked_about() {
    let place = Workplace::new();
    place.file("Makefile", "test:\n\t@echo ran >> ran\n");
    let call = answer().call("Write", json!({"path": "a.py", "content": "x = 2\n"})).into();
    let pass = || say(r#"{"verdict": "pass"}"#);
    let server = FakeServer::start(vec![call, say("Done."), pass(), pass(), pass()]);
    let config = format!("nudges = false\nmodel = \"test-model\"\nbase_url = \"{}\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.submit("write x");
    agent.answer(Answer::Once).await;
    agent.end().await;
    let found = |event: &Event| match event {
        Event::Review(outcome) => Some(outcome.checks.join("; ")),
        _ => None,
    };
    for (answered, told) in [
        (Some(Answer::no()), "`make test`: not run (Denied)"),
        (Some(Answer::Always), "`make test`: passed (exit code 0)"),
        (None, "`make test`: passed (exit code 0)"),
    ] {
        agent.send(Work::Review);
        if let Some(answered) = answered {
            agent.answer(answered).await;
        }
        assert_eq!(agent.until(found).await, told);
    }
    assert_eq!(place.text("ran"), "ran\nran\n");
}
