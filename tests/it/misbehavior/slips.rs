//! Calls with a slip, and the same calls as they should be.

use serde_json::{Value, json};

use super::rows::{CHECK, Row, call, failing_edit, read, row};
use super::run::{bash, text};
use crate::support::answer::{Answer, answer};

/// A call with a slip that is repaired or answered, and the same call as it should be.
fn slip(name: &'static str, says: &'static str, fault: Answer, well: Answer) -> Row {
    let told = || text("f is in a.py:1 and returns 1.");
    row((name, "What does f return?"), ("", says), vec![fault, told()], vec![well, told()])
}

/// Calls with a slip: repaired where the meaning is plain, else answered so that the next call can be right.
pub fn slips() -> Vec<Row> {
    let list = |todos: Value| call("TodoWrite", json!({ "todos": todos }));
    let shown = "return 1";
    vec![
        slip("a tool's name with a slip", shown, call("Raed", json!({"path": "a.py"})), read()),
        slip("another agent's tool", shown, call("read_file", json!({"file_path": "a.py"})), read()),
        slip("another agent's tool with a slip", shown, call("read_files", json!({"path": "a.py"})), read()),
        slip("a prefix", shown, call("functions.Read", json!({"path": "a.py"})), read()),
        slip("an argument's name with a slip", shown, call("Read", json!({"paht": "a.py"})), read()),
        slip("a path that no machine has", shown, call("Read", json!({"path": "/workspace/a.py"})), read()),
        slip("a number as a string", shown, call("Read", json!({"path": "a.py", "limit": "10"})), read()),
        slip("a brace too few", shown, answer().call_raw("Read", "{\"path\": \"a.py\""), read()),
        slip("a brace too many", shown, answer().call_raw("Read", "{\"path\": \"a.py\"}}"), read()),
        slip(
            "arguments cut in the middle",
            "one valid JSON object. Nothing was run.",
            answer().call_raw("Read", "{\"path\": \"a.p"),
            read(),
        ),
        slip("a comma too many", shown, answer().call_raw("Read", "{\"path\": \"a.py\",}"), read()),
        slip(
            "arguments as a string",
            shown,
            answer().call_raw("Read", "\"{\\\"path\\\": \\\"a.py\\\"}\""),
            read(),
        ),
        slip("Python in place of JSON", shown, answer().call_raw("Read", "{'path': 'a.py'}"), read()),
        slip(
            "a mark behind the JSON",
            shown,
            answer().call_raw("Read", "{\"path\": \"a.py\"}</tool_call>"),
            read(),
        ),
        slip(
            "an editor that reads, too",
            shown,
            call("str_replace_editor", json!({"command": "view", "path": "a.py"})),
            read(),
        ),
        slip("a call in tags", shown, text("<read_file>\n<path>a.py</path>\n</read_file>"), read()),
        slip("an editor that needs a terminal", "Use Edit or Write", bash("vim a.py"), bash("ls")),
        slip("arguments in an object", shown, call("Read", json!({"arguments": {"path": "a.py"}})), read()),
        slip(
            "arguments in an object beside the name",
            shown,
            call("Read", json!({"tool": "Read", "args": {"path": "a.py"}})),
            read(),
        ),
        slip("arguments in a text", shown, call("Read", json!({"input": "{\"path\": \"a.py\"}"})), read()),
        slip(
            "a call in the form of another server",
            shown,
            text(
                "{\"type\": \"tool_use\", \"id\": \"t-1\", \"name\": \"Read\", \"input\": {\"path\": \"a.py\"}}",
            ),
            read(),
        ),
        slip(
            "a path of another machine with a slip",
            "did you mean check.sh?",
            call("Read", json!({"path": "/workspace/chekc.sh"})),
            call("Read", json!({"path": "check.sh"})),
        ),
        slip(
            "braces that count nothing",
            "check.sh",
            call("Grep", json!({"pattern": "x{}|exit 0"})),
            bash("ls"),
        ),
        slip("a path in quotes", shown, call("Read", json!({"path": "`a.py`"})), read()),
        slip("a path with its line", shown, call("Read", json!({"path": "a.py:1"})), read()),
        slip("a path as a mention", shown, call("Read", json!({"path": "@a.py"})), read()),
        slip("arguments in a list", shown, answer().call_raw("Read", "[{\"path\": \"a.py\"}]"), read()),
        slip(
            "a command as a list",
            "check.sh",
            call("Bash", json!({"command": ["ls", "-1"]})),
            bash("ls -1"),
        ),
        slip(
            "a quote that is not closed",
            "the command has a syntax error: a quote is not closed. Nothing was run",
            bash("grep -n \"it's a.py"),
            bash("ls"),
        ),
        slip(
            "another agent's shell",
            "check.sh",
            call("shell", json!({"command": ["bash", "-lc", "ls"]})),
            bash("ls"),
        ),
        slip("no arguments", "command", answer().call_raw("Bash", ""), bash("ls")),
        slip("a tool that no one has", "there is no tool Frobnicate", call("Frobnicate", json!({})), read()),
        slip(
            "a question while no one is here",
            "No one",
            call("AskUser", json!({"questions": [{"question": "Which?"}]})),
            read(),
        )
        .only_headless(),
        slip(
            "to-dos as plain strings",
            "Look",
            list(json!(["Look", "Tell"])),
            list(json!([{"content": "Look", "status": "completed"}])),
        )
        .open_ended(),
        slip(
            "a list as text, with states of another agent",
            "Look",
            list(json!(
                "[{\"content\": \"Look\", \"status\": \"done\"}, {\"task\": \"Tell\", \"completed\": true}, {\"task\": \"End\", \"state\": \"finished\"}]"
            )),
            list(json!([{"content": "Look", "status": "completed"}])),
        ),
        slip(
            "a status of another agent",
            "Look",
            list(json!([{"content": "Look", "status": "done"}])),
            list(json!([{"content": "Look", "status": "completed"}])),
        ),
        slip(
            "a call in words",
            shown,
            text("<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"path\": \"a.py\"}}\n</tool_call>"),
            read(),
        ),
        slip(
            "a call inside thinking that is not closed",
            shown,
            text(
                "<think>\nI look.\n<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"path\": \"a.py\"}}\n</tool_call>",
            ),
            read(),
        ),
        slip(
            "a call inside reasoning",
            shown,
            answer().reasoning(
                "I look.\n\n<tool_call>{\"name\": \"Read\", \"arguments\": {\"path\": \"a.py\"}}</tool_call>",
            ),
            read(),
        ),
        slip(
            "a test behind a failed edit in one reply",
            "the edit to a.py earlier in this reply failed, so this ran without it",
            failing_edit().call("Bash", json!({"command": CHECK})),
            read().call("Bash", json!({"command": CHECK})),
        )
        .open_ended()
        .in_chat(),
    ]
}
