//! What the agent remembers: facts that survive every compaction, summaries made beside the session, compactions that are
//! undone, originals that come back byte for byte, and files that others change.

use std::sync::Arc;
use std::time::Duration;

use agent::session::conversation::Conversation;
use agent::session::recall::LogOriginals;
use agent::session::reopen;
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::model::item::{Item, ItemId, ToolResult, UserMessage};
use base::model::provider::{Provider, ReplyStream};
use base::model::request::{Params, Request};
use base::model::stream::StreamEvent;
use base::model::usage::FinishReason;
use base::protocol::event::{EndReason, Event, Level};
use base::protocol::op::{Control, Idle, Quick, Work};
use context::history::entry::HistoryEntry;
use context::session::record::{Batch, CauseKind, FormName};
use context::summary::compressor::{self, SummaryCompressor};
use context::summary::state_block::StateBlock;
use futures_util::StreamExt;
use proptest::prelude::*;
use serde_json::json;
use tools::ports::Originals;

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::answer::silence;
use crate::support::server::FakeServer;
use crate::support::tools::Bench;
use crate::support::workplace::Workplace;

/// Writes the same summary each time, or nothing.
struct Writer(Option<&'static str>);

impl Provider for Writer {
    fn stream(&self, _: &Request) -> ReplyStream {
        let said = self.0.unwrap_or_default();
        let item = StreamEvent::Item(Item::assistant(said));
        let done = StreamEvent::Done { finish: FinishReason::Stop, usage: None };
        futures_util::stream::iter([Ok(item), Ok(done)]).boxed()
    }

    fn name(&self) -> &'static str {
        "writer"
    }
}

fn writer(said: Option<&'static str>, window_tokens: u64) -> SummaryCompressor {
    SummaryCompressor {
        provider: Arc::new(Writer(said)),
        params: Params::default(),
        timeout: Duration::from_secs(5),
        window_tokens,
    }
}

#[derive(Clone, Debug)]
enum Step {
    Ask(String),
    Read(usize),
    Edit(usize),
    Fail(usize, i64),
    Todos(usize),
    Decide(usize),
    Compact { model: bool, tiny: bool },
    Resume,
    TakeBack,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => "[a-z]{3,9} [A-Za-z_]{4,12}(, 設計[a-z]{2,5})?".prop_map(Step::Ask),
        3 => (0usize..6).prop_map(Step::Read),
        2 => (0usize..6).prop_map(Step::Edit),
        2 => (0usize..5, 1i64..120).prop_map(|(command, exit)| Step::Fail(command, exit)),
        1 => (0usize..9).prop_map(Step::Todos),
        1 => (0usize..9).prop_map(Step::Decide),
        3 => (any::<bool>(), any::<bool>()).prop_map(|(model, tiny)| Step::Compact { model, tiny }),
        1 => Just(Step::Resume),
        1 => Just(Step::TakeBack),
    ]
}

fn work(conversation: &mut Conversation, tool: &str, envelope: Envelope) {
    let id = conversation.unique_call_id(&"".into(), &[]);
    let call = ToolCall { id: Arc::clone(&id), name: tool.into(), args: "{}".into() };
    conversation.record(Item::ToolCall(call)).unwrap();
    let result = ToolResult::new(id, tool, envelope);
    conversation.record(Item::ToolResult(result)).unwrap();
}

