//! Output for scripts written for Codex: its event lines, one JSON object each, as its TypeScript SDK declares
//! them (`@openai/codex-sdk` 0.163.0, November 2026).

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::exec::printer::{ModelAnswer, Printer, failure, with, write_line};
use base::model::envelope::{Envelope, Status};
use base::model::item::{Item, ToolResult};
use base::model::observation::{Operation, Todo};
use base::model::usage::Usage;
use base::protocol::event::{EndReason, Event, Level, TurnEnd};

pub struct Codex<O> {
    out: O,
    announced: (bool, bool),
    items: u64,
    /// Calls that began, without their state.
    running: HashMap<Arc<str>, Value>,
    todo_list: Option<Value>,
    answer: String,
}

impl<O: Write> Codex<O> {
    pub fn new(out: O) -> Self {
        let (running, answer) = (HashMap::new(), String::new());
        Self { out, announced: (false, false), items: 0, running, todo_list: None, answer }
    }

    fn line(&mut self, event: &Value) -> io::Result<()> {
        write_line(&mut self.out, event)
    }

    fn item(&mut self, state: &str, item: &Value) -> io::Result<()> {
        self.line(&json!({"type": format!("item.{state}"), "item": item}))
    }

    fn new_item(&mut self, kind: &str, fields: Value) -> Value {
        let item = json!({"id": format!("item_{}", self.items), "type": kind});
        self.items += 1;
        with(item, fields)
    }

    fn said(&mut self, kind: &str, text: &str) -> io::Result<()> {
        let item = self.new_item(kind, json!({ "text": text }));
        self.item("completed", &item)
    }

    fn started(&mut self, call_id: &Arc<str>, tool: &str, title: &str, args: &str) -> io::Result<()> {
        let args: Value = serde_json::from_str(args).unwrap_or_else(|_| json!(args));
        let server = tool.split_once('.').or_else(|| tool.strip_prefix("mcp__")?.split_once("__"));
        let item = match (tool, server) {
            (_, Some((server, tool))) => {
                let call =
                    json!({"server": server, "tool": tool, "arguments": args, "status": "in_progress"});
                self.new_item("mcp_tool_call", call)
            }
            ("Edit" | "MultiEdit" | "Write" | "apply_patch", _) => {
                let item = self.new_item("file_change", json!({"changes": changes(&args)}));
                self.running.insert(Arc::clone(call_id), item);
                return Ok(());
            }
            ("TodoWrite", _) => return Ok(()),
            ("WebSearch", _) => self.new_item("web_search", json!({"query": args["query"]})),
            _ => {
                let command = if tool == "Bash" { args["command"].as_str().unwrap_or(title) } else { title };
                let call = json!({"command": command, "aggregated_output": "", "status": "in_progress"});
                self.new_item("command_execution", call)
            }
        };
        self.item("started", &item)?;
        self.running.insert(Arc::clone(call_id), item);
        Ok(())
    }

    fn done(&mut self, result: &ToolResult) -> io::Result<()> {
        let envelope = &result.envelope;
        if let Some(todos) = envelope.data.todos() {
            return self.todos(todos);
        }
        let Some(mut item) = self.running.remove(&result.call_id) else { return Ok(()) };
        let failed =
            envelope.status == Status::Error || envelope.data.exit_code().is_some_and(|code| code != 0);
        item["status"] = (if failed { "failed" } else { "completed" }).into();
        match item["type"].as_str() {
            Some("file_change") => {
                let change = envelope.data.change();
                if change.is_some_and(|change| change.operation == Some(Operation::Create)) {
                    item["changes"][0]["kind"] = "add".into();
                }
            }
            Some("mcp_tool_call") => match &envelope.error {
                Some(error) => item["error"] = json!({"message": error.message}),
                None => {
                    let content = json!([{"type": "text", "text": output(envelope)}]);
                    item["result"] = json!({"content": content, "structured_content": null});
                }
            },
            Some("command_execution") => {
                item["aggregated_output"] = output(envelope).into();
                item["exit_code"] = envelope.data.exit_code().unwrap_or(i64::from(failed)).into();
            }
            _ => {}
        }
        self.item("completed", &item)
    }

