//! Goals: work goes on, turn by turn, until a command of the user's succeeds.

use std::process::Output;
use std::time::{Duration, Instant};

use agent::assemble::RunLimits;
use base::deadline::Deadline;
use base::protocol::event::{EndReason, Event, FailureCause};
use base::protocol::goal::Goal;
use base::protocol::op::{Idle, Work};
use frontend::exec::json;
use frontend::exec::output_schema::OutputSchema;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::{Reply, answer, silence, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// Passes once the file says 3; says how far it is.
const CHECK: &str = "grep -q 3 n.txt || { echo \"n is $(cat n.txt)\"; exit 1; }";

fn write(text: &str) -> Reply {
    answer().call("Write", json!({"path": "n.txt", "content": text})).into()
}

fn say(text: &str) -> Reply {
    answer().text(text).into()
}

fn run(place: &Workplace, server: &FakeServer, args: &[&str]) -> Output {
    place.exec(&server.base_url(), args)
}

fn lines(out: &Output) -> Vec<Value> {
    let schema = OutputSchema::parse(json::SCHEMA).unwrap();
    let valid = |line: &str| schema.read(line).unwrap_or_else(|why| panic!("{line}: {why}"));
    stdout(out).lines().map(valid).collect()
}

fn last_user(body: &Value) -> String {
    body["messages"].as_array().unwrap().last().unwrap()["content"].to_string()
}

#[test]
fn fails_twice_then_passes() {
    let place = Workplace::new();
    let replies = vec![write("1"), say("First."), write("2"), say("Second."), write("3"), say("Third.")];
    let server = FakeServer::start(replies);
    let out = run(&place, &server, &["--json", "--until", CHECK, "make n 3"]);
    assert_eq!(out.status.code(), Some(0), "{}{}", stdout(&out), stderr(&out));
    let lines = lines(&out);
    let goals: Vec<&Value> = lines.iter().filter(|line| line["type"] == "goal").collect();
    let outcomes: Vec<&Value> = goals.iter().map(|line| &line["round"]["outcome"]).collect();
    assert_eq!(outcomes, [&Value::Null, &json!("failed"), &json!("failed"), &json!("passed")]);
    assert_eq!(goals[1]["round"]["changed"], json!(["n.txt"]));
    let end = lines.last().unwrap();
    assert_eq!((&end["reason"], &end["result"]), (&json!("done"), &json!("Third.")));
    assert_eq!((end["rounds"].as_array().unwrap().len(), &end["steps"]), (3, &json!(6)));
    let requests = server.requests();
    assert!(
        requests[0].raw.contains("After each of your turns the program runs"),
        "the model knows the check"
    );
    assert!(last_user(&requests[2].body).contains("n is 1"), "{}", requests[2].raw);
    let prefix = |index: usize| requests[index].body["messages"].as_array().unwrap().clone();
    assert_eq!(prefix(4)[..prefix(3).len()], prefix(3)[..], "requests only grow");
}

#[test]
fn a_test_command_that_ran_no_test_has_not_passed() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), say("First."), write("3"), say("Second.")]);
    let check = "if grep -q 3 n.txt; then echo '# tests 1'; else echo '# tests 0'; fi";
    let out = run(&place, &server, &["--until", check, "make n 3"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let shown = stderr(&out);
    assert!(shown.contains("round 1: check failed (no test ran)"), "{shown}");
    assert!(shown.contains("reached after 2 rounds"), "{shown}");
    assert!(last_user(&server.requests()[2].body).contains("Continue until it runs tests that pass."));
}

#[test]
fn people_see_each_round_and_a_report() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), say("First."), write("3"), say("Second.")]);
    let out = run(&place, &server, &["--until", CHECK, "make n 3"]);
    assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(0), "Second.\n"), "{}", stderr(&out));
    let shown = stderr(&out);
    assert!(shown.contains("· round 1: check failed (exit code 1); changed n.txt"), "{shown}");
    assert!(shown.contains("\n  round 2: check passed (exit code 0); changed n.txt"), "{shown}");
    assert!(shown.contains("\n  reached after 2 rounds"), "{shown}");
}

#[test]
fn a_check_with_a_secret_runs_and_leaves_none() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("hunter2Zq"), say("Done.")]);
    let out = run(&place, &server, &["--until", "export PASSWORD=hunter2Zq; grep -q $PASSWORD n.txt", "try"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let log = std::fs::read_to_string(place.log()).unwrap();
    let check = log.lines().find(|line| line.contains("check")).unwrap();
    assert!(check.contains("PASSWORD=<REDACTED") && !check.contains("hunter2Zq"), "{check}");
}

#[test]
fn the_same_output_three_times_is_no_progress() {
    let place = Workplace::new();
    let touch = |name: &str| answer().call("Write", json!({"path": name, "content": name})).into();
    let replies = vec![touch("a"), say("1"), touch("b"), say("2"), touch("c"), say("3"), say("never asked")];
    let server = FakeServer::start(replies);
    let out = run(&place, &server, &["--until", "echo bad in 0.12s; exit 1", "try"]);
    assert_eq!((out.status.code(), server.left()), (Some(12), 1), "{}", stderr(&out));
    assert!(stderr(&out).contains("printed the same output 3 times in a row"), "{}", stderr(&out));
    let out = run(&place, &server, &["-c"]);
    assert_eq!(out.status.code(), Some(2), "the goal is closed: {}", stderr(&out));
}

#[test]
fn a_round_without_a_change_is_no_progress() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), say("First."), say("I can't."), say("never asked")]);
    let out = run(&place, &server, &["--json", "--until", CHECK, "make n 3"]);
    assert_eq!((out.status.code(), server.left()), (Some(12), 1), "{}", stderr(&out));
    let lines = lines(&out);
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["reason"], &end["rounds"][1]["outcome"]),
        (&json!("no_progress"), &json!("no_progress"))
    );
}

