//! No request is ever over the window: random sessions in windows of every size, turns of hundreds of steps through the
//! real agent, and the whole job in 8,192 tokens. Sizes are counted as a server would, with o200k.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::{Arc, Mutex, OnceLock};

use base::config::settings::{ContextSettings, Origin, Profile};
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::model::item::{Item, ItemId, ToolResult, UserMessage};
use base::model::provider::{Provider, ReplyStream};
use base::model::request::{Message, Request};
use base::model::stream::StreamEvent;
use base::model::usage::FinishReason;
use base::model::usage::Usage;
use base::protocol::event::{EndReason, Event};
use context::builder::ContextBuilder;
use context::history::manager::HistoryManager;
use context::layers::LayerInputs;
use context::parts::{FixedPart, FixedParts};
use futures_util::stream;
use proptest::prelude::*;
use records::trace::policy::Policy;
use records::trace::recording::events::ReplayEvent;
use records::trace::simulate::{self, ReplayOptions};
use serde_json::json;

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

/// Counts each text once: the requests of a session share most of theirs.
#[derive(Default)]
struct Counter(HashMap<Arc<str>, usize>);

impl Counter {
    fn text(&mut self, text: &Arc<str>) -> usize {
        if let Some(count) = self.0.get(text) {
            return *count;
        }
        let count = tokens::count(text);
        self.0.insert(Arc::clone(text), count);
        count
    }

    fn messages(&mut self, messages: &[Message]) -> usize {
        messages
            .iter()
            .map(|message| match message {
                Message::Assistant(said) => self.text(&said.text) + 4,
                Message::User(text) | Message::System(text) | Message::Result { text, .. } => {
                    self.text(text) + 4
                }
                Message::Call(call) => self.text(&call.args) + self.text(&call.name) + 12,
                Message::Reasoning(reasoning) => self.text(&reasoning.text) + 4,
                Message::Image(image) => image.tokens as usize,
            })
            .sum()
    }
}

/// Every call has its result behind it and no result stands alone; somebody is waiting for an answer.
fn check_sound(messages: &[Message]) {
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages {
        match message {
            Message::Call(call) => assert!(open.insert(&call.id), "a call twice"),
            Message::Result { call_id, .. } => assert!(open.remove(&**call_id), "a result without a call"),
            Message::User(_) | Message::System(_) | Message::Image(_) => {
                assert!(open.is_empty(), "a call without a result")
            }
            Message::Assistant(_) | Message::Reasoning(_) => {}
        }
    }
    assert!(open.is_empty(), "a call without a result");
    assert!(
        matches!(messages.last(), Some(Message::User(_) | Message::System(_) | Message::Result { .. })),
        "nothing to answer"
    );
}

#[derive(Clone, Debug)]
enum Op {
    User(String),
    Say(String),
    /// Several calls in one answer, each with its arguments' text and its result.
    Calls(Vec<(String, String)>),
    Pause,
}

fn text() -> impl Strategy<Value = String> {
    let repeated = |pattern: &'static str, from: usize, to: usize| {
        (pattern, from..to).prop_map(|(unit, times)| unit.repeat(times))
    };
    prop_oneof![
        4 => "[a-z ]{0,60}",
        2 => repeated("[a-z_]{3,9} = [a-z]{3,9}\\([0-9]{1,3}\\);\n", 1, 400),
        2 => proptest::collection::vec("[0-9a-f]{40}\n", 1..300).prop_map(|lines| lines.concat()),
        1 => "[\u{4e00}-\u{9fff}]{1,4000}",
        1 => "[A-Za-z0-9+/]{1,9000}",
        1 => proptest::collection::vec("error: [a-z]{3,12} at [a-z]{3,8}\\.rs:[0-9]{1,3}\n", 1..400).prop_map(|lines| lines.concat()),
        1 => Just("x".repeat(20_000)),
        1 => Just(" ".repeat(20_000)),
        1 => Just("- \"{[(".repeat(2_000)),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1 => text().prop_map(Op::User),
        1 => text().prop_map(Op::Say),
        8 => proptest::collection::vec((text(), text()), 1..4).prop_map(Op::Calls),
        1 => proptest::collection::vec((Just(String::new()), text()), 20..40).prop_map(Op::Calls),
        1 => Just(Op::Pause),
    ]
}