    fn todos(&mut self, todos: &[Todo]) -> io::Result<()> {
        let item = |todo: &Todo| json!({"text": todo.content, "completed": !todo.is_open()});
        let items: Vec<Value> = todos.iter().map(item).collect();
        let (state, item) = match self.todo_list.take() {
            None => ("started", self.new_item("todo_list", json!({ "items": items }))),
            Some(mut list) => {
                list["items"] = items.into();
                ("updated", list)
            }
        };
        self.item(state, &item)?;
        self.todo_list = Some(item);
        Ok(())
    }
}

impl<O: Write> Printer for Codex<O> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Session(session) if !std::mem::replace(&mut self.announced.0, true) => {
                self.line(&json!({"type": "thread.started", "thread_id": session.id}))
            }
            Event::TurnStarted { .. } if !std::mem::replace(&mut self.announced.1, true) => {
                self.line(&json!({"type": "turn.started"}))
            }
            Event::Item { item, .. } => match &**item {
                Item::Assistant { text, .. } if !text.trim().is_empty() => {
                    self.answer = text.to_string();
                    self.said("agent_message", text)
                }
                Item::Reasoning(reasoning) if !reasoning.text.trim().is_empty() => {
                    self.said("reasoning", &reasoning.text)
                }
                _ => Ok(()),
            },
            Event::ToolStarted { call_id, tool, title, args } => self.started(call_id, tool, title, args),
            Event::ToolDone { result, .. } => self.done(result),
            Event::Notice { level: Level::Warning | Level::Error, text } => {
                let item = self.new_item("error", json!({ "message": text }));
                self.item("completed", &item)
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, end: &TurnEnd, answer: &ModelAnswer, _: u8) -> io::Result<()> {
        // Readers parse the last message, so it must be the JSON alone.
        let said: Option<Value> = serde_json::from_str(&self.answer).ok();
        if let Some(json) = answer.output.as_ref().filter(|json| said.as_ref() != Some(*json)) {
            self.said("agent_message", &json.to_string())?;
        }
        if let Some(list) = self.todo_list.take() {
            self.item("completed", &list)?;
        }
        if end.reason == EndReason::Done {
            return self.line(&completed(&end.usage));
        }
        let message = failure(&end.reason);
        self.line(&json!({"type": "error", "message": message}))?;
        self.line(&json!({"type": "turn.failed", "error": {"message": message}}))
    }
}

/// The files of a patch, or of a call under any name that models give its path.
fn changes(args: &Value) -> Value {
    const KINDS: [(&str, &str); 3] =
        [("*** Add File: ", "add"), ("*** Update File: ", "update"), ("*** Delete File: ", "delete")];
    let of_line = |line: &str| {
        let (path, kind) = KINDS.iter().find_map(|(start, kind)| Some((line.strip_prefix(start)?, kind)))?;
        Some(json!({"path": path.trim(), "kind": kind}))
    };
    let texts =
        args.as_str().into_iter().chain(["patch", "input"].iter().filter_map(|name| args[name].as_str()));
    let of_patch: Vec<Value> = texts.flat_map(str::lines).filter_map(of_line).collect();
    let path = ["path", "file_path", "filePath", "target_file"].iter().find_map(|name| args[name].as_str());
    if of_patch.is_empty() {
        json!([{"path": path.unwrap_or_default(), "kind": "update"}])
    } else {
        of_patch.into()
    }
}

fn completed(usage: &Usage) -> Value {
    json!({"type": "turn.completed", "usage": {
        "input_tokens": usage.input, "cached_input_tokens": usage.cached,
        "cache_write_input_tokens": usage.cache_write, "output_tokens": usage.output,
        "reasoning_output_tokens": usage.reasoning,
    }})
}

pub fn turn(thread: &str, answer: &str, usage: &Usage) -> [Value; 4] {
    let item = json!({"id": "item_0", "type": "agent_message", "text": answer});
    [
        json!({"type": "thread.started", "thread_id": thread}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": item}),
        completed(usage),
    ]
}

fn output(envelope: &Envelope) -> String {
    match &envelope.error {
        Some(error) => error.message.clone(),
        None if envelope.body.is_empty() => envelope.text.clone(),
        None => envelope.body.clone(),
    }
}
