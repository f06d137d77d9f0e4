//! The functions that run at every step, each beside a baseline that shows what the machine can do at best.

use std::sync::Arc;

use base::config::settings::{ContextSettings, Origin};
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::model::item::{Item, ItemId, ToolResult, UserMessage};
use base::model::usage::Usage;
use base::protocol::event::{EndReason, TurnEnd};
use context::builder::ContextBuilder;
use context::compaction::policy::{self, PolicyInputs};
use context::compaction::thresholds::Thresholds;
use context::history::manager::HistoryManager;
use context::layers::LayerInputs;
use context::parts::{FixedPart, FixedParts};
use context::session::list;
use context::session::log::SessionLog;
use context::session::record::{ItemRecord, Record};
use context::tokens::estimate;
use divan::{Bencher, black_box};
use guard::redact::detector;

fn history(items: u64) -> HistoryManager {
    let mut history = HistoryManager::default();
    for n in 0..items {
        let call_id: Arc<str> = format!("c{}", n / 3).into();
        let item = match n % 3 {
            0 => Item::User(UserMessage::new("go on")),
            1 => Item::ToolCall(ToolCall { id: call_id, name: "LS".into(), args: "{}".into() }),
            _ => {
                let envelope = Envelope::success("").with_body("entries", "src/ lib.rs\n".repeat(40));
                Item::ToolResult(ToolResult::new(call_id, "LS", envelope))
            }
        };
        history.push(ItemId(n + 1), Arc::new(item), None);
    }
    history
}

#[divan::bench(args = [100, 1_000, 10_000])]
fn context_build(bencher: Bencher, items: u64) {
    let history = history(items);
    let parts = FixedParts { system: FixedPart::new("You are an agent.".into()), ..FixedParts::default() };
    let inputs = LayerInputs { parts: &parts, history: &history };
    bencher.bench(|| ContextBuilder::build(black_box(&inputs)));
}

/// What happens before each request of a long session: the policy's decision and the request itself.
#[divan::bench(args = [1_000, 10_000])]
fn context_step(bencher: Bencher, items: u64) {
    let mut history = HistoryManager::default();
    for n in 0..items / 2 {
        let call_id: Arc<str> = format!("c{n}").into();
        let path = format!("src/part_{}.rs", n % 40);
        let args = format!("{{\"path\":\"{path}\",\"start_line\":{}}}", n * 7 % 900);
        let call = ToolCall { id: Arc::clone(&call_id), name: "Read".into(), args: args.into() };
        let body: String = (0..20).map(|line| format!("{line}\tlet name_{n} = value_{line};\n")).collect();
        let envelope = Envelope::success("")
            .with("path", path.as_str())
            .with("start_line", n * 7 % 900)
            .with("end_line", n * 7 % 900 + 20)
            .with_body("content", body);
        if n == 0 {
            history.push(ItemId(1), Arc::new(Item::User(UserMessage::new("go on"))), None);
        }
        history.push(ItemId(2 * n + 2), Arc::new(Item::ToolCall(call)), None);
        let result = ToolResult::new(call_id, "Read", envelope);
        history.push(ItemId(2 * n + 3), Arc::new(Item::ToolResult(result)), None);
        history.count_request();
        let settings = ContextSettings::for_window(128_000, Origin::User);
        let situation = PolicyInputs {
            settings: &settings,
            limits: Thresholds::of(settings.profile, settings.window_tokens),
            cold: false,
            turn_start: false,
            fixed_tokens: 2_000,
            scale: 1.0,
        };
        for batch in policy::before_request(&history, &situation) {
            history.adopt(&batch);
        }
    }
    let settings = ContextSettings::for_window(128_000, Origin::User);
    let parts = FixedParts { system: FixedPart::new("You are an agent.".into()), ..FixedParts::default() };
    bencher.bench(|| {
        let situation = PolicyInputs {
            settings: &settings,
            limits: Thresholds::of(settings.profile, settings.window_tokens),
            cold: false,
            turn_start: false,
            fixed_tokens: 2_000,
            scale: 1.0,
        };
        let batches = policy::before_request(black_box(&history), &situation);
        let inputs = LayerInputs { parts: &parts, history: &history };
        (batches, history.upper_bound(), ContextBuilder::build(&inputs))
    });
}

fn megabyte() -> String {
    include_str!("hot.rs").chars().cycle().take(1 << 20).collect()
}

#[divan::bench]
fn token_estimate_1mb(bencher: Bencher) {
    let text = megabyte();
    bencher.bench(|| estimate::estimate(black_box(&text)));
}

#[divan::bench]
fn token_estimate_1mb_baseline_char_count(bencher: Bencher) {
    let text = megabyte();
    bencher.bench(|| black_box(&text).chars().count());
}

#[divan::bench]
fn redact_1mb(bencher: Bencher) {
    let text = megabyte();
    bencher.bench(|| detector::redact(black_box(&text)).len());
}

/// Stored sessions with a first message of 100 kB each.
fn stored_sessions(count: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let item = Arc::new(Item::User(UserMessage::new(&"word ".repeat(20_000))));
    let end = TurnEnd {
        reason: EndReason::Done,
        steps: 1,
        denied: 0,
        usage: Usage::default(),
        elapsed_ms: 1,
        ..TurnEnd::default()
    };
    for n in 0..count {
        let mut log = SessionLog::create(dir.path(), &format!("s{n:05}"), dir.path(), |_| ()).unwrap();
        let record = ItemRecord { id: ItemId(1), ms: 1, tokens: 1, item: Arc::clone(&item) };
        log.append(&Record::Item(record)).unwrap();
        log.append(&Record::TurnEnd { ms: 1, end: end.clone(), turn: 1, cost_usd: None }).unwrap();
    }
    dir
}

#[divan::bench]
fn list_1000_sessions(bencher: Bencher) {
    let dir = stored_sessions(1_000);
    bencher.bench(|| list::list(black_box(dir.path())).len());
}

#[divan::bench]
fn list_1000_sessions_baseline_file_times(bencher: Bencher) {
    let dir = stored_sessions(1_000);
    let folder = dir.path().join("sessions");
    bencher.bench(|| {
        std::fs::read_dir(black_box(&folder)).unwrap().flatten().filter_map(|e| e.metadata().ok()).count()
    });
}
