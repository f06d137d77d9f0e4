//! A run of `exec --json` against a scripted model, and short ways to write its replies.

use frontend::exec::json;
use frontend::exec::output_schema::OutputSchema;
use serde_json::{Value, json};

use crate::support::answer::{Answer, answer};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// What an `exec --json` run showed.
pub struct Run {
    pub code: i32,
    pub requests: Vec<Value>,
    /// Kinds of nudges, in order.
    pub nudges: Vec<String>,
    /// All their words.
    pub words: String,
    pub end: Value,
    pub place: Workplace,
}

impl Run {
    pub fn last_body(&self) -> String {
        self.requests.last().map(Value::to_string).unwrap_or_default()
    }
}

pub fn project() -> Workplace {
    let place = Workplace::with_nudges();
    place.file("a.py", "def f():\n    return 1\n");
    place.file("check.sh", "#!/bin/sh\nexit 0\n");
    place.file("fail.sh", "#!/bin/sh\necho '1 failed, 2 passed in 0.10s'\nexit 1\n");
    place
}

pub fn run_with(place: Workplace, args: &[&str], task: &str, replies: Vec<Answer>) -> Run {
    let server = FakeServer::start(replies.into_iter().map(Into::into).collect());
    let all = [&["--json", "--permission", "full"][..], args, &[task]].concat();
    let out = place.exec(&server.base_url(), &all);
    let published = OutputSchema::parse(json::SCHEMA).unwrap();
    let read = |line: &str| published.read(line).unwrap_or_else(|why| panic!("{why}: {line}"));
    let events: Vec<Value> = stdout(&out).lines().map(read).collect();
    let nudges: Vec<&Value> = events.iter().filter(|event| event["type"] == "nudge").collect();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    assert!(!events.is_empty(), "{}", stderr(&out));
    Run {
        code: out.status.code().unwrap_or(-1),
        requests: server.requests().into_iter().map(|request| request.body).collect(),
        nudges: nudges.iter().map(|nudge| text(nudge, "kind")).collect(),
        words: nudges.iter().map(|nudge| text(nudge, "text")).collect::<Vec<_>>().join("\n"),
        end: events.last().cloned().unwrap_or_default(),
        place,
    }
}

pub fn bash(command: &str) -> Answer {
    answer().call("Bash", json!({"command": command}))
}

pub fn edit() -> Vec<Answer> {
    vec![
        answer().call("Read", json!({"path": "a.py"})),
        answer().call("Edit", json!({"path": "a.py", "old_string": "return 1", "new_string": "return 2"})),
    ]
}

pub fn text(words: &str) -> Answer {
    answer().text(words)
}

pub fn todo(status: &str) -> Answer {
    let todos = json!({"todos": [{"content": "Add tests", "status": status}, {"content": "Look", "status": "completed"}]});
    answer().call("TodoWrite", todos)
}

/// A pytest that passes or fails as `fail.sh` says.
pub fn with_pytest(place: Workplace, line: &str, code: u8) -> Workplace {
    place.file("pytest", format!("#!/bin/sh\necho '{line}'\nexit {code}\n"));
    place
}

pub fn joined(parts: Vec<Vec<Answer>>) -> Vec<Answer> {
    parts.into_iter().flatten().collect()
}
