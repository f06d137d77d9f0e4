//! Calls of one reply: commands that only read run beside each other, the others wait and say so, and results stay in order.

use base::protocol::approval::{Answer, Question};
use base::protocol::event::{EndReason, Event};
use base::protocol::op::Control;
use serde_json::json;

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("a.txt", "alpha\n").file("b.txt", "beta\n");
    place
}

/// None of them ends before the other has begun.
#[test]
fn readers_run_side_by_side() {
    let place = place();
    let pipe = place.project().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let wait = |name: &str| json!({"command": format!("cat pipe; cat {name}"), "timeout_ms": 20_000});
    let server = FakeServer::start(vec![
        answer().call("Bash", wait("a.txt")).call("Bash", wait("b.txt")).into(),
        answer().text("Both.").into(),
    ]);
    // As long as it is open here, nobody's reading ends.
    let held = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let writer = std::thread::spawn(move || {
        let reads_it = |entry: std::fs::DirEntry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let open = std::fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
            line == b"cat\0pipe\0"
                && open.flat_map(|file| std::fs::read_link(file.path())).any(|target| target == pipe)
        };
        let readers =
            || std::fs::read_dir("/proc").unwrap().flatten().map(reads_it).filter(|reads| *reads).count();
        while readers() < 2 {
            std::thread::yield_now();
        }
        drop(held);
    });
    let output = place.exec(&server.base_url(), &["--permission", "full", "look"]);
    assert!(output.status.success());
    writer.join().unwrap();
    let results = server.requests()[1].raw.clone();
    assert!(results.contains("alpha"), "{results}");
    let (first, second) = (results.find("alpha").unwrap(), results.find("beta").unwrap());
    assert!(first < second, "results stand in the order of the calls");
}

/// What the command before it reads comes only after the answer.
#[tokio::test]
async fn a_known_question_does_not_wait_for_readers() {
    let place = place();
    let pipe = place.project().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let server = FakeServer::start(vec![
        answer()
            .call("Bash", json!({"command": "cat pipe"}))
            .call("Bash", json!({"command": "rm b.txt"}))
            .call("Bash", json!({"command": "cat a.txt; ls"}))
            .into(),
        answer().text("Removed.").into(),
    ]);
    let config = format!("base_url = \"{}\"\nmodel = \"test-model\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.submit("remove b.txt");
    let asked = |event: &Event| match event {
        Event::Ask { id, question: Question::Approval(request) } if request.title.contains("rm b.txt") => {
            Some(*id)
        }
        _ => None,
    };
    let id = agent.until(asked).await;
    agent.send(Control::Answer { id, answer: Answer::Once });
    agent.until(|event| matches!(event, Event::AskClosed { .. }).then_some(())).await;
    assert!(place.project().join("b.txt").exists(), "it still runs in its turn");
    tokio::task::spawn_blocking(|| std::fs::write(pipe, "gamma")).await.unwrap().unwrap();
    assert_eq!(agent.end().await.reason, EndReason::Done);
    let results = server.requests()[1].raw.clone();
    assert!(results.contains("gamma") && results.contains("alpha\\na.txt\\npipe"), "{results}");
}

#[test]
fn waiting_calls_are_seen() {
    let place = place();
    let server = FakeServer::start(vec![
        answer()
            .call("Bash", json!({"command": "touch x"}))
            .call("Bash", json!({"command": "touch y"}))
            .call("Read", json!({"path": "a.txt"}))
            .into(),
        answer().text("All.").into(),
    ]);
    let args = ["--base-url", &server.base_url(), "--model", "m"];
    let mut screen = Screen::start(&place, &args, 80, 30);
    screen.wait("ask");
    screen.keys("go\r");
    screen.wait_for("the calls that wait", |screen| {
        screen.contains("y Yes, once")
            && screen.contains("○ Bash touch y · queued")
            && screen.contains("○ Read a.txt · queued")
    });
    screen.keys("y");
    screen.wait_for("the next one", |screen| {
        screen.contains("? Allow Bash touch y") && !screen.contains("○ Bash touch y")
    });
    screen.keys("y");
    screen.wait("All.");
}

#[test]
fn a_command_that_moves_or_writes_runs_alone() {
    let place = place();
    place.file("sub/c.txt", "gamma\n");
    let server = FakeServer::start(vec![
        answer()
            .call("Bash", json!({"command": "cd sub"}))
            .call("Bash", json!({"command": "cat c.txt"}))
            .call("Bash", json!({"command": "echo new > d.txt"}))
            .call("Bash", json!({"command": "cat d.txt"}))
            .into(),
        answer().text("All.").into(),
    ]);
    let output = place.exec(&server.base_url(), &["--permission", "full", "look"]);
    assert!(output.status.success());
    let results = server.requests()[1].raw.clone();
    assert!(results.contains("gamma") && results.contains("new\\n"), "{results}");
}

#[test]
fn a_sub_agents_question_says_whose_it_is() {
    let task = json!({"type": "general", "prompt": "make it", "description": "make it"});
    let server = FakeServer::start(vec![
        answer().call("Task", task).into(),
        answer().call("Bash", json!({"command": "touch made"})).into(),
        answer().text("Made.").into(),
        answer().text("All.").into(),
    ]);
    let place = place();
    let args = ["--base-url", &server.base_url(), "--model", "m"];
    let mut screen = Screen::start(&place, &args, 80, 30);
    screen.wait("ask");
    screen.keys("go\r");
    let shown = screen.wait("asked by the sub-agent general");
    assert!(shown.contains("? Allow Bash touch made"), "{shown}");
    screen.keys("y");
    screen.wait("All.");
}
