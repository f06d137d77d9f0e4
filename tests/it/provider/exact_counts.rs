//! Sizes by the model's own tokenizer: exact where it is public, counted in the background, and off where it is not.

use std::sync::Arc;

use base::model::item::{Item, ItemId, UserMessage};
use base::protocol::event::{EndReason, Event};
use base::protocol::ledger::LedgerView;
use base::protocol::op::Op;
use context::history::manager::HistoryManager;
use context::session::record::FormName;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

async fn ledger(agent: &mut TestAgent) -> LedgerView {
    agent.send(Op::ShowContext);
    agent
        .until(|event| match event {
            Event::Ledger(ledger) => Some(ledger.clone()),
            _ => None,
        })
        .await
}

/// The ledger once everything in it was counted: the thread gets ahead sooner or later.
async fn counted(agent: &mut TestAgent) -> LedgerView {
    loop {
        let ledger = ledger(agent).await;
        if ledger.error_percent < 2.001 {
            return ledger;
        }
        tokio::task::yield_now().await;
    }
}

fn config(server: &FakeServer, model: &str) -> String {
    format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"{model}\"\n", server.base_url())
}

#[tokio::test]
async fn exact_ledger() {
    let place = Workplace::new();
    place.file("CODE_LAW.md", "# Rules\nNever touch `vendor/`.\n");
    place.file("a.rs", include_str!("../architecture.rs"));
    place.file("b.txt", "Ein Satz auf Deutsch, 漢字かな交じり文, 0xDEADBEEF and 3.14159265.\n".repeat(60));
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).no_usage().into(),
        answer().call("Read", json!({"path": "b.txt"})).no_usage().into(),
        answer().text("Both were read.").no_usage().into(),
        answer().call("Grep", json!({"pattern": "fn "})).no_usage().into(),
        answer().text("There are many.").no_usage().into(),
        answer().text("Nothing more.").no_usage().into(),
    ]);
    let mut agent = TestAgent::start(&place, &config(&server, "gpt-5-mini"), false);
    let before = ledger(&mut agent).await;
    assert!(before.error_percent > 10.0, "nothing is loaded before the first request");
    agent.turn("read a.rs and b.txt").await;
    agent.turn("count the functions").await;
    agent.turn("anything else?").await;
    let ledger = counted(&mut agent).await;
    let requests = server.requests();
    let body: Value = serde_json::from_str(&requests[requests.len() - 1].raw).unwrap();
    let real = (tokens::of_request(&body) + tokens::count("Nothing more.") + 4) as f64;
    let off = ledger.total_tokens as f64 / real - 1.0;
    assert!(off.abs() < 0.02, "{} is {:.1} % off {real}", ledger.total_tokens, off * 100.0);
    assert_eq!(ledger.total_tokens, ledger.rows.iter().map(|row| row.tokens).sum::<u64>());

    // Another process reads the log, and counts for itself.
    let printed = place.command(&["context", "--json"]).output().unwrap();
    let printed: Value = serde_json::from_str(&stdout(&printed)).unwrap();
    assert_eq!(printed["total_tokens"].as_u64(), Some(ledger.total_tokens));
    assert!(printed["error_percent"].as_f64().unwrap() < 2.001);

    // Another tokenizer: the counts say nothing of it.
    agent.send(Op::SetModel { model: "qwen3".to_owned() });
    let ledger = self::ledger(&mut agent).await;
    assert!(ledger.error_percent > 10.0);
    agent.send(Op::SetModel { model: "gpt-4o".to_owned() });
    assert!(self::ledger(&mut agent).await.error_percent > 10.0, "starts over, with the next request");
}

#[tokio::test]
async fn calibration_of_exact_counts() {
    let place = Workplace::new();
    let server = FakeServer::start(Vec::new());
    let mut agent = TestAgent::start(&place, &config(&server, "gpt-5-mini"), false);
    server.push(answer().text("One.").no_usage());
    agent.turn("a first message").await;
    let plain = counted(&mut agent).await.total_tokens;
    // The server's own frame: a tenth more than the words.
    server.push(answer().text("Two.").usage(plain * 11 / 10, 0, 5));
    agent.turn("a second message").await;
    let ledger = counted(&mut agent).await;
    let ratio = ledger.total_tokens as f64 / plain as f64;
    assert!((1.05..1.15).contains(&ratio), "{ratio}");
}

#[tokio::test]
async fn exact_count_of_one_letter_runs() {
    for letter in ["a", " ", "\t", "漢"] {
        let place = Workplace::new();
        let server = FakeServer::start(vec![answer().text("Seen.").no_usage().into()]);
        let config = format!("{}context_window = 4000000\n", config(&server, "gpt-5-mini"));
        let mut agent = TestAgent::start(&place, &config, false);
        let end = agent.turn(&format!("look: {}.", letter.repeat((1 << 20) / letter.len()))).await;
        assert_eq!(end.reason, EndReason::Done, "{letter:?}");
        let ledger = counted(&mut agent).await;
        let row = ledger.rows.iter().find(|row| row.id == "#1").unwrap();
        assert!(row.tokens > 1_000, "{letter:?}: {}", row.tokens);
    }
}

/// Which threads the program has while it runs a command, which is a descendant of it.
#[cfg(target_os = "linux")]
#[test]
fn other_models_start_no_counting() {
    let threads = "p=$$; until grep -q '^mycode' /proc/$p/comm; do p=$(cut -d' ' -f4 /proc/$p/stat); done; \
                   cat /proc/$p/task/*/comm";
    let names = |model: &str| {
        let place = Workplace::new();
        let server = FakeServer::start(vec![
            answer().call("Bash", json!({"command": threads})).into(),
            answer().text("Done.").into(),
        ]);
        let url = server.base_url();
        let output = place
            .command(&[
                "exec",
                "--base-url",
                &url,
                "--model",
                model,
                "--permission",
                "full",
                "which threads?",
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let body: Value = serde_json::from_str(&server.requests()[1].raw).unwrap();
        let messages = body["messages"].as_array().unwrap();
        messages[messages.len() - 1]["content"].as_str().unwrap().to_owned()
    };
    let counting = names("gpt-5-mini");
    assert!(counting.contains("mycode") && counting.contains("token-counter"), "{counting}");
    let qwen = names("qwen3");
    assert!(qwen.contains("mycode") && !qwen.contains("token-counter"), "{qwen}");
}

#[test]
fn a_count_holds_for_its_form_alone() {
    let mut history = HistoryManager::default();
    let long = "word ".repeat(200);
    history.push(ItemId(1), Arc::new(Item::User(UserMessage::new(&long))), None);
    let estimate = history.tokens();
    history.refine(|_, _| Some(777));
    assert_eq!((history.tokens(), history.counted()), (777, 777));
    history.refine(|_, _| panic!("counted again"));
    history.set_form(&[ItemId(1)], FormName::Masked, &["[shorter]".into()]);
    assert!(history.tokens() < 20 && history.counted() == 0);
    history.refine(|_, _| Some(3));
    assert_eq!(history.tokens(), 3);
    history.set_form(&[ItemId(1)], FormName::Full, &[]);
    assert_eq!((history.tokens(), history.counted()), (777, 777), "what was counted once stays known");
    history.forget_counts();
    assert_eq!((history.tokens(), history.counted()), (estimate, 0));
}