fn facts(conversation: &Conversation) -> StateBlock {
    StateBlock::gather(conversation.state.history.entries().iter().map(|entry| (entry.id, &*entry.item)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn facts_survive_compactions(steps in proptest::collection::vec(step(), 4..50)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (state, work_folder) = (folder.path().join("state"), folder.path().to_owned());
        let mut conversation = Conversation::new(&state, &work_folder);
        let (mut asked, mut failed, mut decided) = (Vec::new(), std::collections::BTreeMap::new(), Vec::new());
        let mut files = std::collections::BTreeMap::new();
        let mut todos = None;
        conversation.record(Item::User(UserMessage::new("begin"))).unwrap();
        asked.push("begin".to_owned());
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Ask(text) => {
                    conversation.state.history.end_turn();
                    conversation.record(Item::User(UserMessage::new(&text))).unwrap();
                    asked.push(text);
                }
                Step::Read(file) | Step::Edit(file) => {
                    let edit = matches!(step, Step::Edit(_));
                    let (path, hash) = (format!("src/file_{file}.rs"), format!("{number:08x}cafe"));
                    let envelope = Envelope::success("").with("path", path.as_str()).with("hash", hash.as_str())
                        .with_body("content", "let some = value;\n".repeat(30));
                    let envelope = if edit { envelope.with("applied", true) } else { envelope };
                    work(&mut conversation, if edit { "Edit" } else { "Read" }, envelope);
                    files.insert(path, hash);
                }
                Step::Fail(command, exit) => {
                    let command = format!("make target_{command}");
                    let envelope = Envelope::success("").partial().with("command", command.as_str()).with("exit_code", exit);
                    work(&mut conversation, "Bash", envelope);
                    failed.insert(command, exit);
                }
                Step::Todos(count) => {
                    let open: Vec<String> = (0..count).map(|n| format!("todo {n} of {number}")).collect();
                    let list: Vec<_> = open.iter().map(|content| json!({"content": content, "status": "pending"})).collect();
                    work(&mut conversation, "TodoWrite", Envelope::success("").with("todos", list));
                    todos = Some(open);
                }
                Step::Decide(n) => {
                    work(&mut conversation, "AskUser", Envelope::success("").with_body("answers", format!("Q: which {n}?\nA: the {number}th")));
                    decided.push(format!("which {n}? → the {number}th"));
                }
                Step::Compact { model, tiny } => {
                    let entries: Vec<HistoryEntry> = conversation.state.history.entries().to_vec();
                    let cut = entries.iter().rposition(|entry| entry.item.begins_round()).unwrap_or(0);
                    if cut > 0 {
                        let said = "## Objectives & Status\n- all of `src/file_1.rs`, src/ghost.rs\n## Current Plan & Progress\n- go on";
                        let writer = writer(model.then_some(said), if tiny { 8_192 } else { 128_000 });
                        let done = runtime.block_on(writer.summarize(entries[..cut].to_vec(), None, None));
                        prop_assert!(!done.summary.text.contains("ghost.rs"));
                        if tiny {
                            let size = context::tokens::estimate::estimate(&done.summary.text);
                            prop_assert!(size < 2_000, "{} tokens: {}", size, done.summary.text);
                        }
                        conversation.archive(entries[cut].id, done.summary, CauseKind::Compaction).unwrap();
                    }
                }
                Step::Resume => {
                    let path = conversation.log_path();
                    let before = format!("{:?}", conversation.state.history.entries().iter().map(HistoryEntry::message).collect::<Vec<_>>());
                    drop(conversation);
                    conversation = reopen::restore(&state, &work_folder, &path).unwrap().conversation;
                    let after = format!("{:?}", conversation.state.history.entries().iter().map(HistoryEntry::message).collect::<Vec<_>>());
                    prop_assert_eq!(before, after);
                }
                Step::TakeBack => conversation.unarchive().unwrap(),
            }
            let known = facts(&conversation);
            prop_assert_eq!(&known.requests, &asked);
            prop_assert_eq!(known.failed.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(), failed.clone());
            prop_assert_eq!(&known.notes, &decided);
            prop_assert_eq!(&known.todos, &todos.clone().unwrap_or_default());
            for (path, hash) in &files {
                prop_assert_eq!(known.files.get(path).and_then(|fact| fact.hash.as_ref()), Some(hash));
            }
            let shown = known.render();
            prop_assert!(asked.iter().all(|text| shown.contains(text.as_str())), "{}", shown);
            let told = failed.iter().all(|(command, exit)| shown.contains(&format!("`{command}` (exit {exit})")));
            prop_assert!(told, "{}", shown);
            let hashed = files.iter().all(|(path, hash)| shown.contains(&format!("{path} ({})", &hash[..8])));
            prop_assert!(hashed, "{}", shown);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn recall_is_byte_exact(
        texts in proptest::collection::vec(("[a-z 設計\n]{0,40}", 1usize..1_500), 2..5),
        forms in proptest::collection::vec(0usize..3, 10),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut conversation = Conversation::new(folder.path(), folder.path());
        let mut kept: Vec<(ItemId, Arc<Item>)> = Vec::new();
        for (number, (text, times)) in texts.iter().enumerate() {
            let text: Arc<str> = text.repeat(*times).into();
            kept.push(conversation.record(Item::User(UserMessage::new(&format!("{number} {text}")))).unwrap());
            kept.push(conversation.record(Item::assistant(Arc::clone(&text))).unwrap());
            let args = json!({"command": &*text}).to_string().into();
            kept.push(conversation.record(Item::ToolCall(ToolCall { id: format!("c{number}").into(), name: "Bash".into(), args })).unwrap());
            let envelope = Envelope::success("exit code 1").partial().with_body("output", &*text);
            kept.push(conversation.record(Item::ToolResult(ToolResult::new(format!("c{number}"), "Bash", envelope))).unwrap());
            let form = [FormName::Compressed, FormName::Pointer, FormName::Gone][forms[number]];
            conversation.adopt(&Batch::plain(kept.iter().map(|(id, _)| *id).collect(), form, CauseKind::Compaction)).unwrap();
        }
        let before = conversation.state.history.entries()[4].id;
        let summary = compressor::facts_only(&conversation.state.history.entries()[..4], None, 128_000);
        conversation.archive(before, summary, CauseKind::Compaction).unwrap();
        let archived = conversation.state.history.entries()[0].clone();
        kept.push((archived.id, archived.item));
        let originals = LogOriginals::default();
        originals.follow(conversation.log_path());
        let mut bench = Bench::new();
        bench.cx.originals = Some(Arc::new(originals));
        for (id, item) in kept {
            let mut whole = String::new();
            loop {
                let page = runtime.block_on(bench.call("Recall", json!({"id": id.0, "offset": whole.len()})));
                prop_assert!(page.body.len() <= 24 * 1024 && page.error.is_none(), "{}", page.wire());
                whole.push_str(&page.body);
                if !page.text.contains("continue with") {
                    break;
                }
            }
            prop_assert_eq!(&*whole, &*item.text());
        }
    }
}

#[test]
fn search_skips_rewound_items() {
    let folder = tempfile::tempdir().unwrap();
    let mut conversation = Conversation::new(folder.path(), folder.path());
    let say = |conversation: &mut Conversation, text: &str| {
        conversation.record(Item::User(UserMessage::new(text))).unwrap().0
    };
    let first = say(&mut conversation, "first line\nwe decided on the tokenBucket limiter\nlast line");
    say(&mut conversation, "the limiter is slow");
    let second = say(&mut conversation, "設計書を読んで");
    let summary = compressor::facts_only(&conversation.state.history.entries()[..2], None, 128_000);
    conversation.archive(second, summary, CauseKind::Compaction).unwrap();
    let void = say(&mut conversation, "token bucket token bucket");
    conversation.rewind(void).unwrap();
    let originals = LogOriginals::default();
    originals.follow(conversation.log_path());
    let hits = originals.search("token_bucket", 5);
    assert_eq!(hits[0].id, first, "{hits:?}");
    assert_eq!(hits[0].snippet, "we decided on the tokenBucket limiter");
    assert!(hits.iter().all(|hit| hit.id != void), "{hits:?}");
    assert_eq!(originals.search("設計", 5)[0].id, second);
    assert!(originals.for_user("#1").unwrap().contains("tokenBucket"));
    assert!(originals.for_user("999").is_err() && originals.for_user("zebra").is_err());
}

fn config(server: &FakeServer, more: &str) -> String {
    format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\n{more}", server.base_url())
}

/// What the user wrote is never folded, only summarized.
const LONG: &str = "This text explains a lot of things in many words. ";

#[tokio::test]
async fn summary_in_the_background() {
    let server =
        FakeServer::start((0..60).map(|_| answer().text(&LONG.repeat(40)).no_usage().into()).collect());
    let summary = answer().text("## Objectives & Status\n- all is well").usage(7_000, 0, 77).gated();
    server.on_body("<conversation>", summary);
    let mut agent = TestAgent::start(
        &Workplace::new(),
        &config(&server, "context_window = 30000\ncompression_threshold = 0.5"),
        false,
    );
    let begun = |server: &FakeServer| server.requests().iter().any(|r| r.raw.contains("<conversation>"));
    let mut turns = 0;
    while !begun(&server) {
        assert_eq!(
            agent.turn(&format!("request {turns}: {}", LONG.repeat(20))).await.reason,
            EndReason::Done
        );
        turns += 1;
    }
    let waited =
        |agent: &TestAgent| agent.seen.iter().any(|e| matches!(e, Event::Compacting { running: true }));
    assert!(!waited(&agent), "the turn in which it began did not wait for it");
    server.release(1_000);
    let archived = |server: &FakeServer| {
        server.requests().last().is_some_and(|request| request.raw.contains("Archived History Summary"))
    };
    while !archived(&server) {
        assert_eq!(
            agent.turn(&format!("request {turns}: {}", LONG.repeat(20))).await.reason,
            EndReason::Done
        );
        turns += 1;
    }
    let last = server.requests().pop().unwrap().raw;
    assert!(last.contains("all is well") && last.contains("request 0"), "{last}");
    let output = agent.seen.iter().rev().find_map(|event| match event {
        Event::Window(window) => Some(window.total.output),
        _ => None,
    });
    assert_eq!(output, Some(77), "what the summary took is counted");
    let asked = server.requests().iter().filter(|r| r.raw.contains("<conversation>")).count();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn old_answers_fold_and_need_no_summary() {
    let server =
        FakeServer::start((0..40).map(|_| answer().text(&LONG.repeat(40)).no_usage().into()).collect());
    let place = Workplace::new();
    let mut agent = TestAgent::start(
        &place,
        &config(&server, "context_window = 30000\ncompression_threshold = 0.5"),
        false,
    );
    for turn in 0..40 {
        assert_eq!(agent.turn(&format!("request {turn}")).await.reason, EndReason::Done);
    }
    let requests = server.requests();
    assert!(
        requests.iter().all(|request| !request.raw.contains("<conversation>")),
        "a summary was asked for"
    );
    let last = &requests.last().unwrap().body["messages"];
    let said = |turn: usize| {
        let messages = last.as_array().unwrap();
        let at = messages.iter().position(|m| m["content"].as_str() == Some(&format!("request {turn}")));
        messages[at.unwrap() + 1]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(said(38), LONG.repeat(40), "the newest answers are whole");
    assert!(
        said(1).len() < 600 && said(1).contains("This text explains") && said(1).contains("… [#"),
        "{}",
        said(1)
    );
}

#[tokio::test]
async fn exit_during_a_stalled_summary() {
    let server =
        FakeServer::start((0..60).map(|_| answer().text(&LONG.repeat(40)).no_usage().into()).collect());
    server.on_body("<conversation>", silence());
    let mut agent = TestAgent::start(
        &Workplace::new(),
        &config(&server, "context_window = 30000\ncompression_threshold = 0.5"),
        false,
    );
    while !server.requests().iter().any(|r| r.raw.contains("<conversation>")) {
        agent.turn(&LONG.repeat(20)).await;
    }
    agent.send(Control::Shutdown);
    tokio::time::timeout(Duration::from_secs(5), agent.handle.task).await.expect("the engine ends").unwrap();
    server.wait_for_hang_ups(1);
}

#[tokio::test]
async fn summaries_stop_after_two_failures() {
    let server =
        FakeServer::start((0..30).map(|_| answer().text(&LONG.repeat(40)).no_usage().into()).collect());
    server.on_body("<conversation>", answer().text("I would rather chat."));
    let mut agent = TestAgent::start(
        &Workplace::new(),
        &config(&server, "context_window = 12000\ncompression_threshold = 0.5"),
        false,
    );
    for turn in 0..24 {
        assert_eq!(agent.turn(&format!("request {turn}: {}", LONG.repeat(20))).await.reason, EndReason::Done);
    }
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|r| r.raw.contains("<conversation>")).count(), 2);
    let told = |event: &Event| matches!(event, Event::Notice { level: Level::Warning, text } if text.contains("Auto-compaction is off"));
    assert_eq!(agent.seen.iter().filter(|event| told(event)).count(), 1);
    let last = &requests.last().unwrap().raw;
    for turn in 0..20 {
        assert!(last.contains(&format!("request {turn}")), "request {turn} is lost: {last}");
    }
    assert!(requests.iter().all(|request| crate::support::tokens::of_request(&request.body) < 12_000));
}

#[tokio::test]
async fn undo_compaction_and_resume() {
    let mut script: Vec<_> = (0..4).map(|_| answer().text(&LONG.repeat(10)).into()).collect();
    script.push(answer().text("Back.").into());
    script.push(answer().text("Resumed.").into());
    let server = FakeServer::start(script);
    server.on_body("<conversation>", answer().text("## Objectives & Status\n- much"));
    let place = Workplace::new();
    let mut agent = TestAgent::start(&place, &config(&server, ""), false);
    for turn in 0..4 {
        agent.turn(&format!("request {turn}")).await;
    }
    let notice = |event: &Event| match event {
        Event::Notice { text, .. } => Some(text.clone()),
        _ => None,
    };
    agent.send(Idle::Uncompact);
    assert!(agent.until(notice).await.contains("Nothing to undo"));
    agent.send(Work::Compact { focus: None });
    assert!(agent.until(notice).await.contains("Compacted"));
    agent.send(Idle::Uncompact);
    assert!(agent.until(notice).await.contains("Compaction undone"));
    agent.turn("and now").await;
    let requests = server.requests();
    let (fourth, back) = (&requests[3].body["messages"], &requests.last().unwrap().body["messages"]);
    let fourth = fourth.as_array().unwrap();
    assert_eq!(&back.as_array().unwrap()[..fourth.len()], &fourth[..], "as if nothing had been compacted");
    let sent = back.clone();
    agent.send(Control::Shutdown);
    agent.handle.task.await.unwrap();
    let again = ["exec", "--base-url", &server.base_url(), "--model", "m", "-c", "once more"];
    assert!(place.command(&again).output().unwrap().status.success());
    let resumed = server.requests().pop().unwrap().body["messages"].clone();
    let sent = sent.as_array().unwrap();
    assert_eq!(&resumed.as_array().unwrap()[1..sent.len()], &sent[1..]);
}

#[tokio::test]
async fn silent_truncation_is_reported_once() {
    let read = |name: &str| json!({"path": name, "limit": 900});
    let server = FakeServer::start(vec![
        answer().call("Read", read("big.txt")).call("Read", read("big2.txt")).usage(3_100, 0, 10).into(),
        answer().text("Half seen.").usage(8_100, 0, 10).into(),
        answer().text("Again.").usage(6_000, 0, 10).into(),
    ]);
    let place = Workplace::new();
    place.file("big.txt", "some words stand in this line\n".repeat(900));
    place.file("big2.txt", "other words are in that line\n".repeat(900));
    let mut agent = TestAgent::start(&place, &config(&server, "context_window = 100000"), false);
    agent.turn("read all").await;
    agent.turn("again").await;
    let named: Vec<&String> = agent
        .seen
        .iter()
        .filter_map(|event| match event {
            Event::Notice { text, .. } if text.contains("truncated the prompt without an error") => {
                Some(text)
            }
            _ => None,
        })
        .collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].contains("num_ctx") && named[0].contains("context_window"), "{}", named[0]);
    let last = server.requests().pop().unwrap();
    assert!(crate::support::tokens::of_request(&last.body) < 8_192, "within what it takes");
}

