//! Rewinds, revivals, archives and pins in any order: what the agent holds is always the conversation that a user would
//! say it is, whole and in order, and so is what a resumed session holds.

use std::sync::Arc;

use agent::session::conversation::Conversation;
use agent::session::recall::LogOriginals;
use agent::session::reopen;
use base::config::settings::{ContextSettings, Origin, Profile};
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::model::item::{Item, ItemId, ToolResult, UserMessage};
use base::model::observation::{Todo, TodoStatus};
use context::compaction::policy::{self, PolicyInputs};
use context::compaction::thresholds::Thresholds;
use context::compress::tool_result::ToolResultCompressor;
use context::replay::item_history;
use context::session::reader;
use context::session::record::{Batch, CauseKind, FormName};
use context::summary::compressor;
use proptest::prelude::*;
use serde_json::json;
use tools::ports::Originals;

#[derive(Clone, Debug)]
enum Step {
    Ask,
    Work,
    Todos,
    Archive(usize),
    Unarchive,
    Pin(usize),
    Rewind(usize),
    Revive(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Ask),
        3 => Just(Step::Work),
        1 => Just(Step::Todos),
        2 => (0usize..9).prop_map(Step::Archive),
        2 => Just(Step::Unarchive),
        2 => (0usize..20).prop_map(Step::Pin),
        2 => (0usize..9).prop_map(Step::Rewind),
        3 => (0usize..9).prop_map(Step::Revive),
    ]
}

fn tool(conversation: &mut Conversation, name: &str, envelope: Envelope) -> [ItemId; 2] {
    let id = conversation.unique_call_id(&"".into(), &[]);
    let call = ToolCall { id: Arc::clone(&id), name: name.into(), args: "{}".into() };
    let call = conversation.record(Item::ToolCall(call)).unwrap().0;
    let result = ToolResult::new(id, name, envelope);
    [call, conversation.record(Item::ToolResult(result)).unwrap().0]
}

/// Every item that counts, in order: those in view, and those that an archive can still give back.
fn whole(conversation: &Conversation) -> Vec<ItemId> {
    let mut history = conversation.state.history.clone();
    while history.unarchive_growth().is_some() {
        history.unarchive();
    }
    history.entries().iter().map(|entry| entry.id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_counts_is_what_a_person_would_say(steps in proptest::collection::vec(step(), 4..60)) {
        let folder = tempfile::tempdir().unwrap();
        let mut conversation = Conversation::new(folder.path(), folder.path());
        // What should count; and that before each rewind or revival.
        let mut counts = vec![conversation.record(Item::User(UserMessage::new("begin"))).unwrap().0];
        let mut before: Vec<Vec<ItemId>> = Vec::new();
        let mut lists: Vec<(ItemId, u64)> = Vec::new();
        let mut archives = 0;
        for step in steps {
            let entries = conversation.state.history.entries();
            let rounds: Vec<ItemId> =
                entries.iter().filter(|entry| entry.item.begins_round()).map(|entry| entry.id).collect();
            match step {
                Step::Ask => counts.push(conversation.record(Item::User(UserMessage::new("more"))).unwrap().0),
                Step::Work => counts.extend(tool(&mut conversation, "Bash", Envelope::success("done"))),
                Step::Todos => {
                    let number = conversation.last_item().0;
                    let ids = tool(&mut conversation, "TodoWrite", Envelope::success("").with("todos", json!([{"content": number.to_string(), "status": "pending"}])));
                    lists.push((ids[1], number));
                    counts.extend(ids);
                }
                Step::Archive(at) => {
                    // More than can be taken back would only hide from this test what still counts.
                    if archives < 3 && let Some(cut) = rounds.iter().filter(|id| conversation.state.history.reaches(**id)).nth(at).copied() {
                        let summary = compressor::facts_only(&conversation.state.history.entries()[..1], None, 128_000);
                        conversation.archive(cut, summary, CauseKind::Compaction).unwrap();
                        archives += 1;
                    }
                }
                Step::Unarchive => {
                    archives -= usize::from(conversation.state.history.unarchive_growth().is_some());
                    conversation.unarchive().unwrap();
                }
                Step::Pin(at) => {
                    if let Some(id) = entries.get(at).map(|entry| entry.id) {
                        conversation.pin(&[id], true).unwrap();
                    }
                }
                Step::Rewind(at) => {
                    if let Some(to) = rounds.get(at).copied().filter(|to| conversation.state.history.reaches(*to)) {
                        before.push(counts.clone());
                        counts.retain(|id| *id < to);
                        conversation.rewind(to).unwrap();
                    }
                }
                Step::Revive(at) => {
                    if at < before.len() && conversation.state.history.can_revive(at as u32) {
                        before.push(counts.clone());
                        counts = before[at].clone();
                        conversation.revive(at as u32).unwrap();
                    }
                }
            }
            prop_assert_eq!(whole(&conversation), counts.clone());
            let todos = lists.iter().rev().find(|(id, _)| counts.contains(id)).map(|(_, list)| vec![Todo { content: list.to_string(), status: TodoStatus::Pending }]);
            prop_assert_eq!(conversation.facts.todos(), todos);
        }
        let seen = |conversation: &Conversation| {
            let entries = conversation.state.history.entries();
            entries.iter().map(|entry| (entry.id, entry.text().to_string(), entry.pinned)).collect::<Vec<_>>()
        };
        let (live, todos, path) = (seen(&conversation), conversation.facts.todos(), conversation.log_path());
        drop(conversation);
        let restored = reopen::restore(folder.path(), folder.path(), &path).unwrap();
        prop_assert_eq!(seen(&restored.conversation), live);
        prop_assert_eq!(restored.conversation.facts.todos(), todos);
    }
}

#[test]
fn a_search_finds_what_was_revived_and_not_what_came_instead() {
    let folder = tempfile::tempdir().unwrap();
    let mut conversation = Conversation::new(folder.path(), folder.path());
    let say = |conversation: &mut Conversation, text: &str| {
        conversation.record(Item::User(UserMessage::new(text))).unwrap().0
    };
    say(&mut conversation, "begin");
    let first = say(&mut conversation, "a limiter in buckets");
    conversation.rewind(first).unwrap();
    let second = say(&mut conversation, "a limiter in windows");
    let originals = LogOriginals::default();
    originals.follow(conversation.log_path());
    let found = || originals.search("limiter", 5).iter().map(|hit| hit.id).collect::<Vec<_>>();
    assert_eq!(found(), [second]);
    conversation.revive(0).unwrap();
    assert_eq!(found(), [first]);
    conversation.revive(1).unwrap();
    assert_eq!(found(), [second]);
}

#[test]
fn the_story_of_an_item_tells_that_it_came_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut conversation = Conversation::new(folder.path(), folder.path());
    conversation.record(Item::User(UserMessage::new("begin"))).unwrap();
    let id = conversation.record(Item::User(UserMessage::new("a limiter"))).unwrap().0;
    conversation.rewind(id).unwrap();
    conversation.revive(0).unwrap();
    let next = conversation.record(Item::User(UserMessage::new("next"))).unwrap().0;
    conversation.archive(next, compressor::facts_only(&[], None, 128_000), CauseKind::Compaction).unwrap();
    conversation.unarchive().unwrap();
    let records = reader::read(&conversation.log_path()).unwrap().records;
    let story = item_history::explain(&records, &id.to_string()).unwrap();
    let told: Vec<String> =
        story.events.iter().map(|action| format!("{} ({})", action.what, action.cause)).collect();
    assert_eq!(
        told,
        [
            "removed (rewind)",
            "back in its place (rewind undone)",
            "archived: part of a summary (compaction)",
            "back in its place (compaction undone)",
        ]
    );
    assert_ne!(story.form, "not sent");
}

