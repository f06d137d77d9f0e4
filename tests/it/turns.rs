//! What happens while a turn runs: questions, interrupts, steering, several calls at once, a window that fills up.

use base::protocol::approval::{Answer, Question};
use base::protocol::event::{EndReason, Event};
use base::protocol::op::{Control, Idle, Work};
use serde_json::json;

use crate::support::agent::TestAgent;
use crate::support::answer::Reply;
use crate::support::answer::answer;
use crate::support::answer::silence;
use crate::support::answer::status;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::workplace::Workplace;

fn config(server: &FakeServer, more: &str) -> String {
    format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\n{more}", server.base_url())
}

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("a.txt", "alpha\n");
    place
}

fn asked(event: &Event) -> Option<(u64, Question)> {
    match event {
        Event::Ask { id, question } => Some((*id, question.clone())),
        _ => None,
    }
}

#[tokio::test]
async fn consent_once_for_the_session_and_no_with_a_note() {
    let write = |name: &str| answer().call("Write", json!({"path": name, "content": "x\n"})).into();
    let server = FakeServer::start(vec![
        write("one.txt"),
        write("two.txt"),
        write("three.txt"),
        answer().call("Bash", json!({"command": "make it"})).into(),
        answer().text("Done.").into(),
    ]);
    let place = place();
    let mut agent = TestAgent::start(&place, &config(&server, ""), true);
    agent.submit("write");
    let (id, question) = agent.until(asked).await;
    let Question::Approval(request) = question else { panic!("{question:?}") };
    assert_eq!(request.tool, "Write");
    assert!(request.is_diff && request.detail.contains("+x"), "{}", request.detail);
    assert!(!place.project().join("one.txt").exists(), "nothing happens before the answer");
    agent.send(Control::Answer { id, answer: Answer::Once });
    let (id, _) = agent.until(asked).await;
    agent.send(Control::Answer { id, answer: Answer::Session });
    // The third write is not asked for any more; the command is.
    let (id, question) = agent.until(asked).await;
    let Question::Approval(request) = question else { panic!("{question:?}") };
    assert_eq!((request.detail.as_str(), request.always_prefix), ("make it", Some("make it".to_owned())));
    agent.send(Control::Answer { id, answer: Answer::No { note: "use ninja".to_owned() } });
    let end = agent.end().await;
    assert_eq!((end.reason, end.denied), (EndReason::Done, 1));
    for name in ["one.txt", "two.txt", "three.txt"] {
        assert_eq!(place.text(name), "x\n");
    }
    assert!(server.requests()[4].raw.contains("the user denied this call: use ninja"));
}

#[tokio::test]
async fn an_interrupt_keeps_what_was_said_and_stops_a_command() {
    let server = FakeServer::start(vec![
        answer().text("I begin to explain something long").bytes_per_chunk(400).gated().into(),
        answer().call("Bash", json!({"command": "echo begun; sleep 100"})).into(),
        answer().text("Fine.").into(),
    ]);
    let place = place();
    let mut agent = TestAgent::start(&place, &config(&server, "permission = \"auto\""), false);
    agent.submit("explain");
    server.release(1);
    agent.until(|event| matches!(event, Event::TextDelta(_)).then_some(())).await;
    agent.send(Control::Interrupt);
    assert_eq!(agent.end().await.reason, EndReason::Interrupted { prompt_returned: None });
    agent.submit("sleep");
    server.release(1000);
    agent
        .until(|event| matches!(event, Event::ToolProgress { .. } | Event::ToolStarted { .. }).then_some(()))
        .await;
    agent.send(Control::Interrupt);
    assert_eq!(agent.end().await.reason, EndReason::Interrupted { prompt_returned: None });
    assert_eq!(agent.turn("and now?").await.reason, EndReason::Done);
    let last = server.requests().pop().unwrap();
    assert!(last.raw.contains("[interrupted]"), "{}", last.raw);
    assert!(last.raw.contains("INTERRUPTED"), "{}", last.raw);
}

#[tokio::test]
async fn an_interrupt_before_anything_came_gives_the_message_back_to_who_can_take_it() {
    for (interactive, back) in [(true, Some("do it")), (false, None)] {
        let server = FakeServer::start(vec![silence(), answer().text("Fine.").into()]);
        let place = place();
        let mut agent = TestAgent::start(&place, &config(&server, "idle_timeout_s = 4"), interactive);
        agent.submit("do it");
        // By now the request is out.
        agent.until(|event| matches!(event, Event::Silent { .. }).then_some(())).await;
        agent.send(Control::Interrupt);
        let prompt_returned = back.map(str::to_owned);
        assert_eq!(agent.end().await.reason, EndReason::Interrupted { prompt_returned });
        assert_eq!(agent.turn("do that").await.reason, EndReason::Done);
        assert_eq!(server.requests()[1].raw.contains("do it"), !interactive);
    }
}

