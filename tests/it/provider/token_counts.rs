//! Sizes: estimated and corrected by what the server reports while the agent runs, exact in `mycode context` where the model's
//! tokenizer is public.

use base::protocol::event::Event;
use base::protocol::ledger::LedgerView;
use base::protocol::op::Control;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::workplace::{Workplace, stdout};

async fn ledger(agent: &mut TestAgent) -> LedgerView {
    agent.send(Control::ShowContext);
    let ledger = |event: &Event| match event {
        Event::Ledger(ledger) => Some(ledger.clone()),
        _ => None,
    };
    agent.until(ledger).await
}

fn config(server: &FakeServer, model: &str) -> String {
    format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"{model}\"\n", server.base_url())
}

/// Code, prose of several scripts, data: each file is another kind of text than the one before.
fn files(place: &Workplace) {
    place.file("CODE_LAW.md", "# Rules\nNever touch `vendor/`.\n");
    place.file("a.rs", include_str!("../architecture.rs"));
    place.file("b.txt", "Ein Satz auf Deutsch, 漢字かな交じり文, 0xDEADBEEF and 3.14159265.\n".repeat(30));
    let rows: String = (0..120)
        .map(|row| format!("{{\"id\": {row}, \"name\": \"item {row}\", \"price\": {row}.5}}\n"))
        .collect();
    place.file("c.json", rows);
}

fn reading(path: &str) -> crate::support::answer::Answer {
    answer().call("Read", json!({"path": path})).counted()
}

#[tokio::test]
async fn after_the_first_reply_sizes_are_within_three_percent() {
    let place = Workplace::new();
    files(&place);
    let server = FakeServer::start(vec![
        reading("a.rs").into(),
        reading("c.json").into(),
        answer().text("Both were read.").counted().into(),
        reading("b.txt").into(),
        answer().text("That too.").counted().into(),
    ]);
    let mut agent = TestAgent::start(&place, &config(&server, "gpt-5-mini"), false);
    let before = ledger(&mut agent).await;
    assert!((before.error_percent - 15.0).abs() < 0.01, "nothing was reported yet");
    for message in ["read a.rs and c.json", "and b.txt"] {
        agent.turn(message).await;
        let ledger = ledger(&mut agent).await;
        let requests = server.requests();
        let body: Value = serde_json::from_str(&requests[requests.len() - 1].raw).unwrap();
        let real = (tokens::of_request(&body) + 8) as f64;
        let off = (ledger.total_tokens as f64 / real - 1.0).abs() * 100.0;
        assert!(off < 3.0, "{} is {off:.1} % off {real}", ledger.total_tokens);
        assert!(off <= ledger.error_percent, "{off:.1} % off, said ±{:.1} %", ledger.error_percent);
        assert_eq!(ledger.total_tokens, ledger.rows.iter().map(|row| row.tokens).sum::<u64>());
    }
}

#[tokio::test]
async fn a_stored_session_is_counted_exactly() {
    let place = Workplace::new();
    files(&place);
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "b.txt"})).no_usage().into(),
        answer().text("Nothing more.").no_usage().into(),
    ]);
    let mut agent = TestAgent::start(&place, &config(&server, "gpt-5-mini"), false);
    agent.turn("read b.txt").await;
    assert!(ledger(&mut agent).await.error_percent > 10.0, "no tokenizer is loaded while the agent runs");
    let body: Value = serde_json::from_str(&server.requests()[1].raw).unwrap();
    let real = (tokens::of_request(&body) + tokens::count("Nothing more.") + 4) as f64;
    let printed = place.command(&["context", "--json"]).output().unwrap();
    let printed: Value = serde_json::from_str(&stdout(&printed)).unwrap();
    let off = printed["total_tokens"].as_f64().unwrap() / real - 1.0;
    assert!(off.abs() < 0.02, "{} is {:.1} % off {real}", printed["total_tokens"], off * 100.0);
    assert!(printed["error_percent"].as_f64().unwrap() <= 1.0);
}