fn events(ops: Vec<Op>) -> Vec<ReplayEvent> {
    let item = |item: Item| ReplayEvent::Item(Arc::new(item));
    let mut out = vec![item(Item::User(UserMessage::new("begin")))];
    let (mut ts, mut number) = (0.0, 0);
    for op in ops {
        if let Op::User(text) = op {
            out.push(item(Item::User(UserMessage::new(&text))));
            continue;
        }
        out.push(ReplayEvent::Request { ts: Some(ts) });
        ts += 10.0;
        match op {
            Op::Say(text) => {
                out.push(item(Item::assistant(text)));
                // An answer without calls ends the turn: somebody says more.
                out.push(item(Item::User(UserMessage::new("go on"))));
            }
            Op::Calls(calls) => {
                let mut results = Vec::new();
                for (args, body) in calls {
                    number += 1;
                    let id: Arc<str> = format!("call_{number}").into();
                    let tool = ["Read", "Bash", "Grep", "Edit"][number % 4];
                    let args = json!({"path": format!("src/f{}.rs", number % 7), "text": args}).to_string();
                    out.push(item(Item::ToolCall(ToolCall {
                        id: Arc::clone(&id),
                        name: tool.into(),
                        args: args.into(),
                    })));
                    let envelope = Envelope::success("")
                        .with("path", format!("src/f{}.rs", number % 7))
                        .with_body("content", body);
                    results.push(item(Item::ToolResult(ToolResult::new(id, tool, envelope))));
                }
                out.extend(results);
            }
            Op::Pause => {
                ts += 1_000.0;
                out.push(item(Item::assistant("hm")));
                out.push(item(Item::User(UserMessage::new("and now?"))));
            }
            Op::User(_) => {}
        }
    }
    out.push(ReplayEvent::Request { ts: Some(ts) });
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn every_request_of_a_random_session_fits(
        ops in proptest::collection::vec(op(), 1..14),
        window in prop::sample::select(vec![8_000_u64, 8_192, 12_000, 16_000, 32_000, 128_000]),
        profile in prop::sample::select(vec![Profile::Eco, Profile::Default, Profile::High]),
    ) {
        let settings = ContextSettings::for_window(window, Origin::User);
        let mut counter = Counter::default();
        let options = ReplayOptions::default();
        simulate::play(&events(ops), Policy::Ours(profile), &settings, &options, |request| {
            check_sound(request.messages);
            let size = counter.messages(request.messages) as u64;
            let room = window - settings.output_reserve_tokens.min(window / 8);
            let n = request.n;
            assert!(size <= room, "request {n} takes {size} of {room} tokens (window {window})");
        });
    }
}

/// A model that does one thing after the other and looks at each request.
struct Busy {
    steps: usize,
    window: usize,
    task: &'static str,
    /// Whether it says how many tokens it read.
    reports: bool,
    seen: Mutex<Seen>,
    fixed: OnceLock<usize>,
}

#[derive(Default)]
struct Seen {
    requests: usize,
    breaks: usize,
    largest: usize,
    newest: usize,
    before: Vec<Message>,
    counter: Counter,
    newest_cut: usize,
}

impl Busy {
    /// Tokens of what is sent beside the messages.
    fn fixed(&self, request: &Request) -> usize {
        *self.fixed.get_or_init(|| {
            let tools = request.tools.iter().map(|tool| tokens::count(&serde_json::to_string(tool).unwrap()));
            request.system.iter().map(|block| tokens::count(&block.text)).sum::<usize>()
                + tools.sum::<usize>()
        })
    }

    fn look(&self, request: &Request) -> usize {
        let mut seen = self.seen.lock().unwrap();
        let messages = &request.messages;
        check_sound(messages);
        let size = self.fixed(request) + seen.counter.messages(messages);
        let answer = request.params.max_output_tokens.unwrap_or(1_000) as usize;
        assert!(size + answer <= self.window, "{size} + {answer} tokens in a window of {}", self.window);
        assert!(
            messages.iter().any(|m| matches!(m, Message::User(text) if text.contains(self.task))),
            "the request of the user is gone"
        );
        if let Some(Message::Result { text, .. }) = messages.last()
            && (text.contains("result left out") || text.contains("full text: Recall"))
        {
            seen.newest_cut += 1;
        }
        if !messages.starts_with(&seen.before) {
            seen.breaks += 1;
        }
        seen.newest = size;
        seen.largest = seen.largest.max(size);
        seen.before = messages.clone();
        seen.requests += 1;
        seen.requests
    }
}

