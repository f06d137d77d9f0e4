//! The account of what is sent: the ledger's sum is the request's size, the prefix breaks only for recorded causes, and the
//! log alone gives every request again, whatever happens in a session.

use std::sync::Arc;

use base::model::call::{ToolCall, ToolSpec};
use base::model::envelope::Envelope;
use base::model::fingerprint;
use base::model::item::{Item, ItemId, Reasoning, Summary, ToolResult, UserMessage};
use base::protocol::event::Event;
use base::protocol::ledger::{ContextEdit, LedgerView};
use base::protocol::op::{Control, Quick};
use context::builder::ContextBuilder;
use context::history::manager::HistoryManager;
use context::layers::LayerInputs;
use context::parts::{FixedPart, FixedParts, Schemas};
use context::session::record::FormName;
use context::tokens::calibration::Calibration;
use proptest::prelude::*;
use provider::chat::body;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::workplace::Workplace;
use crate::support::workplace::passage;

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
    Item::ToolResult(ToolResult::new(id, "Read", envelope))
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
            Thing::Say(lines) => push(&mut history, Item::assistant(passage(number, *lines))),
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

fn parts(rules: bool) -> FixedParts {
    let spec = |n: usize| ToolSpec {
        name: format!("Tool{n}").into(),
        description: passage(n, 6).into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}),
    };
    FixedParts {
        system: FixedPart::new(passage(50, 40).into()),
        schemas: Schemas::new((0..4).map(spec).collect()),
        rules: rules.then(|| FixedPart::new(passage(80, 30).into())),
        ..FixedParts::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ledger_sum_is_the_request_size(
        things in proptest::collection::vec((thing(), form()), 0..40),
        archive in proptest::option::of(0usize..40),
        rules in any::<bool>(),
    ) {
        let history = history(&things, archive);
        let parts = parts(rules);
        let built = ContextBuilder::build(&LayerInputs { parts: &parts, history: &history });
        prop_assert_eq!(built.ledger.total(), tokens::estimated(&built.request));
        prop_assert_eq!(&built.fingerprints, &fingerprint::Parts::of(&built.request));
        let rows = built.ledger.rows.len() - built.request.messages.len();
        prop_assert_eq!(rows, 2 + usize::from(rules), "a row for each message, and one for each fixed part");
        // Thinking without a server's own mark is not sent back in this dialect, and not counted by servers.
        if !things.iter().any(|(thing, _)| matches!(thing, Thing::Think(_))) {
            let wire: Value = serde_json::from_str(&body::body(&built.request, true)).unwrap();
            let real = tokens::of_request(&wire) as f64;
            let off = (built.ledger.total() as f64 / real - 1.0).abs() * 100.0;
            let band = Calibration::default().error_percent(built.ledger.total());
            prop_assert!(off <= band, "off by {off:.1} %, the band is ±{band} % ({} for {real})", built.ledger.total());
        }
    }
}

#[tokio::test]
async fn ledger_and_edits_during_a_turn() {
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
    agent.send(Control::ShowContext);
    let ledger = |event: &Event| match event {
        Event::Ledger(ledger) => Some(ledger.clone()),
        _ => None,
    };
    let row = |ledger: &LedgerView| ledger.rows.iter().find(|row| row.id == "#3").unwrap().clone();
    let before = row(&agent.until(ledger).await);
    assert!(before.origin.starts_with("Read a.txt") && before.form == "full", "{before:?}");
    agent.send(Control::EditContext { edit: ContextEdit::Drop, id: ItemId(3) });
    agent.send(Control::EditContext { edit: ContextEdit::Drop, id: ItemId(1) });
    // Both have been taken up when this is answered.
    agent.send(Quick::Explain { id: "3".to_owned() });
    agent.until(|event| matches!(event, Event::ItemHistory(_)).then_some(())).await;
    place.file("go", "");
    let after = row(&agent.until(ledger).await);
    assert!(after.form == "pointer" && after.tokens * 10 < before.tokens, "{after:?}");
    agent.end().await;
    let refused =
        |event: &Event| matches!(event, Event::Notice { text, .. } if text.contains("can't be dropped"));
    assert!(agent.seen.iter().any(refused));
    let last = &server.requests()[2];
    assert!(last.raw.contains("result left out") && last.raw.contains("work"), "{}", last.raw);
}

/// What compaction keeps free is free for what the user wants back: only the window itself is a limit.
#[tokio::test]
async fn a_dropped_item_comes_back_while_the_window_has_room() {
    let place = Workplace::new();
    for (number, name) in ["a.txt", "b.txt", "c.txt"].into_iter().enumerate() {
        place.file(name, passage(number, 300));
    }
    let read = |name: &str| answer().call("Read", json!({ "path": name }));
    let server = FakeServer::start(vec![
        read("a.txt").into(),
        answer().text("Read a.").into(),
        read("b.txt").into(),
        read("c.txt").into(),
        answer().text("Read b and c.").into(),
        // A summary may be got ready beforehand.
        answer().text("A summary.").into(),
        answer().text("A summary.").into(),
    ]);
    let config = format!(
        "provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\ncontext_window = 40000\nprofile = \"high\"\n\
         compression_threshold = 0.36\nlow_water = 0.2",
        server.base_url()
    );
    let mut agent = TestAgent::start(&place, &config, false);
    let told = |wanted: &'static str| {
        move |event: &Event| match event {
            Event::Notice { text, .. } if text.contains(wanted) => Some(text.clone()),
            _ => None,
        }
    };
    agent.turn("read a").await;
    agent.send(Control::EditContext { edit: ContextEdit::Drop, id: ItemId(3) });
    agent.until(told("#3")).await;
    agent.turn("read b and c").await;
    agent.send(Control::EditContext { edit: ContextEdit::Restore, id: ItemId(3) });
    let answer = agent.until(told("#3")).await;
    assert!(answer.starts_with("Restored and pinned #3"), "{answer}");
    let ledger = agent
        .until(|event| match event {
            Event::Ledger(ledger) => Some(ledger.clone()),
            _ => None,
        })
        .await;
    let limit = 40_000 * 36 / 100 - 4_096;
    assert!(ledger.total_tokens > limit && ledger.total_tokens < 40_000 - 4_096, "{}", ledger.total_tokens);
}
