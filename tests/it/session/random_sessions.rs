//! Sessions in which anything may happen, played through the real agent: every request begins with the bytes of the one
//! before it or the log says why, and the log alone gives every request again.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use base::model::call::ToolCall;
use base::model::item::{Item, ItemId, Reasoning};
use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::{Message, Request};
use base::model::stream::StreamEvent;
use base::model::usage::FinishReason;
use base::protocol::event::{EndReason, Event};
use base::protocol::ledger::ContextEdit;
use base::protocol::op::{Control, Idle, Op, Quick, Work};
use context::replay::run::{self, ReplayCheck};
use context::session::reader;
use context::session::record::Record;
use futures_util::StreamExt;
use futures_util::stream;
use proptest::prelude::*;
use serde_json::json;

use crate::support::agent::TestAgent;
use crate::support::tokens;
use crate::support::workplace::Workplace;
use crate::support::workplace::passage;

/// What the model does in one step.
#[derive(Clone, Debug)]
enum Step {
    Read { file: usize, start: usize },
    Grep,
    Write { file: usize, lines: usize },
    Todo(bool),
    Say(usize),
}

/// What happens in a session.
#[derive(Clone, Debug)]
enum Deed {
    Turn { steps: Vec<Step>, edit: Option<(usize, usize)> },
    Fail,
    Compact,
    Model(bool),
    Rules(Option<usize>),
    ContextEdit(usize, usize),
    Resume,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0usize..3, 1usize..200).prop_map(|(file, start)| Step::Read { file, start }),
        1 => Just(Step::Grep),
        2 => (0usize..3, 1usize..60).prop_map(|(file, lines)| Step::Write { file, lines }),
        1 => any::<bool>().prop_map(Step::Todo),
        2 => (1usize..12).prop_map(Step::Say),
    ]
}

fn action() -> impl Strategy<Value = Deed> {
    let edit = || (0usize..4, 0usize..24);
    prop_oneof![
        8 => (proptest::collection::vec(step(), 0..7), proptest::option::weighted(0.2, edit()))
            .prop_map(|(steps, edit)| Deed::Turn { steps, edit }),
        2 => Just(Deed::Fail),
        1 => Just(Deed::Compact),
        1 => any::<bool>().prop_map(Deed::Model),
        2 => proptest::option::of(1usize..4).prop_map(Deed::Rules),
        3 => edit().prop_map(|(edit, at)| Deed::ContextEdit(edit, at)),
        1 => Just(Deed::Resume),
    ]
}

/// A model server in this process: does the planned steps, and keeps each request that it gets.
#[derive(Default)]
struct Planned {
    steps: Mutex<VecDeque<Step>>,
    fail: Mutex<bool>,
    /// Larger requests are refused.
    limit: Mutex<Option<u64>>,
    requests: Mutex<Vec<Request>>,
    /// Whether reasoning is bound to everything before it.
    binds: bool,
    /// Each block of reasoning that was made: for which model, behind what, and behind which other blocks.
    made: Mutex<Vec<Made>>,
}

struct Made {
    model: Arc<str>,
    before: Request,
    blocks: Vec<u64>,
}

/// The numbers of the blocks of reasoning in `messages`.
fn blocks(messages: &[Message]) -> Vec<u64> {
    messages.iter().filter_map(block).collect()
}

fn block(message: &Message) -> Option<u64> {
    let Message::Reasoning(reasoning) = message else { return None };
    reasoning.opaque.as_ref()?["block"]["signature"].as_u64()
}

fn without_reasoning(messages: &[Message]) -> Vec<&Message> {
    messages.iter().filter(|message| !matches!(message, Message::Reasoning(_))).collect()
}

impl Planned {
    /// What a server with preserved thinking refuses: a block behind anything else than it was made behind. The oldest blocks
    /// may be missing, and those of other models are none of its business.
    fn refuses(&self, request: &Request) -> Option<String> {
        let made = self.made.lock().unwrap();
        for (at, message) in request.messages.iter().enumerate() {
            let Some(number) = block(message) else { continue };
            let Made { model, before, blocks: behind } = &made[number as usize];
            let same = (&before.system, &before.tools) == (&request.system, &request.tools)
                && without_reasoning(&before.messages) == without_reasoning(&request.messages[..at])
                && behind.ends_with(&blocks(&request.messages[..at]));
            if *model == request.params.model && !same {
                return Some(format!("messages.{at}: block {number} is bound to a different conversation"));
            }
        }
        None
    }

