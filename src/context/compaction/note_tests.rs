//! Tests of `note.rs`.

use std::sync::Arc;

use super::*;
use crate::history::manager::HistoryManager;
use crate::session::record::{Batch, CauseKind};
use base::model::envelope::Envelope;

fn entry(id: u64, tool: &str, envelope: Envelope) -> HistoryEntry {
    HistoryEntry::new(ItemId(id), Arc::new(Item::ToolResult(ToolResult::new("c", tool, envelope))), None, 0)
}

#[test]
fn a_line_tells_the_file_of_a_failed_edit_what_edits_define_and_what_searches_found() {
    let call = |id: u64, tool: &str, args: &str| {
        let call = ToolCall { id: "c".into(), name: tool.into(), args: args.into() };
        HistoryEntry::new(ItemId(id), Arc::new(Item::ToolCall(call)), None, 0)
    };
    let limits = Thresholds::of(base::config::settings::Profile::Default, 32_000);
    let note = |entries: &[HistoryEntry]| render(&entries.iter().collect::<Vec<_>>(), &limits, 1_000);
    let failed = Envelope::error(base::model::envelope::ErrorCode::InvalidParam, "occurs 2 times");
    let edit = [
        call(1, "MultiEdit", r#"{"path":"a.py","edits":[]}"#),
        entry(2, "MultiEdit", failed.clone()),
        call(3, "Bash", r#"{"path":"a.py"}"#),
        entry(4, "Bash", failed),
    ];
    assert!(
        note(&edit).ends_with("Files:\n- a.py: failed #2\nRan:\n- #4 Bash a.py → failed]"),
        "{}",
        note(&edit)
    );
    let diff = "@@ -1,1 +1,4 @@\n+def new():\n+    pass\n+\n def old():\n";
    let added = Envelope::success("").with("path", "a.py").with("applied", true).with("diff", diff);
    let told = note(&[entry(1, "Edit", added)]);
    assert!(told.ends_with("(+3 −0 lines: new)]"), "not the line below a blank one: {told}");
    let diff = "@@ -1,1 +1,4 @@\n+ * function that is called\n+  deprecated(message) {\n+    if (message) {\n+class A extends B {\n+type of x\n";
    let added = Envelope::success("").with("path", "a.js").with("applied", true).with("diff", diff);
    let told = note(&[entry(1, "Edit", added)]);
    assert!(told.ends_with("lines: deprecated, A)]"), "{told}");
    let search = |found: u64| Envelope::success("").with("pattern", "x").with("total_matches", found);
    let told = note(&[entry(1, "Grep", search(0)), entry(2, "Grep", search(3).with("path", "src"))]);
    assert!(told.ends_with("- #1 Grep x → 0 matches\n- #2 Grep x in src → 3 matches]"), "{told}");
    let page = |id: u64, args: &str| {
        [call(id, "WebFetch", args), entry(id + 1, "WebFetch", Envelope::success("page"))]
    };
    let pages = [page(1, r#"{"url":"https://a.org"}"#), page(3, r#"{"url":"https://b.org","depth":2}"#)];
    let told = note(&pages.concat());
    assert!(told.ends_with("- #2 WebFetch https://a.org\n- #4 WebFetch https://b.org 2]"), "{told}");
    let server = |id: u64, tool: &str, answer: Envelope| {
        [call(id, tool, r#"{"path":"a.py"}"#), entry(id + 1, "MoreTools", answer)]
    };
    let boom = Envelope::error(base::model::envelope::ErrorCode::ExecutionError, "boom");
    let told = note(&[server(1, "x.edit", boom), server(3, "x.show", Envelope::success("a"))].concat());
    assert!(told.ends_with("- #2 x.edit a.py → failed\n- #4 x.show a.py]"), "{told}");
    let trace = "error: it broke\n   4: core::panicking::panic\n   at src/error.rs:3:1\n  5: main::fails";
    let panicked = Envelope::success("").with("command", "./a").with("exit_code", 101);
    let told = note(&[entry(1, "Bash", panicked.with_body("output", trace))]);
    assert!(told.ends_with("`./a` → exit 101: error: it broke]"), "{told}");
    let tested = Envelope::success("").with("command", "pytest -q | tail; grep -n a Makefile");
    let check = serde_json::json!({"name": "pytest", "kind": "test", "decides": false});
    let tested = tested.with("exit_code", 0).with("check", check);
    let output = "== 4 passed in 0.1s ==\n12:test:\n    assert error == 0\n14-";
    let told = note(&[entry(1, "Bash", tested.with_body("output", output))]);
    assert!(told.ends_with(" → 4 passed in 0.1s]"), "not the source below it: {told}");
    let ended = |output: &str, code: i64| {
        let ran = Envelope::success("").with("command", "x").with("exit_code", code);
        let check = serde_json::json!({"name": "x", "kind": "test", "decides": false});
        let ran = ran.with("check", check).with_body("output", output);
        note(&[entry(1, "Bash", ran)])
    };
    let note_first =
        "Note: the edit to a.py earlier in this reply failed, so this ran without it.\ncat: b: No such file";
    for (output, code, line) in [
        ("ok 1 - a\n# pass 5\n# fail 0\n# duration_ms 110.7", 0, "# fail 0"),
        ("ℹ pass 5\nℹ fail 2\nℹ duration_ms 1", 0, "ℹ fail 2"),
        ("..\nRan 2 tests in 0.1s\n\nOK (skipped=1)\nbye", 0, "OK (skipped=1)"),
        ("FAILED (failures=1)\nsee log", 0, "FAILED (failures=1)"),
        ("[INFO] Tests run: 5, Failures: 0\n[INFO] Finished at: noon", 0, "[INFO] Tests run: 5, Failures: 0"),
        (note_first, 3, "cat: b: No such file"),
    ] {
        let told = ended(output, code);
        assert!(told.ends_with(&format!(" {line}]")), "{told}");
    }
    let script =
        "cat > /tmp/fix.py <<'PY'\nimport os\nPY\npython /tmp/fix.py; cat <<A <<-B\na\nA\nb\n\tB\nls";
    let ran = Envelope::success("").with("command", script).with("exit_code", 0);
    let check = serde_json::json!({"name": "python /tmp/fix.py", "kind": "run", "decides": false});
    let ran = ran.with("check", check).with_body("output", "it._instance = error.instance\n{'a': 1}");
    let told = note(&[entry(1, "Bash", ran)]);
    let only_commands = "`cat > /tmp/fix.py <<'PY' python /tmp/fix.py; cat <<A <<-B ls` → {'a': 1}]";
    assert!(told.ends_with(only_commands), "{told}");
}

#[test]
fn what_commands_changed_and_the_folder_they_ended_in_are_told() {
    let limits = Thresholds::of(base::config::settings::Profile::Default, 32_000);
    let note = |entries: &[HistoryEntry]| render(&entries.iter().collect::<Vec<_>>(), &limits, 1_000);
    let view = Envelope::success("").with("path", "a.rs").with("start_line", 1).with("end_line", 9);
    let read = entry(1, "Read", view.with_body("content", "text"));
    let moves = |folder: &str| {
        let ran = Envelope::success("").with("command", "cd b; sed -i …").with("cwd", folder);
        entry(2, "Bash", ran.with("changed", serde_json::json!(["a.rs", "b/c.rs"])))
    };
    let told = note(&[read.clone(), moves("b")]);
    let files = "Files:\n- a.rs: changed by command #2\n- b/c.rs: changed by command #2\n";
    assert!(told.contains(files), "{told}");
    assert!(told.ends_with("- Afterwards the current folder was b]"), "{told}");
    assert!(!note(&[moves(".")]).contains("folder was"));
    let seen = views([(&read, true, None), (&moves("."), false, None)].into_iter()).unwrap_or_default();
    assert!(seen.ends_with("a.rs 1-9 (as it was before later edits)"), "{seen}");
}

#[test]
fn a_view_that_an_earlier_fold_updated_is_current_until_the_next_edit_leaves() {
    let item =
        |tool: &str, envelope: Envelope| Arc::new(Item::ToolResult(ToolResult::new("c", tool, envelope)));
    let edit = || item("Edit", Envelope::success("").with("path", "a.rs").with("applied", true));
    let view = Envelope::success("").with("path", "a.rs").with("start_line", 1).with("end_line", 2);
    let mut history = HistoryManager::default();
    history.push(ItemId(1), item("Read", view.with_body("content", "1\told\n2\tend")), None);
    history.push(ItemId(2), edit(), None);
    let text = "1\tnew\n2\tmore\n3\tend\n[lines 1-3 of a.rs with your edits since]";
    let cause = || CauseKind::SoftCap;
    history.adopt(&Batch::with_texts(vec![(ItemId(1), Arc::from(text))], FormName::Filtered, cause()));
    history.adopt(&Batch::plain(vec![ItemId(2)], FormName::Gone, cause()));
    let seen = |history: &HistoryManager| {
        views(history.entries().iter().map(|entry| (entry, entry.id == ItemId(1), None)))
    };
    let current = "\nIn view at this point:\n- a.rs 1-3 (with your edits)";
    assert_eq!(seen(&history).as_deref(), Some(current));
    history.push(ItemId(3), edit(), None);
    let old = "\nIn view at this point:\n- a.rs 1-3 (as it was before later edits)";
    assert_eq!(seen(&history).as_deref(), Some(old));
}

#[test]
fn a_view_from_before_an_edit_says_so_also_when_the_edit_is_folded() {
    let view = Envelope::success("").with("path", "a.rs").with("start_line", 1).with("end_line", 9);
    let read = |id| entry(id, "Read", view.clone().with_body("content", "text"));
    let edit = |id| entry(id, "Edit", Envelope::success("").with("path", "a.rs").with("applied", true));
    let note = |entries: &[(HistoryEntry, bool)]| {
        views(entries.iter().map(|(entry, kept)| (entry, *kept, None))).unwrap_or_default()
    };
    let before = note(&[(read(1), true), (edit(2), false)]);
    assert_eq!(before, "\nIn view at this point:\n- a.rs 1-9 (as it was before later edits)");
    let after = note(&[(edit(1), false), (read(2), true), (read(3), false)]);
    assert_eq!(after, "\nIn view at this point:\n- a.rs 1-9");
    let page = |id, from: u64, to: u64| {
        let view = Envelope::success("").with("path", "a.rs").with("start_line", from);
        (entry(id, "Read", view.with("end_line", to).with_body("content", "text")), true)
    };
    let pages = [page(1, 40, 60), page(2, 100, 120), page(3, 1, 39)];
    let (before, after) = (page(5, 200, 220), page(6, 61, 70));
    let all = [&pages[..], &[(edit(4), true), before, after]].concat();
    assert_eq!(
        note(&all),
        "\nIn view at this point:\n- a.rs 61-70, 200-220; 1-60, 100-120 (as it was before later edits)"
    );
}
