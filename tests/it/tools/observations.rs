//! Every tool says what it did with its path, and its facts stay the same when a session is read again.

use std::sync::Arc;

use base::config::settings::Profile;
use base::model::envelope::Status;
use base::model::facts::Touch;
use base::model::item::{Item, ItemId, ToolResult};
use base::model::observation::Observation;
use context::compaction::note;
use context::compaction::thresholds::Thresholds;
use context::history::manager::HistoryManager;
use serde_json::{Value, json};
use tools::registry;

use crate::support::tools::Bench;

/// Per tool: a call, what it did with its path, and its line in the note on folded steps.
fn calls() -> Vec<(&'static str, Value, Option<Touch>, &'static str)> {
    let edit = |old: &str, new: &str| json!({"path": "d/a.rs", "old_string": old, "new_string": new});
    vec![
        ("LS", json!({"path": "d"}), Some(Touch::Listed), "#1 LS d"),
        ("Glob", json!({"pattern": "*.rs", "path": "d"}), Some(Touch::Searched), "#1 Glob *.rs in d"),
        ("Grep", json!({"pattern": "one", "path": "d"}), Some(Touch::Searched), "#1 Grep one in d"),
        ("Read", json!({"path": "d/a.rs"}), Some(Touch::Read), "d/a.rs: read 1-1 #1"),
        ("Edit", edit("fn one_of_all() {}", "fn two_of_all() {}"), Some(Touch::Edited), "d/a.rs: edited #1"),
        (
            "Edit",
            edit("fn one_of_all() {}", "fn two_of_all() {}"),
            Some(Touch::Unchanged),
            "d/a.rs: unchanged #1",
        ),
        (
            "MultiEdit",
            json!({"path": "d/a.rs", "edits": [{"old_string": "two_of_all", "new_string": "three_of_all"}]}),
            Some(Touch::Edited),
            "d/a.rs: edited #1",
        ),
        ("Write", json!({"path": "d/a.rs", "content": "x\n"}), Some(Touch::Written), "d/a.rs: written #1"),
        ("Write", json!({"path": "d/b.rs", "content": "x\n"}), Some(Touch::Created), "d/b.rs: created #1"),
        (
            "Write",
            json!({"path": "d/b.rs", "content": "x\n"}),
            Some(Touch::Unchanged),
            "d/b.rs: unchanged #1",
        ),
        ("Bash", json!({"command": "cat d/b.rs"}), None, "d/b.rs: read 1-1 #1"),
        ("Job", json!({}), None, "#1 Job"),
        ("TodoWrite", json!({"todos": [{"content": "x", "status": "pending"}]}), None, ""),
        (
            "Note",
            json!({"action": "create", "title": "Builds", "content": "They are slow.", "type": "general"}),
            Some(Touch::Noted),
            "#1 Note ",
        ),
        ("Note", json!({"action": "list"}), None, "#1 Note"),
        // Nobody to ask, no index, session or sub-agent here.
        ("AskUser", json!({"questions": [{"question": "a or b?"}]}), None, "#1 AskUser → failed"),
        ("Recall", json!({"id": 1}), None, "#1 Recall → failed"),
        ("Locate", json!({"query": "one"}), None, "#1 Locate → failed"),
        ("Task", json!({"prompt": "look", "type": "explore"}), None, "#1 Task → failed"),
    ]
}

#[tokio::test]
async fn each_tool_says_what_it_did() {
    let bench = Bench::new();
    bench.put("d/a.rs", "fn one_of_all() {}\n");
    for tool in registry::builtin() {
        assert!(calls().iter().any(|(name, ..)| *name == tool.name()), "{} has no call here", tool.name());
    }
    for (tool, args, touch, line) in calls() {
        let envelope = bench.call(tool, args.clone()).await;
        let live = ToolResult::new("c", tool, envelope);
        let said = live.envelope.wire();
        let touched = live.envelope.data.touched().map(|(_, touch)| touch);
        assert_eq!(touched, touch, "{tool} {args}: {said}");
        let stored = serde_json::to_string(&live).unwrap();
        let read: ToolResult = serde_json::from_str(&stored).unwrap();
        assert_eq!((&read, serde_json::to_string(&read).unwrap()), (&live, stored), "{tool} {args}");
        if live.envelope.status != Status::Error {
            assert_ne!(*live.envelope.data.observation, Observation::Other, "{tool} {args}: {said}");
        }
        let mut history = HistoryManager::default();
        history.push(ItemId(1), Arc::new(Item::ToolResult(live)), None);
        let entries: Vec<_> = history.entries().iter().collect();
        let note = note::render(&entries, &Thresholds::of(Profile::Default, 128_000), 1_000);
        // The to-do list is told by the state block.
        assert_eq!(note.contains("\n- "), !line.is_empty(), "{tool} {args}: {note}");
        assert!(note.contains(&format!("\n- {line}")) || line.is_empty(), "{tool} {args}: {note}");
    }
}
