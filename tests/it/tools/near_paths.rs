//! Paths that are nearly right.

use serde_json::json;

use crate::support::tools::{Bench, assert_error, assert_ok};

#[tokio::test]
async fn reading_tools_follow_one_clear_winner_and_say_so() {
    let bench = Bench::new();
    bench.put("server/app/main.py", "print('hello')\n");
    bench.put("server/app/util.py", "x = 1\n");
    bench.put("client/util.py", "y = 1\n");
    let read = bench.call("Read", json!({"path": "app/main.py"})).await;
    assert_eq!(read.data.to_map()["path"], "server/app/main.py");
    assert!(read.text.starts_with("app/main.py does not exist; this is server/app/main.py"), "{}", read.text);
    let listed = bench.call("LS", json!({"path": "Server/App"})).await;
    assert!(listed.text.contains("this is server/app"), "{listed:?}");
    let found = bench.call("Grep", json!({"pattern": "hello", "path": "App/main.py"})).await;
    assert!(found.text.contains("this is server/app/main.py"), "{}", found.text);
    let named = bench.call("Read", json!({"path": "main.py"})).await;
    assert!(named.text.contains("main.py does not exist; this is server/app/main.py"), "{}", named.text);
    bench.put("many.txt", (1..=200).map(|n| format!("{n}\n")).collect::<String>());
    let range = bench.call("Read", json!({"path": "many.txt:120-124"})).await;
    assert!(range.text.contains("this is many.txt; lines 120-124 of 200"), "{}", range.text);
    // An edit names what it edited.
    let edit = bench.edit("main.py", "hello", "bye", false).await;
    assert!(edit.text.starts_with("Edited server/app/main.py"), "{}", edit.text);
    // Two that fit, another folder, and a new file: no guess.
    for path in ["util.py", "x/util.py", "other/main.py"] {
        let read = bench.call("Read", json!({"path": path})).await;
        assert_error(&read, "NOT_FOUND", "did you mean");
    }
    assert_error(&bench.edit("util.py", "x", "z", false).await, "NOT_FOUND", "did you mean");
    assert_ok(&bench.call("Write", json!({"path": "main.py", "content": "new\n"})).await);
    assert_eq!(bench.text("main.py"), "new\n");
    // A path of another machine.
    for path in ["/workspace/server/app/main.py", "/home/ci/server/app/main.py"] {
        let foreign = bench.call("Read", json!({"path": path})).await;
        assert!(foreign.wire().contains("does not exist; this is server/app/main.py"), "{}", foreign.wire());
    }
    // A folder that this machine has may be meant.
    let below_temp = bench.call("Read", json!({"path": "/tmp/server/app/main.py"})).await;
    assert_error(&below_temp, "NOT_FOUND", "in this workspace it is server/app/main.py");
}

#[tokio::test]
async fn a_file_that_is_nearly_there_already_is_named() {
    let bench = Bench::new();
    bench.put("auth/handlers.py", "x = 1\n");
    bench.put("ci/README.md", "x\n");
    bench.put("ci/build.yml", "x: 1\n");
    for (path, near) in [
        ("ci/Readme.md", Some("ci/README.md")),
        ("ci/build.yaml", Some("ci/build.yml")),
        ("ci/build.py", None),
        ("auth/handler.py", Some("auth/handlers.py")),
        ("auths/handlers.py", Some("auth/handlers.py")),
        ("author/handlers.py", None),
        ("auth/views.py", None),
    ] {
        let written = bench.call("Write", json!({"path": path, "content": "new\n"})).await;
        let said = near.map(|near| format!("; a similar `{near}` is there")).unwrap_or_default();
        assert_eq!(written.text, format!("Created {path} (1 line){said}"));
    }
}
