//! Esc is heard at every wait of a turn: hooks, MCP servers, the model server, tools, questions, sub-agents, compaction.

use std::path::PathBuf;
use std::time::Duration;

use base::protocol::event::{EndReason, Event};
use base::protocol::op::{Control, Work};
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::{Reply, answer, silence, status};
use crate::support::mcp_server::McpServer;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

/// Longer than any machine needs, and shorter than what is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that says that it runs, and then takes long.
fn hang(place: &Workplace) -> String {
    format!("touch '{}'; sleep 120", marker(place).display())
}

fn marker(place: &Workplace) -> PathBuf {
    place.project().join("reached")
}

fn hooks(place: &Workplace, event: &str) {
    let hook = json!([{"matcher": "", "hooks": [{"type": "command", "command": hang(place)}]}]);
    std::fs::create_dir_all(place.home()).unwrap();
    std::fs::write(place.home().join("hooks.json"), json!({"hooks": {event: hook}}).to_string()).unwrap();
}

fn mcp(place: &Workplace, hangs_at: &str) {
    let prompt = json!({"prompts": [{"name": "fix"}]});
    McpServer::with_tools(&["find"])
        .offers("resources")
        .offers("prompts")
        .runs(hangs_at, &hang(place))
        .answers("prompts/list", &prompt)
        .answers("resources/list", &json!({"resources": []}))
        .add(place, "db");
}

fn call(name: &str, args: Value) -> Vec<Reply> {
    vec![answer().call(name, args).into()]
}

