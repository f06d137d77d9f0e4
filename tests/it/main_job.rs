//! The main job through the real binary over real HTTP: a bug is found, fixed and verified, in both dialects; what is
//! sent on the way is paired, append-only and small.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::support::answer::Reply;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

const BUGGY: &str = "def last(items):\n    return items[len(items)]\n";

fn bug_project() -> Workplace {
    let place = Workplace::new();
    place.file("src/seq.py", BUGGY).file(
        "check.sh",
        "grep -q 'len(items) - 1' src/seq.py && echo '1 passed' || { echo 'FAILED test_last'; exit 1; }\n",
    );
    place
}

/// The script of a model that fixes the bug.
fn fix() -> Vec<Reply> {
    vec![
        answer().text("I look.").call("Glob", json!({"pattern": "**/*.py"})).call("Bash", json!({"command": "sh check.sh"})).into(),
        answer().call("Read", json!({"path": "src/seq.py"})).into(),
        answer()
            .call("Edit", json!({"path": "src/seq.py", "old_string": "items[len(items)]", "new_string": "items[len(items) - 1]"}))
            .into(),
        answer().call("Bash", json!({"command": "sh check.sh"})).into(),
        answer().text("Fixed `src/seq.py:2`; the check passes.").into(),
    ]
}

fn messages(body: &Value) -> VecDeque<Value> {
    body["messages"].as_array().unwrap().clone().into()
}

#[test]
fn a_bug_is_fixed_over_chat_completions() {
    let server = FakeServer::start(fix());
    let place = bug_project();
    let output = place.exec(&server.base_url(), &["fix the failing check"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(place.text("src/seq.py"), BUGGY.replace("[len(items)]", "[len(items) - 1]"));
    assert_eq!(stdout(&output).trim(), "Fixed `src/seq.py:2`; the check passes.");
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    // The observations really were seen: the failing check, the numbered lines, the passing check.
    let last = requests[4].body["messages"].to_string();
    for seen in ["FAILED test_last", "exit code 1", "2\\\\t    return items", "1 passed"] {
        assert!(last.contains(&seen.replace("\\\\", "\\")) || last.contains(seen), "{seen} not in {last}");
    }
}

#[test]
fn the_prefix_is_append_only_inside_a_turn() {
    let server = FakeServer::start(fix());
    let place = bug_project();
    place.exec(&server.base_url(), &["fix the failing check"]);
    let requests = server.requests();
    for pair in requests.windows(2) {
        let (before, after) = (messages(&pair[0].body), messages(&pair[1].body));
        assert!(before.iter().zip(&after).all(|(a, b)| a == b), "a message changed");
        assert_eq!(pair[0].body["tools"], pair[1].body["tools"]);
    }
}

#[test]
fn a_bug_is_fixed_over_anthropic_messages() {
    let server = FakeServer::start(fix());
    let place = bug_project();
    let output = place
        .command(&["exec", "--provider", "anthropic", "--model", "claude-test", "fix the failing check"])
        .env("ANTHROPIC_BASE_URL", server.base_url().trim_end_matches("/v1"))
        .env("ANTHROPIC_API_KEY", "key-for-a-test")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(place.text("src/seq.py").contains("len(items) - 1"));
    let requests = server.requests();
    assert_eq!(requests[0].header("x-api-key"), "key-for-a-test");
    assert!(requests[4].raw.contains("cache_control"));
}

#[test]
fn what_is_sent_is_small() {
    let server = FakeServer::start(fix());
    let place = bug_project();
    place.exec(&server.base_url(), &["fix the failing check"]);
    let requests = server.requests();
    let fixed = tokens::count(requests[0].body["messages"][0]["content"].as_str().unwrap())
        + tokens::count(&requests[0].body["tools"].to_string());
    assert!(fixed <= 3_000, "L1 with all schemas takes {fixed} tokens");
    let first = tokens::of_request(&requests[0].body);
    assert!(first <= 3_200, "the first request takes {first} tokens");
}

#[test]
fn the_json_output_is_one_event_a_line() {
    let server = FakeServer::start(fix());
    let place = bug_project();
    let output = place.exec(&server.base_url(), &["--json", "fix the failing check"]);
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"session"));
    assert_eq!(kinds.last(), Some(&"turn_ended"));
    assert_eq!(kinds.iter().filter(|kind| **kind == "tool_done").count(), 5);
}

