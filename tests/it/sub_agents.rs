//! Sub-agents: what they are told and may do, what comes back of them, and that neither an interrupt nor a kill loses them.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use base::protocol::event::Event;
use base::protocol::op::{Control, Work};
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::{answer, silence};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, passage, stderr, stdout};

fn task(kind: &str, prompt: &str) -> Value {
    json!({"type": kind, "description": prompt, "prompt": prompt})
}

fn said(body: &Value) -> String {
    body["messages"].to_string()
}

/// The logs of sub-agents.
fn agent_logs(place: &Workplace) -> Vec<PathBuf> {
    let folder = place.log().parent().unwrap().parent().unwrap().join("agents/sessions");
    fs::read_dir(folder).map_or(Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
}

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("src/big.rs", passage(1, 300)).file("CODE_LAW.md", "Be kind.\n");
    place
}

#[test]
fn the_user_hears_what_it_changed_that_runs_by_itself() {
    let server = FakeServer::start(vec![
        answer().call("Task", task("general", "set it up")).into(),
        answer().call("Bash", json!({"command": "echo x > .npmrc"})).into(),
        answer().text("Set up.").into(),
        answer().text("Done.").into(),
    ]);
    let output = place().exec(&server.base_url(), &["--permission", "auto", "set it up"]);
    assert!(stderr(&output).contains("general: Changed: .npmrc."), "{}", stderr(&output));
}