#[tokio::test]
async fn undo_compaction_needs_room() {
    // Equal lines would be a loop.
    let text: String = (0..50).map(|line| format!("{line} {LONG}")).collect();
    let server = FakeServer::start((0..8).map(|_| answer().text(&text).no_usage().into()).collect());
    server.on_body("<conversation>", answer().text("## Objectives & Status\n- much"));
    let mut agent = TestAgent::start(
        &Workplace::new(),
        &config(&server, "context_window = 12000\ncompression_threshold = 0.5"),
        false,
    );
    let notice = |event: &Event| match event {
        Event::Notice { text, .. } => Some(text.clone()),
        _ => None,
    };
    agent.send(Idle::AutoCompact { on: false });
    agent.until(notice).await;
    for turn in 0..5 {
        agent.turn(&format!("request {turn}")).await;
    }
    agent.send(Work::Compact { focus: None });
    assert!(agent.until(notice).await.contains("Compacted"));
    for turn in 5..8 {
        agent.turn(&format!("request {turn}")).await;
    }
    agent.send(Idle::Uncompact);
    let refused = agent.until(notice).await;
    assert!(refused.contains("Can't undo the compaction"), "{refused}");
    agent.send(Quick::Recall { what: "request".to_owned() });
    assert!(agent.until(notice).await.contains("request 0"));
    agent.send(Quick::Recall { what: "#1".to_owned() });
    assert!(agent.until(notice).await.starts_with("#1, user:\nrequest 0"));
}