    fn model(&self, other: bool) -> &'static str {
        match (self.binds, other) {
            (false, false) => "m",
            (false, true) => "n",
            (true, false) => "claude-sonnet-5-5",
            (true, true) => "claude-opus-5-5",
        }
    }

    fn think(&self, request: &Request) -> StreamEvent {
        let mut made = self.made.lock().unwrap();
        let number = made.len() as u64;
        made.push(Made {
            model: Arc::clone(&request.params.model),
            before: request.clone(),
            blocks: blocks(&request.messages),
        });
        let block = json!({"type": "thinking", "thinking": "", "signature": number});
        let opaque = Some(json!({"kind": "anthropic", "block": block}));
        StreamEvent::Item(Item::Reasoning(Reasoning { text: "".into(), opaque }))
    }

    fn answer(&self, request: &Request) -> Result<Vec<StreamEvent>, ProviderError> {
        let done = |finish| StreamEvent::Done { finish, usage: None };
        let say = |text: String| StreamEvent::Item(Item::assistant(text));
        if request.tools.is_empty() {
            return Ok(vec![say("## Objectives & Status\n- going on".to_owned()), done(FinishReason::Stop)]);
        }
        let number = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len()
        };
        if std::mem::take(&mut *self.fail.lock().unwrap()) {
            return Err(ProviderError::BadRequest { status: 400, message: "not today".to_owned() });
        }
        if self.limit.lock().unwrap().is_some_and(|limit| tokens::estimated(request) > limit) {
            return Err(ProviderError::ContextFull("too long".to_owned()));
        }
        if let Some(message) = self.refuses(request).filter(|_| self.binds) {
            return Err(ProviderError::ReasoningRejected(message));
        }
        let think = self.think(request);
        let Some(step) = self.steps.lock().unwrap().pop_front() else {
            return Ok(vec![think, say(format!("Done, in answer {number}.")), done(FinishReason::Stop)]);
        };
        let (name, args) = match step {
            Step::Read { file, start } => {
                ("Read", json!({"path": format!("f{file}.rs"), "start_line": start}))
            }
            Step::Grep => ("Grep", json!({"pattern": "fn "})),
            Step::Write { file, lines } => {
                ("Write", json!({"path": format!("f{file}.rs"), "content": passage(number, lines)}))
            }
            Step::Todo(open) => {
                let status = if open { "in_progress" } else { "completed" };
                let todos = json!([{"content": format!("job {number}"), "status": status}]);
                ("TodoWrite", json!({"summary": "s", "todos": todos}))
            }
            Step::Say(lines) => {
                return Ok(vec![
                    think,
                    say(passage(number, lines)),
                    StreamEvent::Item(Item::ToolCall(ToolCall {
                        id: "same".into(),
                        name: "LS".into(),
                        args: "{}".into(),
                    })),
                    done(FinishReason::ToolCalls),
                ]);
            }
        };
        let call = ToolCall { id: "same".into(), name: name.into(), args: args.to_string().into() };
        Ok(vec![think, StreamEvent::Item(Item::ToolCall(call)), done(FinishReason::ToolCalls)])
    }
}

impl Provider for Planned {
    fn stream(&self, request: &Request) -> ReplyStream {
        match self.answer(request) {
            Ok(events) => stream::iter(events.into_iter().map(Ok)).boxed(),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    fn name(&self) -> &'static str {
        "openai"
    }
}

/// A session with everything that can happen to it.
struct Play {
    place: Workplace,
    provider: Arc<Planned>,
    window: u64,
    agent: TestAgent,
}

fn start(place: &Workplace, provider: &Arc<Planned>, window: u64, resume: Option<PathBuf>) -> TestAgent {
    let model = provider.model(false);
    let config = format!(
        "provider = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\nmodel = \"{model}\"\ncontext_window = {window}\nprofile = \"eco\""
    );
    TestAgent::with(place, &config, Arc::clone(provider) as _, resume)
}

impl Play {
    fn new(window: u64) -> Self {
        Self::with(window, false)
    }

