//! An editor that drives `mycode acp`: plain JSON-RPC lines over the binary's own streams.
#![allow(dead_code)]

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::workplace::Workplace;

/// One connection.
pub struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: i64,
    /// Every message of the agent, in order.
    pub seen: Vec<Value>,
    /// What requests of the agent are answered with, by method; those without an answer wait for one.
    pub answers: HashMap<&'static str, Value>,
}

impl Editor {
    /// Starts the agent against a server, without a word.
    pub fn start(place: &Workplace, args: &[&str]) -> Self {
        let mut all = vec!["acp"];
        all.extend(args);
        let mut command = place.command(&all);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, last: 0, seen: Vec::new(), answers: HashMap::new() }
    }

    /// Starts it, and says what the editor can do.
    pub fn open(place: &Workplace, base_url: &str, capabilities: Value) -> Self {
        let mut editor = Self::start(place, &["--base-url", base_url, "--model", "test-model"]);
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        editor.ask("initialize", params);
        editor
    }

    /// Opens a session in the project; its id.
    pub fn session(&mut self, place: &Workplace) -> String {
        let opened = self.ask("session/new", json!({"cwd": place.project(), "mcpServers": []}));
        opened["result"]["sessionId"].as_str().unwrap().to_owned()
    }

    pub fn line(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{text}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Sends a request; its number.
    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let number = self.last;
        self.line(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).to_string());
        number
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// The next message; requests that have an answer get it.
    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the agent ended; {:#?}", self.seen.last());
        let message: Value = serde_json::from_str(&line).expect(&line);
        assert_eq!(message["jsonrpc"], "2.0");
        self.seen.push(message.clone());
        let answer = message["method"].as_str().and_then(|method| self.answers.get(method)).cloned();
        if let Some(answer) = answer {
            self.answer(&message, answer);
        }
        message
    }

    /// Answers a request of the agent.
    pub fn answer(&mut self, request: &Value, result: Value) {
        self.line(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string());
    }

    /// Reads on until `wanted`.
    pub fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next();
            if wanted(&message) {
                return message;
            }
        }
    }

    /// The answer to a request.
    pub fn answer_to(&mut self, number: i64) -> Value {
        self.until(|message| message["id"] == number && message.get("method").is_none())
    }

    /// A request and its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let number = self.send(method, params);
        self.answer_to(number)
    }

    /// Sends a prompt; the number of the request.
    pub fn begin(&mut self, session: &str, blocks: Value) -> i64 {
        self.seen.clear();
        self.send("session/prompt", json!({"sessionId": session, "prompt": blocks}))
    }

    /// A prompt and how it ended.
    pub fn prompt(&mut self, session: &str, text: &str) -> Value {
        let number = self.begin(session, json!([{"type": "text", "text": text}]));
        self.answer_to(number)["result"]["stopReason"].clone()
    }

    /// The updates of one kind.
    pub fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.seen.iter().map(|message| &message["params"]["update"]);
        updates.filter(|update| update["sessionUpdate"] == kind).cloned().collect()
    }

    /// What the agent said, in one.
    pub fn said(&self) -> String {
        let chunks = self.updates("agent_message_chunk");
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// Goes away; what the agent still says, and its exit code.
    pub fn close(&mut self) -> (String, Option<i32>) {
        self.input = None;
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }

    /// Ends the agent without a word.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is chosen among the options of a permission.
pub fn chosen(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}