impl Provider for Busy {
    fn name(&self) -> &'static str {
        "busy"
    }

    fn stream(&self, request: &Request) -> ReplyStream {
        if request.tools.is_empty() {
            // Asked for a summary.
            let said = "## Objectives & Status\nReading files.\n## Left-off Point\nGo on.";
            return answered(vec![Item::assistant(said)], None);
        }
        let number = self.look(request);
        let input = self.seen.lock().unwrap().newest as u64;
        let usage = self.reports.then(|| Usage { input, ..Usage::default() });
        if number > self.steps {
            return answered(vec![Item::assistant("All done.")], usage);
        }
        let (name, args) = match number % 5 {
            0 => ("Bash", json!({"command": format!("seq {number} {}", number + 900)})),
            1 => ("Grep", json!({"pattern": format!("value_{}", number % 10), "path": "src"})),
            _ => {
                let (path, start_line) = (format!("src/part_{}.rs", number % 6), number % 400 + 1);
                ("Read", json!({"path": path, "start_line": start_line, "limit": 70}))
            }
        };
        let items = vec![
            Item::assistant(format!("Step {number}: I look at the next part.")),
            Item::ToolCall(ToolCall {
                id: format!("c{number}").into(),
                name: name.into(),
                args: args.to_string().into(),
            }),
        ];
        answered(items, usage)
    }
}

fn answered(items: Vec<Item>, usage: Option<Usage>) -> ReplyStream {
    let finish = if items.iter().any(|item| matches!(item, Item::ToolCall(_))) {
        FinishReason::ToolCalls
    } else {
        FinishReason::Stop
    };
    let mut events: Vec<_> = items.into_iter().map(|item| Ok(StreamEvent::Item(item))).collect();
    events.push(Ok(StreamEvent::Done { finish, usage }));
    Box::pin(stream::iter(events))
}

const TASK: &str = "Read every part of the project carefully and find out where the sum goes wrong.";

async fn long_turn(window: usize, steps: usize, reports: bool) -> (Arc<Busy>, Vec<Event>) {
    let place = Workplace::new();
    for part in 0..6 {
        let text: String = (0..900)
            .map(|line| {
                format!(
                    "    let value_{} = compute_part({part}, {line}) + offset_{};\n",
                    line % 37,
                    line % 11
                )
            })
            .collect();
        place.file(&format!("src/part_{part}.rs"), text);
    }
    let model =
        Arc::new(Busy { steps, window, task: TASK, reports, seen: Mutex::default(), fixed: OnceLock::new() });
    let config = format!(
        "provider = \"scripted\"\nscript = \"none\"\nmodel = \"m\"\ncontext_window = {window}\nmax_steps = 600\npermission = \"full\"\n"
    );
    let mut agent = TestAgent::with(&place, &config, Arc::clone(&model) as _, None);
    let end = agent.turn(TASK).await;
    assert!(matches!(end.reason, EndReason::Done), "{:?}", end.reason);
    assert_eq!(end.steps as usize, steps + 1);
    (model, agent.seen)
}

async fn runs_to_its_end(window: usize, steps: usize, breaks_at_most: usize) {
    let (model, _) = long_turn(window, steps, false).await;
    let seen = model.seen.lock().unwrap();
    println!(
        "window {window}: {} requests, {} breaks, largest {}, newest cut {}",
        seen.requests, seen.breaks, seen.largest, seen.newest_cut
    );
    assert!(seen.breaks <= breaks_at_most, "{} breaks of the prefix in {steps} steps", seen.breaks);
    assert_eq!(seen.newest_cut, 0, "the newest result was cut");
}

#[tokio::test]
async fn a_turn_of_250_steps_in_32k() {
    runs_to_its_end(32_000, 250, 80).await;
}

#[tokio::test]
async fn a_server_that_counts_lets_more_of_the_window_be_used() {
    let largest = async |reports| long_turn(32_000, 40, reports).await.0.seen.lock().unwrap().largest;
    let (counted, estimated) = (largest(true).await, largest(false).await);
    assert!(counted > 24_000 && counted >= estimated, "{counted} counted, {estimated} estimated");
}

#[tokio::test]
async fn a_turn_of_120_steps_in_128k() {
    runs_to_its_end(128_000, 120, 40).await;
}

#[tokio::test]
async fn a_turn_of_120_steps_in_200k() {
    runs_to_its_end(200_000, 120, 40).await;
}

#[tokio::test]
async fn a_turn_of_60_steps_in_8k() {
    runs_to_its_end(8_192, 60, 36).await;
}