#[test]
fn a_check_that_cannot_run_ends_at_once() {
    for (check, args, code, says) in [
        ("no-such-program --all", &[][..], 1, "no-such-program"),
        ("curl -s http://example.com", &["--deny", "Bash(curl *)"], 8, "--allow"),
    ] {
        let place = Workplace::new();
        let server = FakeServer::start(vec![write("1"), say("First."), say("never asked")]);
        let out = run(&place, &server, &[&["--until", check, "do it"], args].concat());
        assert_eq!((out.status.code(), server.left()), (Some(code), 1), "{check}: {}", stderr(&out));
        assert!(stderr(&out).contains("can't be run"), "{}", stderr(&out));
        assert!(stderr(&out).contains(says), "{}", stderr(&out));
    }
}

#[test]
fn the_cost_of_all_rounds_is_bounded() {
    let place = Workplace::new();
    let dear = answer().text("First.").usage(1_000_000, 0, 10).into();
    let server = FakeServer::start(vec![write("1"), dear, say("never asked")]);
    let url = server.base_url();
    let args =
        ["exec", "--base-url", &url, "--model", "gpt-4.1", "--max-cost", "0.5", "--until", CHECK, "do it"];
    let out = place.command(&args).output().unwrap();
    assert_eq!((out.status.code(), server.left()), (Some(6), 1), "{}", stderr(&out));
    assert!(
        stderr(&out).contains("round 1: check failed (exit code 1); changed n.txt; $2."),
        "{}",
        stderr(&out)
    );
}

fn config(server: &FakeServer) -> String {
    format!("nudges = false\nmodel = \"test-model\"\nbase_url = \"{}\"\n", server.base_url())
}

#[tokio::test]
async fn the_deadline_ends_a_check() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), say("First.")]);
    let deadline = Deadline::new(Instant::now(), Duration::from_secs(2));
    let limits = RunLimits { deadline: Some(deadline), ..RunLimits::default() };
    let mut agent = TestAgent::limited(&place, &config(&server), limits);
    let goal = Goal { text: "make n 3".to_owned(), check: "sleep 60; exit 1".to_owned() };
    agent.send(Work::Goal(goal));
    let end = agent.end().await;
    assert!(matches!(&end.reason, EndReason::Failed { cause: FailureCause::Deadline, .. }), "{end:?}");
}

/// Killed in the middle of rounds and gone on with: the check decides, from the present state. Kills are no lack of progress.
#[test]
fn a_killed_goal_goes_on() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), say("First."), write("2"), silence()]);
    let url = server.base_url();
    let args = ["exec", "--base-url", &url, "--model", "test-model", "--until", CHECK, "make n 3"];
    let mut child = place.command(&args).spawn().unwrap();
    server.wait_for_requests(4);
    child.kill().unwrap();
    child.wait().unwrap();
    for requests in [5, 6] {
        server.push(silence());
        let args = ["exec", "--base-url", &url, "--model", "test-model", "-c"];
        let mut child = place.command(&args).spawn().unwrap();
        server.wait_for_requests(requests);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    server.push(write("3"));
    server.push(say("Third."));
    let out = run(&place, &server, &["-c"]);
    assert_eq!(out.status.code(), Some(0), "{}{}", stdout(&out), stderr(&out));
    let shown = stderr(&out);
    assert!(shown.contains("goal: make n 3"), "it says so: {shown}");
    assert!(shown.contains("round 4: check failed") && shown.contains("round 5: check passed"), "{shown}");
    let requests = server.requests();
    for request in &requests[4..7] {
        assert!(last_user(&request.body).contains("n is 2"), "{}", request.raw);
    }
}

/// What is summarized away leaves the goal, word for word.
#[tokio::test]
async fn the_goal_survives_a_summary() {
    let place = Workplace::new();
    let long = "A long way of saying little. ".repeat(40);
    let text = "Make n 3, and   keep THIS wording; nothing else.".to_owned();
    let server = FakeServer::start(vec![write("1"), say(&long), write("2"), say(&long), status(400, "no")]);
    let mut agent = TestAgent::start(&place, &config(&server), false);
    agent.send(Work::Goal(Goal { text: text.clone(), check: CHECK.to_owned() }));
    let (first, second) = (agent.end().await, agent.end().await);
    assert!(first.goal.unwrap().goes_on() && second.goal.unwrap().goes_on());
    agent.end().await;
    server.push(say("not a summary"));
    agent.send(Work::Compact { focus: None });
    agent.until(|event| matches!(event, Event::Window(_)).then_some(())).await;
    server.push(say("Still there."));
    agent.submit("go on");
    agent.send(Idle::StopGoal);
    agent.end().await;
    let sent = server.requests().last().unwrap().body["messages"].to_string();
    assert!(sent.contains("Archived History Summary"), "{sent}");
    let block =
        format!("The goal, word for word (done when its check ends with 0):\n{text}\nIts check: {CHECK}\n");
    assert!(sent.contains(json!(block).to_string().trim_matches('"')), "{sent}");
}

#[tokio::test]
async fn the_user_stops_a_goal_between_rounds() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), say("First."), say("never asked")]);
    let mut agent = TestAgent::start(&place, &config(&server), false);
    agent.send(Work::Goal(Goal { text: "make n 3".to_owned(), check: CHECK.to_owned() }));
    agent.send(Idle::StopGoal);
    let end = agent.end().await;
    assert!(end.goal.unwrap().goes_on());
    let stopped = |event: &Event| {
        matches!(event, Event::Notice { text, .. } if text.starts_with("Stopped.")).then_some(())
    };
    agent.until(stopped).await;
    assert_eq!(server.left(), 1, "no further round");
}
