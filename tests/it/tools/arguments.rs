//! Arguments as models of other agents send them: other names, other types, keys that mean nothing here.

use serde_json::{Value, json};

use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;

fn project() -> Bench {
    let bench = Bench::new();
    bench.put("a.rs", (1..=30).map(|n| format!("line {n}\n")).collect::<String>());
    bench.put("src/b.py", "Needle = 1\nneedle = 2\n");
    bench
}

#[tokio::test]
async fn read_names() {
    let bench = project();
    for args in [
        json!({"file_path": "a.rs", "offset": 3, "limit": 2}),
        json!({"filePath": "a.rs", "startLine": "3", "limit": 2.0}),
        json!({"path": "a.rs", "view_range": [3, 4]}),
        json!({"path": "a.rs", "view_range": "3 4"}),
        json!({"path": "a.rs", "view_range": "[3, 4]"}),
        json!({"path": "a.rs", "line_range": "3-4"}),
        json!({"target_file": "a.rs", "start_line_one_indexed": 3, "end_line_one_indexed_inclusive": 4}),
        json!({"filename": "a.rs", "start": 3, "end": 4, "limit": null}),
        json!({"path": "a.rs", "start_line": 3, "end_line": 4, "limit": "None"}),
        json!({"file": ["a.rs"], "start_line": "3.0", "num_lines": "2"}),
    ] {
        let page = bench.call("Read", args.clone()).await;
        assert_eq!(
            page.wire(),
            "3\tline 3\n4\tline 4\n[lines 3-4 of 30; continue with start_line=5]",
            "{args}"
        );
    }
    let rest = bench.call("Read", json!({"path": "a.rs", "view_range": [28, -1]})).await;
    assert!(rest.body.starts_with("28\t") && rest.body.ends_with("30\tline 30"), "{}", rest.wire());
    let back = bench.call("Read", json!({"path": "a.rs", "view_range": [9, 3]})).await;
    assert_error(&back, "INVALID_PARAM", "the last line 3 is before the first line 9");
    let whole =
        json!({"target_file": "a.rs", "should_read_entire_file": true, "start_line": 20, "explanation": "x"});
    assert!(bench.call("Read", whole).await.wire().ends_with("30\tline 30"));
    let minus = bench.call("Read", json!({"path": "a.rs", "limit": -1})).await;
    assert!(minus.wire().ends_with("30\tline 30\n[ignored: limit=-1]"), "{}", minus.wire());
}

#[tokio::test]
async fn edit_names() {
    let bench = project();
    bench.read("a.rs").await;
    for (args, want) in [
        (json!({"path": "a.rs", "old_str": "line 1\n", "new_str": "one\n"}), "one\n"),
        (json!({"path": "a.rs", "oldText": "line 2\n", "newText": "two\n"}), "two\n"),
        (json!({"filePath": "a.rs", "oldString": "line 3\n", "newString": "three\n"}), "three\n"),
        (json!({"file": "a.rs", "search": "line 4\n", "replace": "four\n", "replaceAll": "false"}), "four\n"),
        (json!({"path": "a.rs", "edits": [{"oldText": "line 5\n", "newText": "five\n"}]}), "five\n"),
        (
            json!({"path": "a.rs", "edits": "[{\"old_str\": \"line 6\\n\", \"new_str\": \"six\\n\"}]"}),
            "six\n",
        ),
        (
            json!({"path": "a.rs", "old_string": "line 7\n", "new_string": "", "replace_all": null}),
            "six\nline 8\n",
        ),
        (
            json!({"path": "a.rs", "old_string": "line", "new_string": "row", "replace_all": "true"}),
            "row 30\n",
        ),
    ] {
        assert_ok(&bench.call("Edit", args.clone()).await);
        assert!(bench.text("a.rs").contains(want), "{args}: {}", bench.text("a.rs"));
    }
    let one = json!({"file_path": "a.rs", "old_str": "row 9", "new_str": "row nine", "strict": true});
    assert!(bench.call("MultiEdit", one).await.wire().ends_with("(line 8); ignored: strict"));
    let both = json!({"path": "a.rs", "old_string": "row nine", "old_str": "row 10", "new_string": "x"});
    assert!(bench.call("Edit", both).await.wire().ends_with("; ignored: old_str"), "ours comes first");
}

