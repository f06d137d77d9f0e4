//! Services that outlive `exec --keep`: they stay, are listed, have a log with a limit; what would end all the same is told of.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::misbehavior::run::{bash, project, run_with, text};
use crate::support::answer::answer;

fn keep(command: &str) -> crate::support::answer::Answer {
    answer().call("Bash", json!({"command": command, "keep": true}))
}

#[test]
fn a_kept_service_stays_and_is_listed() {
    let replies =
        vec![keep("echo ready; exec sleep 600"), answer().call("Job", json!({})), text("The service runs.")];
    let run = run_with(project(), &["--keep"], "Start it", replies);
    let service = &run.end["services"][0];
    let stop = service["stop"].as_str().unwrap();
    let log = fs::read_to_string(service["log"].as_str().unwrap());
    let listed =
        format!("service 1 running: echo ready; exec sleep 600; log: {}", service["log"].as_str().unwrap());
    let ended = Command::new("bash").args(["-c", stop]).status().unwrap();
    assert!(ended.success(), "it lived on: {stop}");
    assert!(run.last_body().contains(&listed), "{}", run.last_body());
    assert_eq!((log.unwrap().as_str(), run.nudges.len(), run.code), ("ready\n", 0, 0));
}

#[test]
fn a_service_is_read_and_stopped_like_a_job() {
    let job = |args| answer().call("Job", args);
    let replies = vec![
        keep("echo ready; exec sleep 600"),
        job(json!({"id": 1})),
        job(json!({"id": 1, "stop": true})),
        text("It starts. I stopped it again."),
    ];
    let run = run_with(project(), &["--keep"], "See whether it starts", replies);
    let body = run.last_body();
    assert!(body.contains("service 1 was stopped") && body.contains("service 1 is running (pid"), "{body}");
    assert_eq!(body.matches("ready\\n").count() + body.matches("ready\"").count(), 2, "{body}");
    assert!(run.end["services"].as_array().is_none_or(Vec::is_empty), "{}", run.end);
    assert_eq!((run.nudges.len(), run.code), (0, 0));
}

#[test]
fn a_log_has_a_limit() {
    let run = run_with(
        project(),
        &["--keep"],
        "Start it",
        vec![keep("head -c 110000000 /dev/zero"), text("It ended by itself.")],
    );
    assert!(run.last_body().contains("it isn't running"), "{}", run.last_body());
    let find = "find \"$0\" -name '*.log' -path '*services*' -printf %s";
    let found = Command::new("sh").args(["-c", find]).arg(run.place.home()).output().unwrap();
    let bytes: u64 = String::from_utf8_lossy(&found.stdout).parse().unwrap();
    assert!((65 << 20..=100 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn a_server_that_would_end_is_told_of() {
    let script = |rest: usize| {
        let server = bash("sleep 600 >/dev/null 2>&1 &");
        let done = (0..rest).map(|_| text("The server is up."));
        [server].into_iter().chain(done).collect::<Vec<_>>()
    };
    let run = run_with(project(), &["--keep"], "Start a server", script(2));
    assert_eq!(run.nudges, ["finish"], "{}", run.words);
    let line = "What `sleep 600 >/dev/null 2>&1 &` started ends with this run; if it must stay, end it and start it again with keep.";
    assert!(run.words.contains(line), "{}", run.words);
    // Nothing could be done about it, and helpers are meant to end.
    assert!(run_with(project(), &[], "Try it", script(1)).nudges.is_empty());
}

#[test]
fn a_command_never_ends_the_agent_by_its_own_task() {
    let replies = vec![
        bash("pkill -f server_of_mine"),
        bash("pkill -f '^python3 server_of_mine'; echo on"),
        text("Nothing ran."),
    ];
    let run = run_with(project(), &[], "Restart server_of_mine.py", replies);
    assert_eq!(run.code, 0, "{}", run.end);
    let sent = run.last_body();
    assert!(
        sent.contains("would also end this agent") && sent.contains("on\\\\n") || sent.contains("\"on"),
        "{sent}"
    );
}