#[test]
fn only_the_answer_comes_back() {
    let server = FakeServer::start(vec![
        answer().call("Task", task("explore", "where is the parser?")).usage(1_000, 0, 50).into(),
        answer().call("Read", json!({"path": "src/big.rs"})).usage(2_000, 0, 40).into(),
        answer()
            .call("Write", json!({"path": "x", "content": "x"}))
            .call("Task", task("explore", "deeper"))
            .call("Bash", json!({"command": "touch y; wc -l src/big.rs"}))
            .into(),
        answer().text("In `src/big.rs:7`.").usage(9_000, 2_000, 60).into(),
        answer().call("Recall", json!({"agent": "AGENT", "query": "parser"})).into(),
        answer().text("Done.").into(),
    ]);
    let place = place();
    let output = place.exec(&server.base_url(), &["--json", "find the parser"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let requests = server.requests();
    let tools = |at: usize| {
        let tools = requests[at].body["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(1), ["Read", "Bash", "Grep", "Glob", "LS", "Locate", "Recall", "MoreTools"]);
    assert!(tools(0).contains(&"Task".to_owned()));
    let first = said(&requests[1].body);
    assert!(first.contains("where is the parser?") && !first.contains("find the parser"), "{first}");
    assert!(first.contains("You answer one question about this project") && first.contains("Be kind."));
    let refused = said(&requests[3].body);
    assert!(
        refused.contains("there is no tool Write") && refused.contains("there is no tool Task"),
        "{refused}"
    );
    assert!(!place.project().join("x").exists() && !place.project().join("y").exists());
    // The parent sees the answer and where it came from, and nothing of the file.
    let back = said(&requests[4].body);
    assert!(back.contains("In `src/big.rs:7`.") && back.contains("it read src/big.rs #"), "{back}");
    let line = passage(1, 300).lines().max_by_key(|line| line.len()).unwrap().to_owned();
    assert!(!back.contains(&line) && said(&requests[2].body).contains(&line));
    // Its session stands beside the others, belongs to the call, and is no session of the project.
    let logs = agent_logs(&place);
    assert_eq!(logs.len(), 1);
    let meta = fs::read_to_string(&logs[0]).unwrap();
    let id = logs[0].file_stem().unwrap().to_str().unwrap().to_owned();
    assert!(meta.lines().next().unwrap().contains("\"parent\":{\"session\":"), "{meta}");
    let sessions = stdout(&place.command(&["sessions", "--json"]).output().unwrap());
    assert!(!sessions.contains(&id), "{sessions}");
    // What it cost is part of what the session cost.
    let printed = stdout(&output);
    let usage = printed.lines().rev().find(|line| line.contains("\"type\":\"usage\"")).unwrap();
    let usage: Value = serde_json::from_str(usage).unwrap();
    assert!(usage["total"]["input"].as_u64().unwrap() >= 12_000, "{usage}");
    let context = stdout(&place.command(&["context"]).output().unwrap());
    assert!(
        context.contains("1 sub-agent: ") && context.contains(&format!("explore {id}: 3 steps")),
        "{context}"
    );
    let own = stdout(&place.command(&["context", &id]).output().unwrap());
    assert!(own.contains("user: where is the parser?"), "{own}");
}

#[test]
fn general_agents_change_files_and_the_turn_can_be_undone() {
    let server = FakeServer::start(vec![
        answer().call("Task", task("general", "write it")).into(),
        answer().call("Write", json!({"path": "made.txt", "content": "made"})).into(),
        answer().text("Made `made.txt`.").into(),
        answer().text("Done.").into(),
    ]);
    let place = place();
    let output = place.exec(&server.base_url(), &["make it"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(place.text("made.txt"), "made");
    assert!(said(&server.requests()[3].body).contains("changed made.txt"));
    let points = stdout(&place.command(&["rewind"]).output().unwrap());
    assert_eq!(points.matches("make it").count(), 1, "{points}");
    assert!(!points.contains("write it"), "{points}");
    let point = points.split_whitespace().next().unwrap().to_owned();
    let output = place.command(&["rewind", "--to", &point, "--files", "--yes"]).output().unwrap();
    assert!(output.status.success(), "{points}\n{}", stderr(&output));
    assert!(!place.project().join("made.txt").exists(), "{points}\n{}", stdout(&output));
}

#[test]
fn agents_that_only_read_run_side_by_side() {
    let server = FakeServer::start(vec![]);
    server.push(
        answer()
            .call("Task", json!({"subagent_type": "explore", "prompt": "one thing"}))
            .call("Task", task("plan", "another thing")),
    );
    server.on_body("First.", answer().text("Both are there."));
    server.on_body("one thing\\n", answer().text("First.").gated());
    server.on_body("another thing\\n", answer().text("# Second").gated());
    let place = place();
    let url = server.base_url();
    let mut command = place.command(&["exec", "--base-url", &url, "--model", "m", "find both"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    // Neither is answered before both have asked.
    server.wait_for_requests(3);
    server.release(100);
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output).trim(), "Both are there.", "{}", stderr(&output));
    let last = said(&server.requests().last().unwrap().body);
    assert!(last.find("First.").unwrap() < last.find("# Second").unwrap(), "in the order of the calls");
}

#[test]
fn writers_with_worktrees_run_side_by_side_and_leave_branches() {
    let place = place();
    place.file("a.txt", "one\n").file("b.txt", "one\n");
    let place = place.repository();
    place.file("b.txt", "not committed\n");
    let server = FakeServer::start(vec![]);
    let alone = |prompt: &str| json!({"type": "general", "prompt": prompt, "isolation": "worktree"});
    server.push(answer().call("Task", alone("first job")).call("Task", alone("second job")));
    server.on_body("Both wrote.", answer().text("All is there."));
    server.on_body("\"role\":\"tool\"", answer().text("Both wrote."));
    let write = |file: &str| answer().call("Bash", json!({"command": format!("cat b.txt > {file}")})).gated();
    server.on_body("first job\\n", write("a.txt"));
    server.on_body("second job\\n", write("c.txt"));
    let url = server.base_url();
    let mut command = place.command(&["exec", "--base-url", &url, "--model", "m", "do both"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.wait_for_requests(3);
    server.release(100);
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output).trim(), "All is there.", "{}", stderr(&output));
    assert_eq!(place.text("a.txt"), "one\n", "the project itself is unchanged");
    let listed = stdout(&place.command(&["work", "list", "--json"]).output().unwrap());
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2, "{listed}");
    let back = said(&server.requests().last().unwrap().body);
    for (job, file) in [("first job", "a.txt"), ("second job", "c.txt")] {
        let row = rows.iter().find(|row| row["task"] == job).unwrap_or_else(|| panic!("{listed}"));
        assert_eq!((&row["files"], &row["exit_code"]), (&json!([file]), &json!(0)), "{listed}");
        let branch = row["branch"].as_str().unwrap();
        let (before, _) =
            back.split_once(&format!(" {branch} | git apply")).unwrap_or_else(|| panic!("{back}"));
        let base = before.rsplit(' ').next().unwrap();
        assert_eq!(place.git(&["diff", "--name-only", base, branch]).trim(), file);
        assert!(place.git(&["show", &format!("{branch}:{file}")]).contains("not committed"));
    }
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1, "the folders are gone");
}

/// A model that starts an explorer in the background, which answers when it is released.
fn explorer_in_the_background() -> FakeServer {
    let server = FakeServer::start(vec![]);
    server
        .push(answer().call("Task", json!({"type": "explore", "prompt": "look around", "background": true})));
    server.on_body("It reports", answer().text("Then it is in big.rs.").usage(10, 0, 1));
    server.on_body("started as job 1", answer().text("I wait for it.").usage(10, 0, 1));
    server.on_body("look around\\n", answer().text("In `src/big.rs`.").usage(7_000, 0, 1).gated());
    server
}

#[test]
fn in_the_background_an_agent_is_reported_when_it_ends() {
    let server = explorer_in_the_background();
    let place = place();
    let url = server.base_url();
    let mut command = place.command(&["exec", "--base-url", &url, "--model", "m", "--json", "find it"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    // The turn goes on meanwhile, and waits at its end.
    server.wait_for_requests(3);
    server.release(100);
    let output = child.wait_with_output().unwrap();
    let printed = stdout(&output);
    assert!(printed.contains("Then it is in big.rs."), "{printed}");
    let last = said(&server.requests().last().unwrap().body);
    assert!(
        last.contains("Job 1 (`Task explore: look around`) ended: done") && last.contains("In `src/big.rs`.")
    );
    let end = printed.lines().rev().find(|line| line.contains("\"type\":\"turn_ended\"")).unwrap();
    let end: Value = serde_json::from_str(end).unwrap();
    assert!(end["usage"]["input"].as_u64().unwrap() >= 7_020, "what it used counts: {end}");

    // Whoever writes meanwhile needs a place of its own.
    let server = FakeServer::start(vec![
        answer().call("Task", json!({"type": "general", "prompt": "write", "background": true})).into(),
        answer().text("I wait.").into(),
        answer().text("Then not.").into(),
    ]);
    let output = place.exec(&server.base_url(), &["write it"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let last = said(&server.requests().last().unwrap().body);
    assert!(last.contains("not in a git repository"), "{last}");
}

#[tokio::test]
async fn in_the_chat_a_report_begins_a_turn_of_its_own() {
    let server = explorer_in_the_background();
    let place = place();
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\npermission = \"auto\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    assert_eq!(agent.turn("find it").await.steps, 2);
    // Nothing is told before it has ended.
    agent.send(Work::Reports);
    server.release(100);
    let ended = |event: &Event| match event {
        Event::Jobs(rows) => rows.iter().any(|row| row.ended.is_some()).then_some(()),
        _ => None,
    };
    agent.until(ended).await;
    agent.send(Work::Reports);
    agent.send(Work::Reports);
    assert_eq!(agent.end().await.steps, 1);
    let last = said(&server.requests().last().unwrap().body);
    assert!(last.contains("ended: done") && last.contains("In `src/big.rs`."), "{last}");
    assert_eq!(agent.turn("thanks").await.steps, 1);
    assert_eq!(server.requests().len(), 5, "it is told once");
}

#[test]
fn an_unknown_type_names_the_others() {
    let server = FakeServer::start(vec![
        answer().call("Task", task("wizard", "do magic")).into(),
        answer().text("Then not.").into(),
    ]);
    let place = place();
    place.exec(&server.base_url(), &["go"]);
    let said = said(&server.requests()[1].body);
    assert!(said.contains("there is no type wizard. Types: general, explore"), "{said}");
    assert!(agent_logs(&place).is_empty());
}

#[tokio::test]
async fn an_interrupt_reaches_a_sub_agent() {
    let server = FakeServer::start(vec![
        answer().call("Task", task("general", "wait")).into(),
        answer().call("Bash", json!({"command": "sleep 100"})).into(),
    ]);
    let place = place();
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\npermission = \"auto\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.submit("go");
    agent
        .until(|event| match event {
            Event::ToolProgress { tail, .. } if tail.contains("sleep 100") => Some(()),
            _ => None,
        })
        .await;
    agent.send(Control::Interrupt);
    agent.end().await;
    assert_eq!(server.requests().len(), 2);
    let log = fs::read_to_string(&agent_logs(&place)[0]).unwrap();
    assert!(log.contains("\"kind\":\"interrupted\""), "{log}");
}

#[test]
fn a_killed_agent_goes_on() {
    let server = FakeServer::start(vec![
        answer().call("Task", task("general", "long work")).into(),
        answer().text("I begin.").call("Bash", json!({"command": "echo found-it"})).into(),
        silence(),
    ]);
    let place = place();
    let url = server.base_url();
    let mut child = place.command(&["exec", "--base-url", &url, "--model", "m", "go"]).spawn().unwrap();
    server.wait_for_requests(3);
    child.kill().unwrap();
    child.wait().unwrap();
    let id = agent_logs(&place)[0].file_stem().unwrap().to_str().unwrap().to_owned();
    server.push(answer().call("Task", json!({"type": "general", "prompt": "go on", "resume": id})));
    server.push(answer().text("All of it is done."));
    server.push(answer().text("Finished."));
    let output = place.exec(&server.base_url(), &["-c", "go on"]);
    assert_eq!(stdout(&output).trim(), "Finished.", "{}", stderr(&output));
    let requests = server.requests();
    let parent = said(&requests[requests.len() - 3].body);
    assert!(parent.contains(&format!("Task with resume=\\\\\\\"{id}")) || parent.contains(&id), "{parent}");
    let resumed = said(&requests[requests.len() - 2].body);
    assert!(resumed.contains("found-it") && resumed.contains("long work"), "{resumed}");
}

#[test]
fn light_model_by_type() {
    let server = FakeServer::start(vec![
        answer().call("Task", task("explore", "look")).into(),
        answer().text("Seen.").into(),
        answer().call("Task", json!({"type": "explore", "prompt": "look", "model": "main"})).into(),
        answer().text("Seen.").into(),
        answer().text("Done.").into(),
    ]);
    let place = place();
    fs::write(place.home().join("config.toml"), "light_model = \"small\"\n").unwrap();
    place.exec(&server.base_url(), &["go"]);
    let models: Vec<String> =
        server.requests().iter().map(|request| request.body["model"].as_str().unwrap().to_owned()).collect();
    let main = &models[0];
    assert_eq!(models, [main, "small", main, main, main].map(str::to_owned));
}

const AUDITOR: &str = "---\nname: auditor\ndescription: Checks licenses.\ntools: Read, grep, WebFetch, Bash(git log:*)\nmodel: haiku\n---\nYou check licenses only.\n";

#[test]
fn the_users_own_types() {
    let place = place();
    let own = place.home().join("agents");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("auditor.md"), AUDITOR).unwrap();
    fs::write(own.join("broken.md"), "---\nname: explore\n---\nx\n").unwrap();
    let server = FakeServer::start(vec![
        answer().call("Task", task("auditor", "which license?")).call("Task", task("nobody", "x")).into(),
        answer().call("Write", json!({"path": "x", "content": "x"})).text("Trying.").into(),
        answer().text("MIT.").into(),
        answer().text("Done.").into(),
    ]);
    let output = place.exec(&server.base_url(), &["check the licenses"]);
    assert!(output.status.success(), "{}", stderr(&output));
    for problem in ["'explore' is a built-in type", "Bash(git log:*) is left out"] {
        assert!(stderr(&output).contains(problem), "{problem}: {}", stderr(&output));
    }
    let requests = server.requests();
    let told = requests[0].body["tools"].to_string();
    assert!(told.contains("Also: auditor: Checks licenses."), "{told}");
    let names: Vec<&str> = requests[1].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Read", "Grep", "MoreTools"]);
    assert!(requests[1].raw.contains("WebFetch {url}") && !requests[1].raw.contains("Symbols {"));
    assert!(said(&requests[1].body).contains("# Your part\\nYou check licenses only."));
    let last = said(&requests[3].body);
    assert!(last.contains("MIT.") && last.contains("qa_fixer, auditor"), "{last}");
    assert!(!place.project().join("x").exists());
}

#[test]
fn a_projects_types_need_trust() {
    let place = place();
    place.file(".claude/agents/auditor.md", AUDITOR);
    let told = |trusted: &str, changed: bool| {
        let server = FakeServer::start(vec![answer().text("Hi.").into()]);
        let output = place.exec(&server.base_url(), &["hello"]);
        let (told, warned) = (server.requests()[0].body["tools"].to_string(), stderr(&output));
        assert_eq!(told.contains("auditor"), !changed, "{trusted}: {told}");
        let ignored = warned.contains("(.claude/agents/auditor.md") && warned.contains("Ignored");
        assert_eq!(ignored, changed, "{trusted}: {warned}");
    };
    told("never trusted", true);
    let output = place.command(&["trust"]).output().unwrap();
    assert!(
        stdout(&output).contains("sub-agents as they are now: .claude/agents/auditor.md"),
        "{}",
        stdout(&output)
    );
    told("trusted", false);
    place.file(".claude/agents/auditor.md", AUDITOR.replace("only", "and more"));
    told("changed since", true);
    assert!(place.command(&["trust"]).output().unwrap().status.success());
    assert!(place.command(&["trust", "--revoke"]).output().unwrap().status.success());
    told("revoked", true);
}
