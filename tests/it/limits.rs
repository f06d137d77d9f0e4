//! `--max-cost`, `--allow` and `--deny` hold for everything that works in a run: sub-agents, roles of a build, tasks of a batch.

use std::process::Output;

use serde_json::json;

use crate::support::answer::{Reply, answer};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// 1M tokens cost $2 with this model.
const MODEL: &str = "gpt-4.1";

fn run(place: &Workplace, server: &FakeServer, args: &[&str]) -> Output {
    let url = server.base_url();
    let all = [args, &["--base-url", &url, "--model", MODEL]].concat();
    place.command(&all).output().unwrap()
}

fn dear(reply: crate::support::answer::Answer) -> Reply {
    reply.usage(1_000_000, 0, 10).into()
}

#[test]
fn sub_agents_spend_from_the_same_purse() {
    let place = Workplace::new();
    place.file("a.txt", "1\n");
    let task = json!({"type": "explore", "description": "look", "prompt": "look around"});
    let server = FakeServer::start(vec![
        answer().call("Task", task).usage(1_000, 0, 10).into(),
        dear(answer().call("Read", json!({"path": "a.txt"}))),
        answer().text("never asked").into(),
    ]);
    let out = run(&place, &server, &["exec", "--max-cost", "0.5", "do it"]);
    assert_eq!((server.requests().len(), out.status.code()), (2, Some(6)), "{}", stderr(&out));
    assert!(stderr(&out).contains("--max-cost is $0.5"), "{}", stderr(&out));
}

#[test]
fn what_the_server_does_not_report_is_paid_by_estimate() {
    let place = Workplace::new();
    place.file("a.txt", "1\n");
    let read = || answer().call("Read", json!({"path": "a.txt"})).no_usage().into();
    let server = FakeServer::start(vec![read(), read(), read()]);
    // A first request of some 2,000 tokens costs $0.004.
    let out = run(&place, &server, &["exec", "--max-cost", "0.002", "do it"]);
    assert_eq!((server.requests().len(), out.status.code()), (1, Some(6)), "{}", stderr(&out));
}

#[test]
fn a_limit_without_a_price_is_refused_up_front() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![]);
    place.file("tasks.jsonl", "\"one\"\n");
    for command in [&["exec", "do it"][..], &["build", "do it"], &["maintain"]] {
        let url = server.base_url();
        let all = [command, &["--max-cost", "1", "--base-url", &url, "--model", "unheard-of"]].concat();
        let out = place.command(&all).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{command:?}: {}", stderr(&out));
        assert!(stderr(&out).contains("no price known for unheard-of"), "{}", stderr(&out));
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_build_has_the_same_limits() {
    let place = Workplace::new();
    let server =
        FakeServer::start(vec![dear(answer().text("# Spec\n1. x")), answer().text("never asked").into()]);
    let out = run(&place, &server, &["build", "--max-cost", "0.5", "write hello.txt"]);
    assert_eq!(server.requests().len(), 1, "{}{}", stdout(&out), stderr(&out));
    assert_ne!(out.status.code(), Some(0));

    let place = Workplace::new();
    let server = FakeServer::start(vec![
        answer().text("# A greeting\n1. `hello.txt` greets.").into(),
        answer().text("Simple.\n\n- [ ] 1. write hello.txt (files: hello.txt) (after: none)").into(),
        answer().call("Write", json!({"path": "hello.txt", "content": "hello"})).into(),
        answer().text("It was denied.").into(),
        answer().text("FAIL\nNothing is there.").into(),
        answer().text("It was denied.").into(),
        answer().text("FAIL\nNothing is there.").into(),
        answer().text("It was denied.").into(),
        answer().text("FAIL\nNothing is there.").into(),
    ]);
    run(&place, &server, &["build", "--deny", "Write(hello.txt)", "write hello.txt"]);
    assert!(!place.project().join("hello.txt").exists(), "--deny holds for the roles");
}

#[test]
fn a_batch_hands_its_limits_to_its_tasks() {
    let place = Workplace::new();
    place.file("README.md", "# Sample\n").file("tasks.jsonl", "\"alpha task\"\n");
    let place = place.repository();
    let server = FakeServer::start(vec![
        answer().call("Write", json!({"path": "x", "content": "text\n"})).usage(1_000, 0, 10).into(),
        dear(answer().call("LS", json!({}))),
        answer().text("never asked").into(),
    ]);
    let out =
        run(&place, &server, &["exec", "--each", "tasks.jsonl", "--max-cost", "0.5", "--deny", "Write(x)"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{}", stderr(&out));
    assert!(requests[1].raw.contains("--deny Write(x)"), "{}", requests[1].raw);
}