#[tokio::test]
async fn missing_new_text_never_deletes() {
    let bench = project();
    bench.read("a.rs").await;
    let before = bench.text("a.rs");
    for args in [
        json!({"path": "a.rs", "old_string": "line 1"}),
        json!({"path": "a.rs", "old_str": "line 1", "new_string": null}),
        json!({"path": "a.rs", "old_string": "line 1", "insert": "x"}),
        json!({"path": "a.rs", "edits": [{"old_string": "line 1"}]}),
    ] {
        let refused = bench.call("Edit", args).await;
        assert_error(
            &refused,
            "INVALID_PARAM",
            "new_string is missing; to delete old_string, send an empty new_string",
        );
    }
    let second = json!([{"old_string": "line 1", "new_string": "x"}, {"old_string": "line 2"}]);
    let refused = bench.call("MultiEdit", json!({"path": "a.rs", "edits": second})).await;
    assert_error(&refused, "INVALID_PARAM", "edits, item 2: new_string is missing");
    assert_error(
        &bench.call("MultiEdit", json!({"path": "a.rs"})).await,
        "INVALID_PARAM",
        "edits is missing",
    );
    let neither = bench.call("Edit", json!({"path": "a.rs", "file_text": "x"})).await;
    assert_error(
        &neither,
        "INVALID_PARAM",
        "old_string and new_string are missing (ignored: file_text). Expected",
    );
    assert_eq!(bench.text("a.rs"), before);
}

#[tokio::test]
async fn write_names() {
    let bench = project();
    for (key, value) in [("file_text", json!("x\n")), ("contents", json!("y\n")), ("text", json!(5))] {
        let name = format!("new-{key}");
        let done = bench.call("Write", json!({"absolute_path": name, key: value, "command": "create"})).await;
        assert!(done.wire().ends_with("; ignored: command"), "{}", done.wire());
        assert_eq!(bench.text(&name), value.as_str().map_or(value.to_string(), str::to_owned));
    }
    let object = bench.call("Write", json!({"path": "x.json", "content": {"a": 1}})).await;
    assert_error(&object, "INVALID_PARAM", "content must be a string, not an object");
    assert_error(&bench.call("Write", json!({"path": "x"})).await, "INVALID_PARAM", "content is missing");
}

#[tokio::test]
async fn bash_names() {
    let bench = project();
    let says = async |args: Value| bench.call("Bash", args).await.wire().into_owned();
    assert_eq!(says(json!({"cmd": "echo hi"})).await, "hi\n");
    assert_eq!(says(json!({"command": ["bash", "-lc", "echo hi | tr h H"]})).await, "Hi\n");
    assert_eq!(says(json!({"command": ["echo", "a b", "$x"]})).await, "a b $x\n");
    assert_eq!(says(json!({"command": "basename $PWD", "workdir": "src"})).await, "src\n");
    let described = json!({"command": "echo hi", "description": "Say hi", "run_in_background": false});
    assert_eq!(says(described).await, "hi\n");
    let job = says(json!({"command": "echo hi", "run_in_background": true})).await;
    assert!(job.contains("background job 1"), "{job}");
}

#[tokio::test]
async fn bash_timeout_units() {
    let bench = project();
    for (args, want) in [
        (json!({"timeout": 1}), "Still running after 1 s"),
        (json!({"timeout": "1 s"}), "Still running after 1 s"),
        (json!({"timeout": 1000}), "Still running after 1 s"),
        (json!({"timeout": "150ms"}), "Still running after 0.15 s"),
        (json!({"timeout_seconds": 0.2}), "Still running after 0.2 s"),
        (json!({"timeout_ms": "150"}), "Still running after 0.15 s"),
    ] {
        let mut args = args;
        args["command"] = "sleep 30".into();
        let answer = bench.call("Bash", args).await;
        assert!(answer.text.starts_with(&format!("{want}, now as job")), "{}", answer.text);
    }
    let long = json!({"command": "sleep 2.2; echo done", "timeout": 1800});
    assert_eq!(bench.call("Bash", long).await.wire(), "done\n", "half an hour");
    let odd = bench.call("Bash", json!({"command": "true", "timeout": "soon"})).await;
    assert!(odd.wire().ends_with("; ignored: timeout=\"soon\""), "{}", odd.wire());
}