    /// With models that bind their reasoning, or without.
    fn with(window: u64, binds: bool) -> Self {
        let place = Workplace::new();
        for file in 0..3 {
            place.file(&format!("f{file}.rs"), passage(file * 5, 240));
        }
        let provider = Arc::new(Planned { binds, ..Planned::default() });
        let agent = start(&place, &provider, window, None);
        Self { place, provider, window, agent }
    }

    fn send(&self, op: impl Into<Op>) {
        self.agent.send(op);
    }

    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) {
        while !wanted(&self.agent.handle.events.recv().await.expect("the agent ended")) {}
    }

    async fn turn(&mut self, edit: Option<(usize, usize)>) {
        // Each message is another one, so that a message taken back is seen to be gone.
        let number = self.provider.requests.lock().unwrap().len();
        self.send(Work::Submit { text: format!("please go on with work number {number}") });
        if let Some((edit, at)) = edit {
            self.edit(edit, at);
        }
        self.until(|event| matches!(event, Event::TurnEnded(_))).await;
    }

    fn edit(&self, edit: usize, at: usize) {
        let edit = [ContextEdit::Pin, ContextEdit::Unpin, ContextEdit::Drop, ContextEdit::Restore][edit];
        self.send(Control::EditContext { edit, id: ItemId(at as u64 + 1) });
    }

    async fn idle(&mut self) {
        self.send(Control::ShowContext);
        self.until(|event| matches!(event, Event::Ledger(_))).await;
    }

    fn log(&self) -> Option<PathBuf> {
        let files = walkdir::WalkDir::new(self.place.home()).into_iter().flatten();
        let is_log = |path: &PathBuf| {
            let path = path.to_string_lossy();
            path.contains("/sessions/") && path.ends_with(".jsonl") && !path.contains("journal")
        };
        files.map(|entry| entry.into_path()).find(is_log)
    }

    async fn leave(&mut self) {
        self.send(Control::Shutdown);
        while self.agent.handle.events.recv().await.is_some() {}
        (&mut self.agent.handle.task).await.unwrap();
    }

    async fn play(&mut self, action: Deed) {
        match action {
            Deed::Turn { steps, edit } => {
                self.provider.steps.lock().unwrap().extend(steps);
                self.turn(edit).await;
            }
            Deed::Fail => {
                *self.provider.fail.lock().unwrap() = true;
                self.turn(None).await;
                if self.log().is_none() {
                    // Nothing was left of the session: the next message begins a log of its own.
                    self.provider.requests.lock().unwrap().clear();
                }
            }
            Deed::Compact => {
                self.send(Work::Compact { focus: None });
                self.until(|event| matches!(event, Event::Window(_))).await;
            }
            Deed::Model(other) => {
                self.send(Idle::SetModel { model: self.provider.model(other).to_owned() });
                self.idle().await;
            }
            Deed::Rules(None) => drop(fs::remove_file(self.place.project().join("CODE_LAW.md"))),
            Deed::Rules(Some(lines)) => drop(self.place.file("CODE_LAW.md", passage(9, lines))),
            Deed::ContextEdit(edit, at) => {
                self.edit(edit, at);
                self.idle().await;
            }
            Deed::Resume => {
                let log = self.log();
                if log.is_some() {
                    self.leave().await;
                    self.agent = start(&self.place, &self.provider, self.window, log);
                }
            }
        }
    }
}

