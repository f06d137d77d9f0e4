//! The context policy under random sessions: calls stay paired, old bytes change only where a batch was adopted, and what
//! was adopted can be rebuilt from what would have been logged.

use std::sync::Arc;

use base::config::settings::{ContextSettings, Origin, Profile};
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::model::item::{Item, ItemId, ToolResult, UserMessage};
use base::model::request::Message;
use context::compaction::policy::{self, PolicyInputs};
use context::compaction::thresholds::Thresholds;
use context::compress::tool_result::ToolResultCompressor;
use context::history::manager::HistoryManager;
use context::history::normalize;
use context::session::record::Batch;
use proptest::prelude::*;

/// What happens next in a session.
#[derive(Clone, Debug)]
enum Op {
    User,
    Say(usize),
    /// The calls of one reply: tool, lines and path of each.
    Run(Vec<(usize, usize, usize)>),
    Pause,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1 => Just(Op::User),
        2 => (1usize..60).prop_map(Op::Say),
        6 => proptest::collection::vec((0usize..4, 0usize..400, 0usize..5), 1..5).prop_map(Op::Run),
        1 => Just(Op::Pause),
    ]
}

/// A history, and what the log would hold of it.
struct Session {
    history: HistoryManager,
    log: Vec<Entry>,
    next: u64,
}

enum Entry {
    Item(ItemId, Arc<Item>),
    Batch(Batch),
    Request,
}

impl Session {
    fn push(&mut self, item: Item) {
        let (id, item) = (ItemId(self.next), Arc::new(item));
        self.next += 1;
        self.history.push(id, Arc::clone(&item), None);
        self.log.push(Entry::Item(id, item));
    }

    fn adopt(&mut self, batch: Batch) {
        self.history.adopt(&batch);
        self.log.push(Entry::Batch(batch));
    }

    fn messages(&self) -> Vec<Message> {
        self.history.entries().iter().filter_map(|entry| entry.message().cloned()).collect()
    }
}

fn result(call: &str, tool: usize, lines: usize, path: usize) -> ToolResult {
    let name = ["Read", "Bash", "Edit", "Grep"][tool];
    let body: String = (0..lines).map(|n| format!("{n}\tlet name_{path}_{} = value_{n};\n", n % 7)).collect();
    let envelope =
        Envelope::success("").with_body("content", body).with("path", format!("src/file_{path}.rs"));
    ToolResult::new(call, name, envelope)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn paired_stable_and_rebuilt(ops in proptest::collection::vec(op(), 1..90), small in any::<bool>()) {
        let settings = ContextSettings {
            profile: Profile::Eco,
            ..ContextSettings::for_window(if small { 16_000 } else { 128_000 }, Origin::User)
        };
        let mut session = Session { history: HistoryManager::default(), log: Vec::new(), next: 1 };
        let limits = Thresholds::of(settings.profile, settings.window_tokens);
        session.push(Item::User(UserMessage::new("begin")));
        let mut before: Vec<Message> = Vec::new();
        for op in ops {
            let mut cold = false;
            match op {
                Op::User => {
                    session.history.end_turn();
                    session.push(Item::User(UserMessage::new("please go on with name_1_3")));
                }
                Op::Say(words) => session.push(Item::assistant("some words ".repeat(words))),
                Op::Run(calls) => {
                    let first = session.next;
                    let id = |number: usize| format!("c{first}_{number}");
                    for (number, (_, _, path)) in calls.iter().enumerate() {
                        let args = format!("{{\"path\":\"src/file_{path}.rs\"}}");
                        let call = ToolCall { id: id(number).into(), name: "x".into(), args: args.into() };
                        session.push(Item::ToolCall(call));
                    }
                    // Parallel calls may be answered in another order.
                    for (number, (tool, lines, path)) in calls.into_iter().enumerate().rev() {
                        session.push(Item::ToolResult(result(&id(number), tool, lines, path)));
                        let batch = ToolResultCompressor::on_arrival(&session.history, &limits);
                        batch.into_iter().for_each(|batch| session.adopt(batch));
                    }
                }
                Op::Pause => cold = true,
            }
            let situation = PolicyInputs { settings: &settings, limits, cold, turn_start: false, fixed_tokens: 2_000, scale: 1.0 };
            let batches = policy::before_request(&session.history, &situation);
            let rewritten = !batches.is_empty();
            batches.into_iter().for_each(|batch| session.adopt(batch));
            let messages = session.messages();
            prop_assert_eq!(&normalize::normalize(messages.clone()), &messages, "calls and results are paired");
            if !rewritten {
                prop_assert!(messages.starts_with(&before), "the prefix broke without a batch");
            }
            let sum: u64 = session.history.entries().iter().map(|entry| u64::from(entry.tokens())).sum();
            prop_assert_eq!(sum, session.history.tokens());
            before = messages;
            session.history.count_request();
            session.log.push(Entry::Request);
        }
        let users = session.history.entries().iter().filter(|entry| matches!(&*entry.item, Item::User(_)));
        prop_assert!(users.clone().all(|entry| entry.message().is_some()), "what the user said is always sent");
        let mut again = HistoryManager::default();
        for entry in &session.log {
            match entry {
                Entry::Item(id, item) => {
                    again.push(*id, Arc::clone(item), None);
                }
                Entry::Batch(batch) => {
                    again.adopt(batch);
                }
                Entry::Request => again.count_request(),
            }
        }
        let rebuilt: Vec<Message> = again.entries().iter().filter_map(|entry| entry.message().cloned()).collect();
        prop_assert_eq!(rebuilt, before);
    }
}