#[tokio::test]
async fn grep_names() {
    let bench = project();
    let says = async |args: Value| bench.call("Grep", args).await.wire().into_owned();
    let both = "src/b.py\n1:Needle = 1\n2:needle = 2\n[2 matches in 1 file]";
    assert_eq!(
        says(json!({"pattern": "NEEDLE", "-i": true, "output_mode": "content", "-n": true})).await,
        both
    );
    assert_eq!(
        says(json!({"query": "needle", "case_sensitive": false, "include_pattern": "*.py"})).await,
        both
    );
    assert_eq!(says(json!({"regex": "needle", "caseInsensitive": "yes", "type": "py"})).await, both);
    let around = "src/b.py\n1-Needle = 1\n2:needle = 2\n[1 match in 1 file]";
    assert_eq!(says(json!({"pattern": "needle", "-B": 1, "glob": "**/*.py"})).await, around);
    assert_eq!(says(json!({"pattern": "needle", "-C": "1", "directory": "src"})).await, around);
    let names = json!({"pattern": "line|needle", "output_mode": "files_with_matches"});
    assert_eq!(says(names).await, "a.rs\nsrc/b.py\n[31 matches in 2 files]");
    let counts = json!({"pattern": "line|needle", "output_mode": "count", "head_limit": 1});
    assert_eq!(
        says(counts).await,
        "a.rs:30\n[the first 1 of 2 files (31 matches); narrow the search or raise limit]"
    );
    assert_eq!(says(json!({"pattern": "needle", "-l": true})).await, "src/b.py\n[1 match in 1 file]");
    bench.put("c.txt", "f(x)[0]\nneedles\n");
    assert_eq!(
        says(json!({"pattern": "f(x)[", "literal": true})).await,
        "c.txt\n1:f(x)[0]\n[1 match in 1 file]"
    );
    let word = json!({"pattern": "needles?", "-w": true, "path": "c.txt", "multiline": true});
    assert_eq!(says(word).await, "c.txt\n2:needles\n[1 match in 1 file; ignored: multiline]");
}

#[tokio::test]
async fn names_of_the_other_tools() {
    let bench = project();
    let says = async |tool: &str, args: Value| bench.call(tool, args).await.wire().into_owned();
    assert_eq!(says("Glob", json!({"glob_pattern": "*.py", "target_directory": "src"})).await, "src/b.py");
    assert_eq!(
        says("LS", json!({"directory": "src", "ignore": [], "recursive": true})).await,
        "b.py\n[ignored: recursive]"
    );
    let plan =
        json!({"plan": [{"step": "look", "status": "In Progress"}, {"step": "do", "status": "pending"}]});
    assert_eq!(says("TodoWrite", plan).await, "ok");
    let todos = json!([{"content": "look", "status": "completed", "activeForm": "Looking", "id": "1"}]);
    assert_eq!(says("TodoWrite", json!({"todos": todos.to_string()})).await, "ok; ignored: activeForm, id");
    let question = json!({"question": "Which?", "options": [{"label": "a", "description": "b"}]});
    assert!(says("AskUser", question).await.starts_with("error ASK_USER_UNAVAILABLE"));
    assert!(says("Job", json!({"bash_id": "7"})).await.contains("there is no job 7"));
}

#[tokio::test]
async fn note_names() {
    let bench = project();
    for args in [json!({"add": "Ports are odd."}), json!({"action": "add", "fact": "Ports are even."})] {
        let made = bench.call("Note", args).await;
        assert!(made.text.contains("created"), "{}", made.wire());
    }
    for args in [json!({"query": "ports"}), json!({}), json!({"action": "find", "query": "odd"})] {
        let found = bench.call("Note", args).await;
        assert!(found.wire().contains("Ports are odd."), "{}", found.wire());
    }
}
