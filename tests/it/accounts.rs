//! The account of what is sent: the ledger's sum is the request's size, the prefix breaks only for recorded causes, and the
//! log alone gives every request again, whatever happens in a session.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use futures_util::stream;
use mycode::agent::build::{self, Handle, Setup};
use mycode::config::load::{self, Sources};
use mycode::config::paths::Paths;
use mycode::config::raw::Raw;
use mycode::config::settings::Permission;
use mycode::context::budget::size;
use mycode::context::budget::tokens::Calibration;
use mycode::context::builder;
use mycode::context::history::manager::HistoryManager;
use mycode::context::layer::LayerInputs;
use mycode::context::parts::{Part, Parts, Schemas};
use mycode::context::replay::{self, Verdict};
use mycode::model::call::{ToolCall, ToolSpec};
use mycode::model::envelope::Envelope;
use mycode::model::fingerprint;
use mycode::model::item::{Item, ItemId, Reasoning, Summary, ToolResult, UserMessage};
use mycode::model::request::{Message, Request};
use mycode::model::stream::StreamEvent;
use mycode::model::usage::FinishReason;
use mycode::protocol::event::{EndReason, Event};
use mycode::protocol::ledger::{Edit, LedgerView};
use mycode::protocol::op::Op;
use mycode::provider::api::{Answer, Provider, ProviderError};
use mycode::provider::chat::body::{self, Flavour};
use mycode::session::reader;
use mycode::session::record::{FormName, Record};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::workplace::Workplace;

/// Real text, cut anywhere: what an agent reads all day.
fn passage(seed: usize, lines: usize) -> String {
    let book = include_str!("architecture.rs");
    let all: Vec<&str> = book.lines().collect();
    (0..lines).map(|n| format!("{}\n", all[(seed * 37 + n) % all.len()])).collect()
}

/// What is put into a history.
#[derive(Clone, Debug)]
enum Thing {
    User(usize),
    Say(usize),
    Think(usize),
    Call { lines: usize, answered: bool },
    Orphan(usize),
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        2 => (1usize..30).prop_map(Thing::User),
        2 => (1usize..30).prop_map(Thing::Say),
        1 => (1usize..10).prop_map(Thing::Think),
        6 => (1usize..60, prop::bool::weighted(0.9)).prop_map(|(lines, answered)| Thing::Call { lines, answered }),
        1 => (1usize..9).prop_map(Thing::Orphan),
    ]
}

fn form() -> impl Strategy<Value = Option<FormName>> {
    prop_oneof![
        4 => Just(None),
        1 => Just(Some(FormName::Filtered)),
        1 => Just(Some(FormName::Compressed)),
        1 => Just(Some(FormName::Masked)),
        2 => Just(Some(FormName::Pointer)),
        1 => Just(Some(FormName::Folded)),
        1 => Just(Some(FormName::Gone)),
    ]
}

fn result(id: &str, text: String) -> Item {
    let envelope = Envelope::success("").with_body("content", text).with("path", "src/a.rs");
    Item::ToolResult(ToolResult { call_id: id.into(), tool: "Read".into(), envelope })
}

/// A history of these things in these forms, with an archived summary in front where wanted.
fn history(things: &[(Thing, Option<FormName>)], archive: Option<usize>) -> HistoryManager {
    let mut history = HistoryManager::default();
    let mut next = 1;
    let mut push = |history: &mut HistoryManager, item: Item| {
        history.push(ItemId(next), Arc::new(item), None);
        next += 1;
        ItemId(next - 1)
    };
    for (number, (thing, form)) in things.iter().enumerate() {
        let call = format!("c{number}");
        let id = match thing {
            Thing::User(lines) => push(
                &mut history,
                Item::User(UserMessage {
                    injected: vec!["<system-reminder>Note.</system-reminder>".into()],
                    ..UserMessage::new(&passage(number, *lines))
                }),
            ),
            Thing::Say(lines) => push(&mut history, Item::Assistant { text: passage(number, *lines).into() }),
            Thing::Think(lines) => push(
                &mut history,
                Item::Reasoning(Reasoning { text: passage(number, *lines).into(), opaque: None }),
            ),
            Thing::Call { lines, answered } => {
                let args = json!({"path": "src/a.rs", "text": passage(number, lines / 4)}).to_string();
                let made = push(
                    &mut history,
                    Item::ToolCall(ToolCall {
                        id: call.as_str().into(),
                        name: "Read".into(),
                        args: args.into(),
                    }),
                );
                if *answered { push(&mut history, result(&call, passage(number, *lines))) } else { made }
            }
            Thing::Orphan(lines) => push(&mut history, result("nobody", passage(number, *lines))),
        };
        if let Some(form) = form {
            let text: Arc<str> = match &*history.entry(id).unwrap().item {
                Item::ToolCall(_) => r#"{"cut":"[…]"}"#.into(),
                _ => format!("[#{number}, shorter]").into(),
            };
            let texts = match form {
                FormName::Compressed | FormName::Pointer | FormName::Gone => Vec::new(),
                _ => vec![text],
            };
            history.set_form(&[id], *form, &texts);
        }
    }
    if let Some(at) = archive.filter(|_| !history.entries().is_empty()) {
        let before = history.entries()[at % history.entries().len()].id;
        history.archive(before, ItemId(next), Summary { text: passage(3, 20).into(), state: Value::Null });
    }
    history
}