#[tokio::test]
async fn steering_is_taken_up_at_the_next_step() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "until test -e go; do sleep 0.01; done"})).into(),
        answer().text("Yes, in French.").into(),
    ]);
    let place = place();
    let mut agent = TestAgent::start(&place, &config(&server, "permission = \"auto\""), false);
    agent.submit("write a poem");
    agent.until(|event| matches!(event, Event::ToolStarted { .. }).then_some(())).await;
    agent.submit("in French, please");
    place.file("go", "");
    assert_eq!(agent.end().await.reason, EndReason::Done);
    let messages = server.requests()[1].body["messages"].as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["content"], "in French, please");
}

#[tokio::test]
async fn reading_calls_run_together_and_answer_in_order() {
    // The first read waits for the second: one after the other would never end.
    let server = FakeServer::start(vec![
        answer()
            .call("Read", json!({"path": "a.txt"}))
            .call("Grep", json!({"pattern": "alpha"}))
            .call("LS", json!({}))
            .into(),
        answer().text("Done.").into(),
    ]);
    let place = place();
    let mut agent = TestAgent::start(&place, &config(&server, ""), false);
    agent.turn("look").await;
    let order: Vec<String> = agent
        .seen
        .iter()
        .filter_map(|event| match event {
            Event::ToolStarted { tool, .. } => Some(format!("start {tool}")),
            Event::ToolDone { result, .. } => Some(format!("done {}", result.tool)),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["start Read", "start Grep", "start LS", "done Read", "done Grep", "done LS"]);
    assert_eq!(agent.seen.iter().filter(|event| matches!(event, Event::ToolRan { .. })).count(), 3);
}

#[tokio::test]
async fn an_endless_turn_never_overflows_a_small_window() {
    let noise = "for i in $(seq 400); do echo \"line $i of some output that nobody needs\"; done";
    let mut script: Vec<Reply> = Vec::new();
    for step in 0..40 {
        script.push(match step % 3 {
            0 => answer().call("Bash", json!({"command": noise})).no_usage().into(),
            1 => answer().call("Read", json!({"path": "big.txt"})).no_usage().into(),
            _ => answer()
                .text("I write a file.")
                .call(
                    "Write",
                    json!({"path": format!("out{step}.txt"), "content": "some words ".repeat(200)}),
                )
                .no_usage()
                .into(),
        });
    }
    script.push(answer().text("Done.").no_usage().into());
    for window in [8_192_usize, 32_768] {
        let server = FakeServer::start(script.clone());
        let place = place();
        place.file("big.txt", "fn some_function(argument: &str) -> usize { argument.len() }\n".repeat(2_000));
        let mut agent = TestAgent::start(
            &place,
            &config(&server, &format!("context_window = {window}\nmax_steps = 60")),
            false,
        );
        let end = agent.turn("Do a long job with @big.txt and many outputs").await;
        assert_eq!(end.reason, EndReason::Done, "window {window}");
        let requests = server.requests();
        assert_eq!(requests.len(), 41);
        for (number, request) in requests.iter().enumerate() {
            let size = tokens::of_request(&request.body);
            assert!(size < window, "request {number} has {size} tokens in a window of {window}");
            assert!(request.raw.contains("Do a long job"), "request {number} lost the task");
        }
    }
}

#[tokio::test]
async fn many_turns_become_a_checked_summary_that_keeps_the_requests() {
    let long = "This text explains a lot of things in many words. ".repeat(40);
    let server = FakeServer::start((0..9).map(|_| answer().text(&long).no_usage().into()).collect());
    let summary = answer().text("## Objectives & Status\n- worked on `a.txt` and `ghost.txt`").no_usage();
    server.on_body("<conversation>", summary);
    let place = place();
    let mut agent = TestAgent::start(
        &place,
        &config(&server, "context_window = 12000\ncompression_threshold = 0.5"),
        false,
    );
    for turn in 0..9 {
        let end = agent.turn(&format!("request number {turn} about @a.txt: {long}")).await;
        assert_eq!(end.reason, EndReason::Done);
    }
    let asked = server.requests().into_iter().rfind(|request| !request.raw.contains("<conversation>"));
    let last = asked.unwrap();
    assert!(last.raw.contains("## Archived History Summary"), "{}", last.raw);
    assert!(last.raw.contains("request number 0 about"), "the first request is kept word for word");
    assert!(last.raw.contains("worked on `a.txt` and"), "the model's own words are there");
    assert!(!last.raw.contains("ghost.txt"), "a name that never occurred is struck out");
    assert!(tokens::of_request(&last.body) < 12_000);
}

#[tokio::test]
async fn a_failing_summary_falls_back_to_the_facts() {
    let long = "This text explains a lot of things in many words. ".repeat(40);
    let server = FakeServer::start((0..8).map(|_| answer().text(&long).no_usage().into()).collect());
    server.on_body("<conversation>", status(400, r#"{"error":{"message":"no summaries today"}}"#));
    let mut agent = TestAgent::start(
        &place(),
        &config(&server, "context_window = 12000\ncompression_threshold = 0.5"),
        false,
    );
    for turn in 0..8 {
        assert_eq!(agent.turn(&format!("request number {turn}: {long}")).await.reason, EndReason::Done);
    }
    let last = server.requests().pop().unwrap();
    assert!(last.raw.contains("Facts recorded by the program") && last.raw.contains("request number 0"));
    let warned = agent
        .seen
        .iter()
        .any(|event| matches!(event, Event::Notice { text, .. } if text.contains("no summaries")));
    assert!(warned);
}

#[tokio::test]
async fn a_server_with_a_smaller_window_than_it_said_is_believed() {
    let full = || {
        status(
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 9000"}}"#,
        )
    };
    let read = || answer().call("Read", json!({"path": "big.txt"})).no_usage().into();
    let server = FakeServer::start(vec![read(), full(), answer().text("Done.").no_usage().into()]);
    let place = place();
    place.file("big.txt", "a line of text that fills the window\n".repeat(450));
    let mut agent = TestAgent::start(&place, &config(&server, "context_window = 100000"), false);
    assert_eq!(agent.turn("read").await.reason, EndReason::Done);
    let requests = server.requests();
    assert!(tokens::of_request(&requests[2].body) < tokens::of_request(&requests[1].body));
}

#[tokio::test]
async fn a_message_typed_while_compacting_begins_the_next_turn() {
    let long = "This answer explains a lot of things in many words. ".repeat(40);
    let mut script: Vec<Reply> = (0..4).map(|_| answer().text(&long).into()).collect();
    script.push(answer().text("Fixed.").into());
    let server = FakeServer::start(script);
    server.on_body("<conversation>", answer().text("## Objectives & Status\n- much").gated());
    let mut agent = TestAgent::start(&place(), &config(&server, ""), false);
    for turn in 0..4 {
        agent.turn(&format!("request {turn}")).await;
    }
    agent.send(Work::Compact { focus: None });
    agent.until(|event| matches!(event, Event::Compacting { running: true }).then_some(())).await;
    agent.submit("fix X");
    server.release(1_000);
    assert_eq!(agent.end().await.reason, EndReason::Done);
    let last = server.requests().pop().unwrap();
    assert!(last.raw.contains("fix X") && last.raw.contains("Archived History Summary"), "{}", last.raw);
}

#[tokio::test]
async fn compacting_folds_what_the_last_turn_read() {
    let names: Vec<String> = (0..6).map(|number| format!("f{number}.txt")).collect();
    let read = |name: &String| answer().call("Read", json!({ "path": name })).into();
    let mut script: Vec<Reply> = names.iter().map(read).collect();
    script.extend([answer().text("They are long.").into(), answer().text("Yes.").into()]);
    let server = FakeServer::start(script);
    let place = place();
    for name in &names {
        place.file(name, format!("a line of {name}\n").repeat(400));
    }
    let mut agent = TestAgent::start(&place, &config(&server, "context_window = 32768"), false);
    agent.turn("read them").await;
    agent.send(Work::Compact { focus: None });
    agent.turn("are they long?").await;
    let requests = server.requests();
    let [.., before, after] = &requests[..] else { panic!("{}", requests.len()) };
    assert!(after.raw.contains("Steps folded"), "{}", after.raw);
    assert!(tokens::of_request(&after.body) * 2 < tokens::of_request(&before.body));
}

#[tokio::test]
async fn a_failed_first_message_leaves_no_session_and_gives_everything_back() {
    let server = FakeServer::start(vec![status(400, r#"{"error":{"message":"no"}}"#)]);
    let place = place();
    let mut agent = TestAgent::start(&place, &config(&server, ""), true);
    let end = agent.turn("a long request").await;
    let EndReason::ProviderFailed { prompt_returned, .. } = end.reason else { panic!("{end:?}") };
    assert_eq!(prompt_returned.as_deref(), Some("a long request"));
    let logs = walkdir::WalkDir::new(place.home()).into_iter().flatten();
    assert_eq!(logs.filter(|entry| entry.path().extension().is_some_and(|e| e == "jsonl")).count(), 0);
}

#[tokio::test]
async fn another_session_knows_nothing_of_the_files_that_this_one_read() {
    let edit = || {
        answer().call("Edit", json!({"path": "a.txt", "old_string": "alpha", "new_string": "omega"})).into()
    };
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().text("Read.").into(),
        edit(),
        answer().text("I must read it first.").into(),
    ]);
    let place = place();
    let mut agent = TestAgent::start(&place, &config(&server, ""), false);
    agent.turn("read").await;
    agent.send(Idle::Clear);
    agent.turn("edit").await;
    assert_eq!(place.text("a.txt"), "alpha\n");
}