#[test]
fn sample_bug_in_8192_tokens() {
    let place = Workplace::new();
    let table: String =
        (0..1_500).map(|n| format!("RATE_{n} = {n} * 3  # row {n} of the table of rates\n")).collect();
    place.file("src/rates.py", format!("{table}\ndef last(items):\n    return items[len(items)]\n")).file(
        "check.sh",
        "seq 1 2000 | sed 's/^/collecting item /'; grep -q 'len(items) - 1' src/rates.py && echo '1 passed' || { echo 'FAILED test_last'; exit 1; }\n",
    );
    let server = FakeServer::start(vec![
        answer().text("I look.").call("LS", json!({})).call("Bash", json!({"command": "sh check.sh"})).into(),
        answer().call("Read", json!({"path": "src/rates.py"})).into(),
        answer().call("Grep", json!({"pattern": "RATE_|def last", "path": "src"})).into(),
        answer().call("Read", json!({"path": "src/rates.py", "start_line": 1480})).into(),
        answer()
            .call("Edit", json!({"path": "src/rates.py", "old_string": "items[len(items)]", "new_string": "items[len(items) - 1]"}))
            .into(),
        answer().call("Bash", json!({"command": "sh check.sh"})).into(),
        answer().text("Fixed `src/rates.py:1503`; the check passes.").into(),
    ]);
    let project = place.project();
    fs::write(place.home().join("config.toml"), "context_window = 8192\n").unwrap();
    let output = place.exec(&server.base_url(), &["fix the failing check"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "Fixed `src/rates.py:1503`; the check passes.");
    assert!(fs::read_to_string(project.join("src/rates.py")).unwrap().contains("len(items) - 1"));
    let requests = server.requests();
    for request in &requests {
        let answer = request.body["max_tokens"].as_u64().unwrap() as usize;
        let size = tokens::of_request(&request.body) + answer;
        assert!(size <= 8_192, "a server would refuse {size} tokens");
        assert_eq!(request.body["tools"], requests[0].body["tools"], "the schemas changed");
    }
    let text = |n: usize| requests[n].body["messages"].to_string();
    assert!(text(1).contains("FAILED test_last"), "{}", text(1));
    assert!(text(2).contains("continue with start_line="), "a long file is paged: {}", text(2));
    assert!(text(4).contains("return items[len(items)]"), "{}", text(4));
}

#[test]
fn a_silent_turn_is_asked_for_its_findings_before_the_first_fold() {
    let place = Workplace::new();
    for part in 0..16 {
        let row = |line| format!("    let value_{line} = compute_part({part}, {line});\n");
        place.file(&format!("src/part_{part}.rs"), (0..180).map(row).collect::<String>());
    }
    fs::write(place.home().join("config.toml"), "context_window = 32000\n").unwrap();
    for (said, asked) in [("", 1), ("The sum goes wrong where parts meet: their offsets count twice. ", 0)] {
        let mut answers: Vec<_> = (0..16)
            .map(|part| {
                let read = json!({"path": format!("src/part_{part}.rs")});
                answer().text(&said.repeat(7)).call("Read", read).into()
            })
            .collect();
        answers.push(answer().text("Done.").into());
        let server = FakeServer::start(answers);
        let output = place.exec(&server.base_url(), &["find the wrong sum"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let requests: Vec<String> =
            server.requests().iter().map(|request| request.body["messages"].to_string()).collect();
        let first = |text: &str| requests.iter().position(|request| request.contains(text));
        let (question, fold) = (first("what you found and what you plan"), first("Steps folded"));
        assert!(fold.is_some(), "no fold");
        assert_eq!(question.is_some(), asked == 1);
        assert!(question < fold, "{question:?} {fold:?}");
        let most = requests.iter().map(|request| request.matches("what you found and what you plan").count());
        assert_eq!(most.max(), Some(asked), "asked once");
    }
}

#[test]
fn requests_share_text_with_the_history() {
    let mut history = HistoryManager::default();
    let said: Arc<str> = "what the user said, at length".into();
    history.push(
        ItemId(1),
        Arc::new(Item::User(UserMessage { text: Arc::clone(&said), injected: Vec::new(), steering: false })),
        None,
    );
    let call = ToolCall { id: "c".into(), name: "Read".into(), args: "{}".into() };
    history.push(ItemId(2), Arc::new(Item::ToolCall(call)), None);
    let envelope = Envelope::success("").with_body("content", "line\n".repeat(1_000));
    history.push(ItemId(3), Arc::new(Item::ToolResult(ToolResult::new("c", "Read", envelope))), None);
    let parts = FixedParts { system: FixedPart::new("s".into()), ..FixedParts::default() };
    let build = || {
        let inputs = LayerInputs { parts: &parts, history: &history };
        ContextBuilder::build(&inputs).request.messages
    };
    let (first, second) = (build(), build());
    let Message::User(text) = &first[0] else { panic!("{first:?}") };
    assert!(Arc::ptr_eq(text, &said), "the user's words were copied");
    let results = (&first[2], &second[2], history.entries()[2].message());
    let (
        Message::Result { text: a, .. },
        Message::Result { text: b, .. },
        Some(Message::Result { text: c, .. }),
    ) = results
    else {
        panic!("{first:?}")
    };
    assert!(Arc::ptr_eq(a, b) && Arc::ptr_eq(a, c), "building a request copied an observation");
}