fn check(requests: &[Request], records: &[Record]) {
    let sent: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Sent(sent) => Some(sent),
            _ => None,
        })
        .collect();
    assert_eq!(sent.len(), requests.len(), "every request is in the log");
    for (number, pair) in requests.windows(2).enumerate() {
        let [before, after] = pair else { unreachable!() };
        let account = sent[number + 1];
        let grew = after.messages.starts_with(&before.messages)
            && (&after.system, &after.tools, &after.params.model)
                == (&before.system, &before.tools, &before.params.model);
        match &account.epoch {
            None => assert!(grew, "request {} changed old bytes and no cause is recorded", number + 2),
            Some(epoch) => {
                assert!(!grew, "request {} is said to begin an epoch and does not", number + 2);
                assert!(!epoch.causes.is_empty(), "request {} begins an epoch without a cause", number + 2);
            }
        }
    }
    let mut again: Vec<Request> = Vec::new();
    let replayed = run::play(records, |_, built| again.push(built.request.clone()));
    for (request, (made, was)) in replayed.iter().zip(again.iter().zip(requests)) {
        assert_eq!(request.check, ReplayCheck::Same, "request {}", request.number);
        assert_eq!(made, was, "request {}", request.number);
    }
    assert_eq!(again.len(), requests.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_log_explains_and_rebuilds_every_request(
        deeds in proptest::collection::vec(action(), 1..14),
        small in any::<bool>(),
        binds in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut play = Play::with(if small { 12_000 } else { 64_000 }, binds);
            for action in deeds {
                play.play(action).await;
            }
            play.play(Deed::Turn { steps: vec![Step::Read { file: 0, start: 1 }], edit: None }).await;
            play.leave().await;
            let records = reader::read(&play.place.log()).unwrap();
            assert_eq!(records.skipped, 0);
            check(&play.provider.requests.lock().unwrap(), &records.records);
            for request in &*play.provider.requests.lock().unwrap() {
                assert_eq!(play.provider.refuses(request).filter(|_| binds), None);
            }
        });
    }
}

#[tokio::test]
async fn what_is_pinned_outlives_compaction_with_its_call() {
    let mut play = Play::new(64_000);
    for turn in 0..6 {
        play.play(Deed::Turn {
            steps: vec![Step::Read { file: turn % 3, start: turn * 10 + 1 }],
            edit: None,
        })
        .await;
    }
    // The first turn is message #1, reasoning #2, call #3, result #4.
    play.send(Control::EditContext { edit: ContextEdit::Pin, id: ItemId(4) });
    play.idle().await;
    play.play(Deed::Compact).await;
    play.play(Deed::Turn { steps: Vec::new(), edit: None }).await;
    play.leave().await;
    let requests = play.provider.requests.lock().unwrap();
    let last = &requests[requests.len() - 1].messages;
    assert!(
        matches!(&last[0], Message::User(text) if text.contains("Archived History Summary")),
        "{:?}",
        last[0]
    );
    let first = &requests[1].messages;
    assert_eq!(last[1..3], first[2..4], "the pinned result and its call, right behind the summary");
    assert!(!last[3..].contains(&first[0]));
    check(&requests, &reader::read(&play.place.log()).unwrap().records);
}

#[tokio::test]
async fn pins_leave_room_and_never_end_a_turn() {
    let mut play = Play::new(64_000);
    for turn in 0..20 {
        play.play(Deed::Turn {
            steps: vec![Step::Read { file: turn % 3, start: turn * 10 + 1 }],
            edit: None,
        })
        .await;
    }
    for id in 1..80 {
        play.send(Control::EditContext { edit: ContextEdit::Restore, id: ItemId(id) });
        play.send(Control::EditContext { edit: ContextEdit::Pin, id: ItemId(id) });
    }
    let mut refused = false;
    play.send(Quick::Explain { id: "1".to_owned() });
    loop {
        match play.agent.handle.events.recv().await.unwrap() {
            Event::ItemHistory(_) => break,
            Event::Notice { text, .. } => refused |= text.contains("more than half of the window"),
            _ => {}
        }
    }
    assert!(refused, "not everything can be pinned");
    // The server turns out to have a far smaller window than it said.
    *play.provider.limit.lock().unwrap() = Some(12_000);
    play.send(Work::Submit { text: "go on".to_owned() });
    let mut released = false;
    let end = loop {
        match play.agent.handle.events.recv().await.unwrap() {
            Event::TurnEnded(end) => break end,
            Event::Notice { text, .. } => released |= text.contains("unpinned"),
            _ => {}
        }
    };
    assert_eq!(end.reason, EndReason::Done);
    assert!(released, "the pins gave way");
    play.leave().await;
    check(&play.provider.requests.lock().unwrap(), &reader::read(&play.place.log()).unwrap().records);
}