/// Starts a turn with `text`, interrupts it once `reached` says so, and expects it to end.
async fn interrupted(place: &Workplace, replies: Vec<Reply>, text: &str, reached: impl Fn(&Event) -> bool) {
    let server = FakeServer::start(replies);
    let config = format!(
        "base_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"\nweb_private_hosts = [\"127.0.0.1\"]\n",
        server.base_url()
    );
    let mut agent = TestAgent::start(place, &config, true);
    agent.submit(text);
    let marker = marker(place);
    let waits = async {
        loop {
            if marker.exists()
                || agent.seen.iter().any(&reached)
                || (["silent", "stalled"].contains(&text) && !server.requests().is_empty())
            {
                return;
            }
            match tokio::time::timeout(Duration::from_millis(5), agent.handle.events.recv()).await {
                Ok(Some(Event::TurnEnded(end))) => panic!(
                    "'{text}' ended by itself: {end:?} {}",
                    server
                        .requests()
                        .last()
                        .map_or(String::new(), |request| request.body["messages"].to_string())
                ),
                Ok(event) => agent.seen.extend(event),
                Err(_) => {}
            }
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waits).await.is_ok(), "'{text}' never came to its wait");
    agent.send(Control::Interrupt);
    let end = tokio::time::timeout(PATIENCE, agent.end()).await;
    let end = end.unwrap_or_else(|_| panic!("'{text}': the interrupt was not heard"));
    // The answer is complete when Stop hooks run.
    let complete = text == "Stop" && end.reason == EndReason::Done;
    assert!(complete || matches!(end.reason, EndReason::Interrupted { .. }), "'{text}': {:?}", end.reason);
}

fn never(_: &Event) -> bool {
    false
}

#[tokio::test]
async fn at_hooks() {
    for (event, replies) in [
        ("UserPromptSubmit", vec![]),
        ("SessionStart", vec![]),
        ("PreToolUse", call("LS", json!({}))),
        ("PostToolUse", call("LS", json!({}))),
        ("Stop", vec![answer().text("Done.").into()]),
    ] {
        let place = Workplace::new();
        hooks(&place, event);
        interrupted(&place, replies, event, never).await;
    }
}

#[tokio::test]
async fn at_mcp_servers() {
    for (hangs_at, text, replies) in [
        ("initialize", "look at @db:x://y", vec![]),
        ("prompts/list", "/db:fix", vec![]),
        ("prompts/get", "/db:fix", vec![]),
        ("resources/read", "look at @db:x://y", vec![]),
        ("tools/call", "use it", call("db.find", json!({}))),
    ] {
        let place = Workplace::new();
        mcp(&place, hangs_at);
        interrupted(&place, replies, text, never).await;
    }
}

#[tokio::test]
async fn at_the_model_server() {
    for (text, reply) in [
        ("silent", silence()),
        (
            "stalled",
            answer().text("a long answer, of which only the beginning comes").stall_after(300).into(),
        ),
        ("slow down", status(429, r#"{"error":{"message":"slow"}}"#).header("retry-after", "40")),
    ] {
        let place = Workplace::new();
        let waits = |event: &Event| matches!(event, Event::Retrying { .. } | Event::TextDelta(_));
        interrupted(&place, vec![reply], text, waits).await;
    }
}

#[tokio::test]
async fn at_tools() {
    let place = Workplace::new();
    interrupted(&place, call("Bash", json!({"command": hang(&place)})), "run it", never).await;
    let place = Workplace::new();
    let site = FakeServer::start(vec![silence()]);
    let url = format!("{}/page", site.base_url());
    let fetching = |event: &Event| matches!(event, Event::ToolStarted { .. });
    interrupted(&place, call("WebFetch", json!({"url": url})), "fetch it", fetching).await;
    let place = Workplace::new();
    let question = json!({"questions": [{"question": "Which?"}]});
    let asks = |event: &Event| matches!(event, Event::Ask { .. });
    interrupted(&place, call("AskUser", question), "ask", asks).await;
    let place = Workplace::new();
    let task = json!({"type": "general", "description": "wait", "prompt": "wait"});
    let replies = [call("Task", task), call("Bash", json!({"command": hang(&place)}))].concat();
    interrupted(&place, replies, "delegate", never).await;
}

/// Whatever hadn't begun comes back as it was typed, and nobody says that it may have done something.
#[tokio::test]
async fn what_never_began_comes_back() {
    let place = Workplace::new();
    let server = FakeServer::start(call("Bash", json!({"command": hang(&place)})));
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    let started = |event: &Event| matches!(event, Event::ToolStarted { .. }).then_some(());
    agent.send(Work::RunCommand { command: hang(&place) });
    agent.until(started).await;
    for name in ["a", "b"] {
        agent.send(Work::RunCommand { command: format!("touch {name}") });
    }
    agent.send(Work::Submit { text: "and then".to_owned() });
    agent.send(Control::Interrupt);
    let taken_back = |event: &Event| match event {
        Event::TakenBack { texts } => Some(texts.clone()),
        _ => None,
    };
    let texts = tokio::time::timeout(PATIENCE, agent.until(taken_back)).await.unwrap();
    assert_eq!(texts, ["!touch a", "!touch b", "and then"]);
    assert!(!place.project().join("a").exists() && server.requests().is_empty());
    let partial = agent.seen.iter().filter(|event| format!("{event:?}").contains("may be partial")).count();
    assert_eq!(partial, 0, "{:?}", agent.seen);
}

/// A command that was typed during a turn runs then; it asks nothing of the model.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_during_a_turn_costs_no_request() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![answer().text("Done.").gated().into()]);
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.send(Work::Submit { text: "go".to_owned() });
    agent.until(|event| matches!(event, Event::TurnStarted { .. }).then_some(())).await;
    agent.send(Work::RunCommand { command: "touch a".to_owned() });
    server.wait_for_requests(1);
    server.release(10_000);
    tokio::time::timeout(PATIENCE, agent.end()).await.unwrap();
    assert!(place.project().join("a").exists());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn later_calls_of_a_reply_changed_nothing() {
    let place = Workplace::new();
    let reply = answer()
        .call("Bash", json!({"command": hang(&place)}))
        .call("Bash", json!({"command": "touch later"}));
    let server = FakeServer::start(vec![reply.into()]);
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.submit("go");
    while !marker(&place).exists() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    agent.send(Control::Interrupt);
    tokio::time::timeout(PATIENCE, agent.end()).await.unwrap();
    let results: Vec<String> = agent
        .seen
        .iter()
        .filter_map(|event| match event {
            Event::ToolDone { result, .. } => Some(result.envelope.wire().into_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 2, "{results:?}");
    // A killed command that takes long to end is left, and the result says so.
    assert!(["was killed", "may be partial"].iter().any(|told| results[0].contains(told)), "{results:?}");
    assert!(results[1].contains("it changed nothing"), "{results:?}");
    let named =
        |event: &Event| matches!(event, Event::ToolStarted { title, .. } if title == "Bash touch later");
    assert!(agent.seen.iter().any(named), "what didn't run keeps its title");
}
