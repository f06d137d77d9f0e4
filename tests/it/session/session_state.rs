//! What one operation leaves behind for the next: discarded messages, `/clear`, another model, text typed ahead.

use agent::session::reopen;
use base::protocol::event::{EndReason, Event};
use base::protocol::op::{Control, Idle, Undo};
use base::protocol::rewind::RewindScope;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::{Reply, answer, status};
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn config(server: &FakeServer) -> String {
    format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\nmax_tries = 1\n", server.base_url())
}

fn texts(count: usize) -> Vec<Reply> {
    (0..count).map(|number| answer().text(&format!("Reply {number}.")).into()).collect()
}

/// Ends the agent, so that its log is closed.
async fn shut_down(agent: TestAgent) {
    agent.send(Control::Shutdown);
    agent.handle.task.await.unwrap();
}

async fn rewound(agent: &mut TestAgent) {
    agent.until(|event| matches!(event, Event::Rewound(_)).then_some(())).await;
}

#[tokio::test]
async fn a_message_that_cannot_be_recorded_goes_back() {
    let server = FakeServer::start(vec![]);
    let place = Workplace::new();
    let mut agent = TestAgent::start(&place, &config(&server), true);
    agent.until(|event| matches!(event, Event::Session(_)).then_some(())).await;
    let state = place.home().join("state/projects");
    let _ = std::fs::remove_dir_all(&state);
    std::fs::create_dir_all(state.parent().unwrap()).unwrap();
    std::fs::write(&state, "").unwrap();
    let end = agent.turn("a long message").await;
    let EndReason::Failed { prompt_returned, .. } = &end.reason else { panic!("{end:?}") };
    assert_eq!(prompt_returned.as_deref(), Some("a long message"));
}

#[tokio::test]
async fn a_discarded_first_message_leaves_nothing_to_rewind() {
    let server = FakeServer::start(vec![status(400, "no")]);
    texts(4).into_iter().for_each(|reply| server.push(reply));
    let place = Workplace::new();
    let mut agent = TestAgent::start(&place, &config(&server), true);
    let end = agent.turn("unlucky").await;
    assert!(matches!(end.reason, EndReason::ProviderFailed { prompt_returned: Some(_), .. }), "{end:?}");
    for text in ["one", "two"] {
        assert_eq!(agent.turn(text).await.reason, EndReason::Done);
    }
    agent.send(Undo::ListPoints);
    let points = agent
        .until(|event| match event {
            Event::RewindPoints(points) => Some(points.clone()),
            _ => None,
        })
        .await;
    assert_eq!(points.iter().map(|point| point.title.as_str()).collect::<Vec<_>>(), ["two", "one"]);
    agent.send(Undo::Rewind { point: points[0].id, part: RewindScope::Both, force: false });
    rewound(&mut agent).await;
    agent.send(Undo::ListPoints);
    let undo = agent
        .until(|event| match event {
            Event::RewindPoints(points) => Some(points[0].id),
            _ => None,
        })
        .await;
    agent.send(Undo::Rewind { point: undo, part: RewindScope::Both, force: false });
    rewound(&mut agent).await;
    assert_eq!(agent.turn("three").await.reason, EndReason::Done);
    assert!(server.requests().last().unwrap().raw.contains("two"));
    shut_down(agent).await;
    // The log alone tells the same.
    let log = place.log();
    let read = reopen::restore(place.home().as_path(), &place.project(), &log).unwrap();
    let history: Vec<String> =
        read.conversation.state.history.entries().iter().map(|entry| entry.text().to_string()).collect();
    assert_eq!(history.iter().filter(|text| text.starts_with("two")).count(), 1, "{history:?}");
}

#[tokio::test]
async fn the_chosen_model_survives_a_discarded_message_and_clear() {
    let server = FakeServer::start(vec![status(400, "no")]);
    texts(2).into_iter().for_each(|reply| server.push(reply));
    let place = Workplace::new();
    let mut agent = TestAgent::start(&place, &config(&server), true);
    agent.send(Idle::SetModel { model: "second".to_owned() });
    agent.turn("unlucky").await;
    assert_eq!(agent.turn("one").await.reason, EndReason::Done);
    let chosen = |path: &std::path::Path| {
        let read = reopen::restore(place.home().as_path(), &place.project(), path).unwrap();
        read.conversation.chosen_model.as_ref().map(|(_, model)| model.clone())
    };
    let first = place.log();
    agent.send(Idle::Clear);
    assert_eq!(agent.turn("two").await.reason, EndReason::Done);
    let id = agent
        .seen
        .iter()
        .rev()
        .find_map(|event| match event {
            Event::Session(info) => Some(info.id.clone()),
            _ => None,
        })
        .unwrap();
    shut_down(agent).await;
    let second = first.with_file_name(format!("{id}.jsonl"));
    assert!(second != first && second.exists(), "{second:?}");
    assert_eq!((chosen(&first).as_deref(), chosen(&second).as_deref()), (Some("second"), Some("second")));
}

#[tokio::test]
async fn text_typed_before_clear_stays_in_the_old_session() {
    let server = FakeServer::start(vec![answer().text("Slowly.").bytes_per_chunk(400).gated().into()]);
    texts(3).into_iter().for_each(|reply| server.push(reply));
    let place = Workplace::new();
    let mut agent = TestAgent::start(&place, &config(&server), true);
    agent.submit("old one");
    server.release(1);
    agent.until(|event| matches!(event, Event::TextDelta(_)).then_some(())).await;
    agent.submit("typed before");
    agent.send(Idle::Clear);
    agent.submit("typed after");
    server.release(1_000);
    for _ in 0..2 {
        agent.end().await;
    }
    let requests = server.requests();
    let of = |text: &str| requests.iter().find(|request| request.raw.contains(text)).unwrap();
    assert!(of("typed before").raw.contains("old one"));
    let new = of("typed after");
    assert!(!new.raw.contains("old one") && !new.raw.contains("typed before"), "{}", new.raw);
}

#[tokio::test]
async fn another_model_changes_what_one_result_may_take() {
    let read = || answer().call("Read", json!({"path": "big.txt", "limit": 2000})).into();
    let server =
        FakeServer::start(vec![read(), answer().text("Seen.").into(), read(), answer().text("Seen.").into()]);
    let place = Workplace::new();
    let line = |number: usize| format!("line {number} of a file that is read by two models\n");
    place.file("big.txt", (0..900).map(line).collect::<String>());
    let mut agent = TestAgent::start(&place, &config(&server), true);
    let result = |value: &Value| {
        let messages = value["messages"].as_array().unwrap();
        messages.iter().rfind(|message| message["role"] == "tool").unwrap()["content"].to_string().len()
    };
    agent.turn("read it").await;
    let large = result(&server.requests()[1].body);
    place.file("big.txt", (0..900).map(|number| line(number).to_uppercase()).collect::<String>());
    agent.send(Idle::SetModel { model: "qwen2.5-coder".to_owned() });
    agent.turn("read it again").await;
    let small = result(&server.requests()[3].body);
    // At most a quarter of 32k tokens, at three bytes each.
    assert!(large > 40_000 && small < 25_000, "{large} {small}");
}