#[test]
fn a_shortened_result_that_comes_again_is_a_reference() {
    let folder = tempfile::tempdir().unwrap();
    let mut conversation = Conversation::new(folder.path(), folder.path());
    conversation.record(Item::User(UserMessage::new("begin"))).unwrap();
    let limits = Thresholds::of(Profile::Default, 128_000);
    let lines: String = (1..6_000).map(|line| format!("line {line} of a long output\n")).collect();
    let mut shorten = || {
        let [_, id] =
            tool(&mut conversation, "Bash", Envelope::success("").with_body("output", lines.clone()));
        let batch = ToolResultCompressor::on_arrival(&conversation.state.history, &limits).unwrap();
        conversation.adopt(&batch).unwrap();
        (id, conversation.state.history.entry(id).unwrap().text().to_owned())
    };
    let (first, shown) = shorten();
    assert!(shown.contains("line 1 of") && shown.len() < lines.len() / 2, "{shown}");
    assert_eq!(shorten().1, format!("[the same output as {first}]"));
    assert_eq!(shorten().1, format!("[the same output as {first}]"), "not as a reference");
}

#[test]
fn a_pointer_whose_target_left_the_view_says_how_to_get_at_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let mut conversation = Conversation::new(folder.path(), folder.path());
    conversation.record(Item::User(UserMessage::new("begin"))).unwrap();
    let limits = Thresholds::of(Profile::Default, 128_000);
    let output = || Envelope::success("").with_body("output", "a line that is worth a pointer\n".repeat(20));
    let [_, first] = tool(&mut conversation, "Bash", output());
    let [_, second] = tool(&mut conversation, "Bash", output());
    let batch = ToolResultCompressor::on_arrival(&conversation.state.history, &limits).unwrap();
    conversation.adopt(&batch).unwrap();
    let settings = ContextSettings::for_window(128_000, Origin::User);
    let situation = PolicyInputs {
        settings: &settings,
        limits,
        cold: false,
        turn_start: false,
        fixed_tokens: 0,
        scale: 1.0,
    };
    assert!(
        conversation
            .state
            .history
            .entry(second)
            .unwrap()
            .text()
            .contains(&format!("the same output as {first}"))
    );
    assert!(policy::before_request(&conversation.state.history, &situation).is_empty());
    conversation.adopt(&Batch::plain(vec![first], FormName::Pointer, CauseKind::Drop)).unwrap();
    for batch in policy::before_request(&conversation.state.history, &situation) {
        conversation.adopt(&batch).unwrap();
    }
    let told = conversation.state.history.entry(second).unwrap().text().to_owned();
    assert!(told.contains(&format!("Recall {{\"id\":{}}}", second.0)), "{told}");
    assert!(policy::before_request(&conversation.state.history, &situation).is_empty());
}
