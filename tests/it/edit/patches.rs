//! Patches in the V4A form, as models send them that were trained with `apply_patch`: as a call, as a free-text call, and in a
//! command. Several files, all or nothing, and with the same certainty as an edit.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::answer::{answer, raw};
use crate::support::server::{FakeServer, Recorded};
use crate::support::tools::{Bench, assert_error, assert_ok};
use crate::support::workplace::{Workplace, stderr};

fn patch(body: &str) -> Value {
    json!({"input": format!("*** Begin Patch\n{body}\n*** End Patch\n")})
}

#[tokio::test]
async fn several_files_change_together() {
    let bench = Bench::new();
    bench.put("a.py", "def f():\n    return 1\n");
    bench.put("gone.txt", "x\n");
    let script = bench.put("run.sh", "echo hi\n");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    bench.read("a.py").await;
    bench.read("run.sh").await;
    let body = "*** Update File: a.py\n@@ def f():\n-    return 1\n+    return 2\n*** Add File: sub/b.py\n+x = 1\n*** Delete File: \
                gone.txt\n*** Update File: run.sh\n*** Move to: bin/go.sh\n@@\n-echo hi\n+echo ho";
    let (diff, is_diff) = bench.preview("apply_patch", patch(body)).await;
    assert!(
        is_diff && diff.contains("+    return 2") && diff.contains("-x") && bench.path("gone.txt").exists()
    );
    let done = bench.call("apply_patch", patch(body)).await;
    assert_ok(&done);
    assert_eq!(
        done.text,
        "Edited a.py: 1 replacement (line 2)\nCreated sub/b.py (1 line)\nCreated bin/go.sh (1 line)\nDeleted gone.txt\nDeleted run.sh"
    );
    assert_eq!(bench.text("a.py"), "def f():\n    return 2\n");
    assert_eq!(
        (bench.text("sub/b.py"), bench.text("bin/go.sh")),
        ("x = 1\n".to_owned(), "echo ho\n".to_owned())
    );
    assert_eq!(fs::metadata(bench.path("bin/go.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(bench.names("."), ["a.py", "bin", "sub"]);
    let facts = done.data.to_map();
    assert_eq!(facts["path"], "a.py");
    assert_eq!(facts["others"], json!(["sub/b.py", "bin/go.sh", "gone.txt", "run.sh"]));
}

#[tokio::test]
async fn nothing_is_written_unless_all_fits() {
    let bench = Bench::new();
    bench.put("a.txt", "one\n");
    bench.put("b.txt", "two\ntwo\n");
    let both = "*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n-two\n+2";
    assert_error(
        &bench.call("apply_patch", patch(both)).await,
        "INVALID_PARAM",
        "a.txt has not been read yet",
    );
    bench.read("a.txt").await;
    bench.read("b.txt").await;
    let said = bench.call("apply_patch", patch(both)).await;
    assert_error(&said, "INVALID_PARAM", "b.txt: its lines occur at lines 1, 2");
    assert_error(&bench.call("apply_patch", patch("*** Delete File: c.txt")).await, "NOT_FOUND", "c.txt");
    assert_error(
        &bench.call("apply_patch", json!({"input": "hello"})).await,
        "INVALID_PARAM",
        "*** Begin Patch",
    );
    let twice = "*** Add File: n\n+1\n*** Delete File: n";
    assert_error(&bench.call("apply_patch", patch(twice)).await, "INVALID_PARAM", "names n twice");
    // A file that cannot be written: the ones before it are put back.
    fs::create_dir(bench.path("shut")).unwrap();
    bench.put("shut/c.txt", "three\n");
    bench.read("shut/c.txt").await;
    fs::set_permissions(bench.path("shut/c.txt"), Permissions::from_mode(0o444)).unwrap();
    let late = "*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: new.txt\n+n\n*** Update File: shut/c.txt\n@@\n-three\n+3";
    let said = bench.call("apply_patch", patch(late)).await;
    assert!(
        said.wire().contains("Nothing was changed: what the patch had written before is put back"),
        "{}",
        said.wire()
    );
    assert_eq!((bench.text("a.txt").as_str(), bench.path("new.txt").exists()), ("one\n", false));
    // Outside changes stay conflicts.
    bench.put("a.txt", "one\nmore\n");
    let one = "*** Update File: a.txt\n@@\n-one\n+1";
    assert_error(&bench.call("apply_patch", patch(one)).await, "CONFLICT", "has changed on disk");
}

/// A free-text call, and a command that only applies a patch: what they change is approved, recorded and undone as edits are.
#[test]
fn in_a_session() {
    let place = Workplace::new();
    place.file("a.py", "a = 1\n").file("sub/b.py", "b = 1\n");
    let place = place.repository();
    let item = json!({
        "type": "custom_tool_call", "id": "ctc_1", "call_id": "call_9", "name": "apply_patch", "status": "completed",
        "input": "*** Begin Patch\n*** Update File: a.py\n@@\n-a = 1\n+a = 2\n*** Add File: c.py\n+c = 1\n*** End Patch",
    });
    let done = |item: &Value| {
        let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
        let response = json!({"id": "r", "status": "completed", "output": [item], "usage": usage});
        [
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": response}),
        ]
        .map(|event| format!("data: {event}\n\n"))
        .concat()
    };
    let heredoc = "cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: b.py\n@@\n-b = 1\n+b = 2\n*** End Patch\nEOF\n";
    let in_sub = |old: &str, new: &str| {
        format!("*** Begin Patch\n*** Update File: b.py\n@@\n-b = {old}\n+b = {new}\n*** End Patch")
    };
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "cat a.py sub/b.py"})).into(),
        raw("text/event-stream", &done(&item)),
        answer().call("Bash", json!({"command": heredoc})).into(),
        answer()
            .call("shell", json!({"command": ["apply_patch", in_sub("2", "3")], "workdir": "sub"}))
            .call(
                "exec_command",
                json!({"cmd": format!("apply_patch '{}'", in_sub("3", "4")), "workdir": "sub"}),
            )
            .into(),
        answer().text("Done.").into(),
    ]);
    let url = server.base_url();
    let args = [
        "exec",
        "--provider",
        "responses",
        "--base-url",
        &url,
        "--model",
        "gpt-6.2-sol",
        "--deny",
        "Edit(secret/**)",
        "do it",
    ];
    let output = place.command(&args).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!((place.text("a.py"), place.text("c.py")), ("a = 2\n".to_owned(), "c = 1\n".to_owned()));
    assert_eq!(place.text("sub/b.py"), "b = 4\n");
    let last = &server.requests()[3].body;
    let input = last["input"].as_array().unwrap();
    let call =
        input.iter().find(|item| item["call_id"] == "call_9" && item["type"] == "function_call").unwrap();
    assert!(call["arguments"].as_str().unwrap().contains("*** Update File: a.py"), "{call}");
    assert!(last.to_string().contains("Edited sub/b.py: 1 replacement"), "{last}");
    let undo = place.command(&["rewind", "--to", "1", "--files", "--yes"]).output().unwrap();
    assert!(undo.status.success(), "{}", stderr(&undo));
    assert_eq!((place.text("a.py"), place.text("sub/b.py")), ("a = 1\n".to_owned(), "b = 1\n".to_owned()));
    assert!(!place.project().join("c.py").exists());
}

