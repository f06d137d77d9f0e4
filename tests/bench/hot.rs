//! The functions that run at every step, each beside a baseline that shows what the machine can do at best.

use std::sync::Arc;

use divan::{Bencher, black_box};
use mycode::context::budget::tokens;
use mycode::context::builder;
use mycode::context::compress::redact;
use mycode::context::history::manager::HistoryManager;
use mycode::context::layer::LayerInputs;
use mycode::context::parts::{Part, Parts};
use mycode::model::call::ToolCall;
use mycode::model::envelope::Envelope;
use mycode::model::item::{Item, ItemId, ToolResult, UserMessage};

fn history(items: u64) -> HistoryManager {
    let mut history = HistoryManager::default();
    for n in 0..items {
        let call_id: Arc<str> = format!("c{}", n / 3).into();
        let item = match n % 3 {
            0 => Item::User(UserMessage::new("go on")),
            1 => Item::ToolCall(ToolCall { id: call_id, name: "LS".into(), args: "{}".into() }),
            _ => Item::ToolResult(ToolResult {
                call_id,
                tool: "LS".into(),
                envelope: Envelope::success("").with_body("entries", "src/ lib.rs\n".repeat(40)),
            }),
        };
        history.push(ItemId(n + 1), Arc::new(item), None);
    }
    history
}

#[divan::bench(args = [100, 1_000, 10_000])]
fn context_build(bencher: Bencher, items: u64) {
    let history = history(items);
    let parts = Parts {
        system: Part::new("You are an agent.".into()),
        recap: Some(Part::new("[1/2] In progress: x.".into())),
        ..Parts::default()
    };
    let inputs = LayerInputs { parts: &parts, history: &history };
    bencher.bench(|| builder::build(black_box(&inputs)));
}

fn megabyte() -> String {
    include_str!("hot.rs").chars().cycle().take(1 << 20).collect()
}

#[divan::bench]
fn token_estimate_1mb(bencher: Bencher) {
    let text = megabyte();
    bencher.bench(|| tokens::estimate(black_box(&text)));
}

#[divan::bench]
fn token_estimate_1mb_baseline_char_count(bencher: Bencher) {
    let text = megabyte();
    bencher.bench(|| black_box(&text).chars().count());
}

#[divan::bench]
fn redact_1mb(bencher: Bencher) {
    let text = megabyte();
    bencher.bench(|| redact::redact(black_box(&text)).len());
}