fn parts(law: bool, todos: bool) -> Parts {
    let spec = |n: usize| ToolSpec {
        name: format!("Tool{n}").into(),
        description: passage(n, 6).into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}),
    };
    Parts {
        system: Part::new(passage(50, 40).into()),
        schemas: Schemas::new((0..4).map(spec).collect()),
        law: law.then(|| Part::new(passage(80, 30).into())),
        recap: todos
            .then(|| Part::new("<system-reminder>Todos [1/2] In progress: x.</system-reminder>".into())),
        ..Parts::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_adds_up_to_what_is_sent(
        things in proptest::collection::vec((thing(), form()), 0..40),
        archive in proptest::option::of(0usize..40),
        law in any::<bool>(),
        todos in any::<bool>(),
    ) {
        let history = history(&things, archive);
        let parts = parts(law, todos);
        let built = builder::build(&LayerInputs { parts: &parts, history: &history });
        prop_assert_eq!(built.ledger.total(), size::request_tokens(&built.request));
        prop_assert_eq!(&built.fingerprints, &fingerprint::Parts::of(&built.request));
        // Exact counts take the place of estimates one by one; whatever they are, nothing is counted twice or lost.
        let mut exact = history.clone();
        exact.refine(|_, message| Some(size::message_tokens(message) + 7));
        let refined = builder::build(&LayerInputs { parts: &parts, history: &exact }).ledger;
        let counted = refined.rows.iter().filter(|row| row.counted).count() as u64;
        prop_assert_eq!(refined.total(), built.ledger.total() + 7 * counted);
        prop_assert_eq!(exact.tokens(), exact.entries().iter().map(|entry| u64::from(entry.tokens())).sum::<u64>());
        prop_assert_eq!(exact.counted(), exact.tokens());
        exact.forget_counts();
        let back = builder::build(&LayerInputs { parts: &parts, history: &exact }).ledger;
        prop_assert_eq!(back, built.ledger.clone());
        let rows = built.ledger.rows.len() - built.request.messages.len();
        prop_assert_eq!(rows, 2 + usize::from(law), "a row for each message, and one for each fixed part");
        // Thinking without a server's own mark is not sent back in this dialect, and not counted by servers.
        if !things.iter().any(|(thing, _)| matches!(thing, Thing::Think(_))) {
            let wire: Value = serde_json::from_str(&body::body(&built.request, Flavour { strict: true })).unwrap();
            let real = tokens::of_request(&wire) as f64;
            let off = (built.ledger.total() as f64 / real - 1.0).abs() * 100.0;
            let band = Calibration::default().error_percent();
            prop_assert!(off <= band, "off by {off:.1} %, the band is ±{band} % ({} for {real})", built.ledger.total());
        }
    }
}

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
    Edit(usize, usize),
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