#[test]
fn rules_hold_for_each_of_its_files() {
    let place = Workplace::new();
    place.file("a.txt", "a\n").file("migrations/1.sql", "x\n");
    let body = "*** Begin Patch\n*** Add File: b.txt\n+b\n*** Delete File: migrations/1.sql\n*** End Patch";
    let server = FakeServer::start(vec![
        answer().call("apply_patch", json!({"input": body})).into(),
        answer().call("Bash", json!({"command": format!("apply_patch <<'EOF'\n{body}\nEOF")})).into(),
        answer().text("I could not.").into(),
    ]);
    let output = place.exec(&server.base_url(), &["--deny", "Edit(migrations/**)", "do it"]);
    assert!(place.project().join("migrations/1.sql").exists() && !place.project().join("b.txt").exists());
    let requests = server.requests();
    let said = &requests[2].raw;
    assert!(said.contains("migrations"), "{said} {}", stderr(&output));
}

#[test]
fn gpt_models_are_offered_the_tool_if_the_user_wants_it() {
    let place = Workplace::new();
    place.file("a.txt", "one\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch";
    let names = |request: &Recorded| request.body["tools"].to_string().contains("apply_patch");
    for (config, model, offered) in [
        ("", "gpt-4o", false),
        ("patch_tool = true\n", "qwen3-coder", false),
        ("patch_tool = true\n", "gpt-4o", true),
    ] {
        std::fs::write(place.home().join("config.toml"), config).unwrap();
        let calls =
            answer().call("Read", json!({"path": "a.txt"})).call("apply_patch", json!({"input": patch}));
        let server = FakeServer::start(vec![calls.into(), answer().text("Done.").into()]);
        place.file("a.txt", "one\n");
        let out = place
            .command(&["exec", "--base-url", &server.base_url(), "--model", model, "go"])
            .output()
            .unwrap();
        assert_eq!(
            (place.text("a.txt").as_str(), names(&server.requests()[0])),
            ("two\n", offered),
            "{}",
            stderr(&out)
        );
    }
}