#[test]
fn mistakes_of_the_model_go_back_to_it() {
    let server = FakeServer::start(vec![
        answer().call("Frobnicate", json!({})).into(),
        answer().call_raw("Read", "{\"path\": \"src/se").into(),
        answer().call("Read", json!({"place": "x"})).into(),
        answer().call("Read", json!({"path": "src/sek.py"})).into(),
        answer().call("Edit", json!({"path": "src/seq.py", "old_string": "a", "new_string": "b"})).into(),
        answer().text("I give up.").into(),
    ]);
    let place = bug_project();
    let output = place.exec(&server.base_url(), &["go"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let answers: Vec<String> = messages(&server.requests()[5].body)
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(answers[0].contains("no tool Frobnicate") && answers[0].contains("Glob"), "{}", answers[0]);
    assert!(answers[1].contains("not valid JSON"), "{}", answers[1]);
    let missing = "path is missing (ignored: place). Expected arguments: path (string)";
    assert!(answers[2].contains(missing), "{}", answers[2]);
    assert!(answers[3].contains("NOT_FOUND") && answers[3].contains("src/seq.py"), "{}", answers[3]);
    assert!(answers[4].contains("has not been read yet"), "{}", answers[4]);
    assert_eq!(place.text("src/seq.py"), BUGGY);
}

#[test]
fn nobody_is_asked_in_exec_and_a_denial_shows_in_the_exit_code() {
    let server = FakeServer::start(vec![
        answer().call("Write", json!({"path": "../outside.txt", "content": "x"})).into(),
        answer().text("I may not.").into(),
    ]);
    let place = bug_project();
    let output = place.exec(&server.base_url(), &["write outside"]);
    assert_eq!(output.status.code(), Some(8), "{}", stderr(&output));
    assert!(!place.project().join("../outside.txt").exists());
    assert!(server.requests()[1].raw.contains("PERMISSION_DENIED"));
}

#[test]
fn read_only_changes_nothing() {
    let server = FakeServer::start(vec![
        answer()
            .call("Write", json!({"path": "a.txt", "content": "x"}))
            .call("Bash", json!({"command": "touch b.txt"}))
            .into(),
        answer().text("No.").into(),
    ]);
    let place = bug_project();
    let output = place.exec(&server.base_url(), &["--permission", "read-only", "write"]);
    assert_eq!(output.status.code(), Some(8));
    assert!(!place.project().join("a.txt").exists() && !place.project().join("b.txt").exists());
}

#[test]
fn the_step_limit_ends_politely() {
    let look = || answer().call("LS", json!({})).into();
    let server = FakeServer::start(vec![look(), look(), look(), look()]);
    let place = bug_project();
    let output = place.exec(&server.base_url(), &["--max-steps", "3", "loop"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(stderr(&output).contains('3'), "{}", stderr(&output));
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn nothing_configured_says_what_to_do() {
    let place = bug_project();
    let output = place.command(&["exec", "hello"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    assert!(said.contains("OPENAI_API_KEY") && said.contains("--base-url"), "{said}");
}

#[test]
fn a_key_never_reaches_the_model_or_the_log() {
    let key = format!("sk-{}", "a1B2c3D4".repeat(5));
    let server = FakeServer::start(vec![
        answer()
            .call("Read", json!({"path": ".env"}))
            .call("Bash", json!({"command": "env; cat .env"}))
            .into(),
        answer().text("Seen.").into(),
    ]);
    let place = bug_project();
    place.file(".env", format!("OPENAI_API_KEY={key}\nDEBUG=1\n"));
    let output = place
        .command(&["exec", "--base-url", &server.base_url(), "--model", "m", "look at .env"])
        .env("OPENAI_API_KEY", "sk-the-real-one-0123456789abcdef")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let log = std::fs::read_to_string(place.log()).unwrap();
    for text in [&server.requests()[1].raw, &log, &stderr(&output)] {
        assert!(!text.contains(&key), "the file's key leaked");
        assert!(!text.contains("the-real-one"), "our own key leaked");
    }
    assert!(log.contains("DEBUG=1"));
}