fn deed() -> impl Strategy<Value = Deed> {
    let edit = || (0usize..4, 0usize..24);
    prop_oneof![
        8 => (proptest::collection::vec(step(), 0..7), proptest::option::weighted(0.2, edit()))
            .prop_map(|(steps, edit)| Deed::Turn { steps, edit }),
        2 => Just(Deed::Fail),
        1 => Just(Deed::Compact),
        1 => any::<bool>().prop_map(Deed::Model),
        2 => proptest::option::of(1usize..4).prop_map(Deed::Rules),
        3 => edit().prop_map(|(edit, at)| Deed::Edit(edit, at)),
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
}

impl Planned {
    fn answer(&self, request: &Request) -> Result<Vec<StreamEvent>, ProviderError> {
        let done = |finish| StreamEvent::Done { finish, usage: None };
        let say = |text: String| StreamEvent::Item(Item::Assistant { text: text.into() });
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
        if self.limit.lock().unwrap().is_some_and(|limit| size::request_tokens(request) > limit) {
            return Err(ProviderError::ContextFull { message: "too long".to_owned() });
        }
        let Some(step) = self.steps.lock().unwrap().pop_front() else {
            return Ok(vec![say(format!("Done, in answer {number}.")), done(FinishReason::Stop)]);
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
        Ok(vec![StreamEvent::Item(Item::ToolCall(call)), done(FinishReason::ToolCalls)])
    }
}

impl Provider for Planned {
    fn stream(&self, request: &Request) -> Answer {
        match self.answer(request) {
            Ok(events) => stream::iter(events.into_iter().map(Ok)).boxed(),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    fn body(&self, request: &Request) -> String {
        body::body(request, Flavour { strict: false })
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
    handle: Handle,
}

fn start(place: &Workplace, provider: &Arc<Planned>, window: u64, resume: Option<PathBuf>) -> Handle {
    let paths = Paths { config: place.home(), state: place.home().join("state") };
    let config = format!(
        "provider = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\nmodel = \"m\"\ncontext_window = {window}\nprofile = \"eco\""
    );
    let loaded = load::load(Sources {
        flags: Raw::parse(&config).unwrap(),
        vars: &|_| None,
        paths: &paths,
        workspace: &place.project(),
        trust: false,
        default_permission: Permission::Auto,
    })
    .unwrap();
    build::start(Setup {
        loaded,
        provider: Arc::clone(provider) as _,
        model: "m".into(),
        workspace: place.project(),
        project_state: paths.project(&place.project()),
        own_folders: vec![place.home()],
        interactive: false,
        resume,
    })
    .unwrap()
}

impl Play {
    fn new(window: u64) -> Self {
        let place = Workplace::new();
        for file in 0..3 {
            place.file(&format!("f{file}.rs"), passage(file * 5, 240));
        }
        let provider = Arc::new(Planned::default());
        let handle = start(&place, &provider, window, None);
        Self { place, provider, window, handle }
    }

    fn send(&self, op: Op) {
        self.handle.ops.send(op).unwrap();
    }

    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) {
        while !wanted(&self.handle.events.recv().await.expect("the agent ended")) {}
    }

    async fn turn(&mut self, edit: Option<(usize, usize)>) {
        // Each message is another one, so that a message taken back is seen to be gone.
        let number = self.provider.requests.lock().unwrap().len();
        self.send(Op::Submit { text: format!("please go on with work number {number}") });
        if let Some((edit, at)) = edit {
            self.edit(edit, at);
        }
        self.until(|event| matches!(event, Event::TurnEnded(_))).await;
    }

    fn edit(&self, edit: usize, at: usize) {
        let edit = [Edit::Pin, Edit::Unpin, Edit::Drop, Edit::Restore][edit];
        self.send(Op::EditContext { edit, id: ItemId(at as u64 + 1) });
    }

    async fn idle(&mut self) {
        self.send(Op::ShowContext);
        self.until(|event| matches!(event, Event::Ledger(_))).await;
    }

    fn log(&self) -> Option<PathBuf> {
        let files = walkdir::WalkDir::new(self.place.home()).into_iter().flatten();
        let is_log = |path: &PathBuf| {
            let path = path.to_string_lossy();
            path.ends_with(".jsonl") && !path.contains("journal")
        };
        files.map(|entry| entry.into_path()).find(is_log)
    }

    async fn leave(&mut self) {
        self.send(Op::Shutdown);
        while self.handle.events.recv().await.is_some() {}
        (&mut self.handle.task).await.unwrap();
    }

    async fn play(&mut self, deed: Deed) {
        match deed {
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
                self.send(Op::Compact { focus: None });
                self.until(|event| matches!(event, Event::Window(_))).await;
            }
            Deed::Model(other) => {
                self.send(Op::SetModel { model: if other { "n" } else { "m" }.to_owned() });
                self.idle().await;
            }
            Deed::Rules(None) => drop(fs::remove_file(self.place.project().join("CODE_LAW.md"))),
            Deed::Rules(Some(lines)) => drop(self.place.file("CODE_LAW.md", passage(9, lines))),
            Deed::Edit(edit, at) => {
                self.edit(edit, at);
                self.idle().await;
            }
            Deed::Resume => {
                let log = self.log();
                if log.is_some() {
                    self.leave().await;
                    self.handle = start(&self.place, &self.provider, self.window, log);
                }
            }
        }
    }
}

/// What a request must keep: everything but the recap at its end.
fn stable(request: &Request) -> &[Message] {
    match request.messages.split_last() {
        Some((Message::User(text), rest)) if text.starts_with("<system-reminder>Todos") => rest,
        _ => &request.messages,
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
        let grew = after.messages.starts_with(stable(before))
            && (&after.system, &after.tools, &after.params.model)
                == (&before.system, &before.tools, &before.params.model);
        match &account.broken {
            None => assert!(grew, "request {} changed old bytes and no cause is recorded", number + 2),
            Some(broken) => {
                assert!(!grew, "request {} is said to break and does not", number + 2);
                assert!(!broken.causes.is_empty(), "request {} breaks without a cause", number + 2);
            }
        }
    }
    let mut again: Vec<Request> = Vec::new();
    let replayed = replay::play(records, |_, built| again.push(built.request.clone()));
    for (request, (made, was)) in replayed.iter().zip(again.iter().zip(requests)) {
        assert_eq!(request.verdict, Verdict::Same, "request {}", request.number);
        assert_eq!(made, was, "request {}", request.number);
    }
    assert_eq!(again.len(), requests.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_log_explains_and_rebuilds_every_request(
        deeds in proptest::collection::vec(deed(), 1..14),
        small in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut play = Play::new(if small { 12_000 } else { 64_000 });
            for deed in deeds {
                play.play(deed).await;
            }
            play.play(Deed::Turn { steps: vec![Step::Read { file: 0, start: 1 }], edit: None }).await;
            play.leave().await;
            let records = reader::read(&play.place.log()).unwrap();
            assert_eq!(records.skipped, 0);
            check(&play.provider.requests.lock().unwrap(), &records.records);
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
    // The first turn is message #1, call #2, result #3.
    play.send(Op::EditContext { edit: Edit::Pin, id: ItemId(3) });
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
    assert_eq!(last[1..3], first[1..3], "the pinned result and its call, right behind the summary");
    assert!(!last[3..].contains(&first[0]));
    check(&requests, &reader::read(&play.place.log()).unwrap().records);
}

#[tokio::test]
async fn the_ledger_is_shown_and_edits_wait_while_a_turn_runs() {
    let place = Workplace::new();
    place.file("a.txt", passage(1, 200));
    let wait = "until test -e go; do sleep 0.01; done";
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().call("Bash", json!({"command": wait})).into(),
        answer().text("Done.").into(),
    ]);
    let config = format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"", server.base_url());
    let mut agent = TestAgent::start(&place, &config, false);
    agent.submit("work");
    agent
        .until(|event| matches!(event, Event::ToolStarted { tool, .. } if &**tool == "Bash").then_some(()))
        .await;
    agent.send(Op::ShowContext);
    let ledger = |event: &Event| match event {
        Event::Ledger(ledger) => Some(ledger.clone()),
        _ => None,
    };
    let row = |ledger: &LedgerView| ledger.rows.iter().find(|row| row.id == "#3").unwrap().clone();
    let before = row(&agent.until(ledger).await);
    assert!(before.origin.starts_with("Read a.txt") && before.form == "full", "{before:?}");
    agent.send(Op::EditContext { edit: Edit::Drop, id: ItemId(3) });
    agent.send(Op::EditContext { edit: Edit::Drop, id: ItemId(1) });
    // Both have been taken up when this is answered.
    agent.send(Op::Explain { id: "3".to_owned() });
    agent.until(|event| matches!(event, Event::Story(_)).then_some(())).await;
    place.file("go", "");
    let after = row(&agent.until(ledger).await);
    assert!(after.form == "pointer" && after.tokens * 10 < before.tokens, "{after:?}");
    agent.end().await;
    let refused =
        |event: &Event| matches!(event, Event::Notice { text, .. } if text.contains("never dropped"));
    assert!(agent.seen.iter().any(refused));
    let last = &server.requests()[2];
    assert!(last.raw.contains("result left out") && last.raw.contains("work"), "{}", last.raw);
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
        play.send(Op::EditContext { edit: Edit::Restore, id: ItemId(id) });
        play.send(Op::EditContext { edit: Edit::Pin, id: ItemId(id) });
    }
    let mut refused = false;
    play.send(Op::Explain { id: "1".to_owned() });
    loop {
        match play.handle.events.recv().await.unwrap() {
            Event::Story(_) => break,
            Event::Notice { text, .. } => refused |= text.contains("more than half of what fits"),
            _ => {}
        }
    }
    assert!(refused, "not everything can be pinned");
    // The server turns out to have a far smaller window than it said.
    *play.provider.limit.lock().unwrap() = Some(12_000);
    play.send(Op::Submit { text: "go on".to_owned() });
    let mut released = false;
    let end = loop {
        match play.handle.events.recv().await.unwrap() {
            Event::TurnEnded(end) => break end,
            Event::Notice { text, .. } => released |= text.contains("nothing is pinned any more"),
            _ => {}
        }
    };
    assert_eq!(end.reason, EndReason::Done);
    assert!(released, "the pins gave way");
    play.leave().await;
    check(&play.provider.requests.lock().unwrap(), &reader::read(&play.place.log()).unwrap().records);
}
