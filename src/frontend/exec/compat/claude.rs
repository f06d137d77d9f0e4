//! Output for scripts written for Claude Code: its `stream-json` messages, or only the last of them, as its SDK declares them
//! (`@anthropic-ai/claude-agent-sdk` 0.3.332, November 2026).

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::rewind_files::SentUserMessage;
use crate::exec::printer::{self, ModelAnswer, Printer, failure, with, write_line};
use base::model::envelope::{ErrorCode, Status};
use base::model::item::{Item, ToolResult};
use base::model::usage::Usage;
use base::protocol::claude_tools;
use base::protocol::event::{
    CommandRow, EndReason, Event, FailureCause, Level, SessionInfo, TurnEnd, WindowState,
};
use base::text;

#[derive(Clone, Debug, Default)]
pub struct ClaudeForm {
    pub tools: Vec<String>,
    pub plugins: Vec<Value>,
    pub mcp_servers: Vec<String>,
    pub only_result: bool,
    pub partial: bool,
    /// The reader wants to know when nothing more will come.
    pub states: bool,
    pub replay: bool,
    /// The program answers questions; otherwise nobody does.
    pub asks: bool,
}

pub struct Claude<O> {
    out: O,
    pub form: ClaudeForm,
    /// Warnings before the first message, which must be `init`.
    early: Option<Vec<Value>>,
    pub session: Option<SessionInfo>,
    commands: Arc<[CommandRow]>,
    calls: HashMap<Arc<str>, (String, Value)>,
    message_id: String,
    /// What comes next is of another reply.
    answered: bool,
    /// Blocks of a reply whose usage isn't known yet.
    held: Vec<Value>,
    used: Usage,
    partial: PartialMessage,
    denials: Vec<Value>,
    pub user_messages: Vec<SentUserMessage>,
    window: WindowState,
    used_by_model: BTreeMap<String, (Usage, f64, u64)>,
    worked_ms: u64,
    /// MCP servers that were used or switched; the others are pending.
    pub mcp_states: HashMap<String, &'static str>,
}

impl<O: Write> Claude<O> {
    pub fn new(out: O, form: ClaudeForm) -> Self {
        Self {
            out,
            early: Some(Vec::new()),
            form,
            session: None,
            commands: Arc::default(),
            calls: HashMap::new(),
            message_id: text::uuid(),
            answered: false,
            held: Vec::new(),
            used: Usage::default(),
            partial: PartialMessage::default(),
            denials: Vec::new(),
            user_messages: Vec::new(),
            window: WindowState::default(),
            used_by_model: BTreeMap::new(),
            worked_ms: 0,
            mcp_states: HashMap::new(),
        }
    }

    pub fn write(&mut self, line: &Value) -> io::Result<()> {
        write_line(&mut self.out, line)
    }

    fn message(&mut self, mut message: Value) -> io::Result<()> {
        if self.form.only_result && message["type"] != "result" {
            return Ok(());
        }
        message["session_id"] = self.session.as_ref().map_or("", |session| &session.id).into();
        if message["uuid"].is_null() {
            let id = text::uuid();
            message["uuid"] = id.as_str().into();
            if message["type"] == "user" {
                self.user_messages.push(SentUserMessage { id, begins_turn: false });
            }
        }
        self.write(&message)
    }

    fn system(&mut self, subtype: &str, more: Value) -> io::Result<()> {
        self.message(with(json!({"type": "system", "subtype": subtype}), more))
    }

    /// `running`, `requires_action` or `idle`, for readers that wait for it.
    pub fn state(&mut self, state: &str) -> io::Result<()> {
        match self.form.states {
            true => self.system("session_state_changed", json!({"state": state, "sdk_host_only": true})),
            false => Ok(()),
        }
    }

    pub fn replayed(&mut self, message: &Value, id: &str) -> io::Result<()> {
        self.message(json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "isReplay": true, "uuid": id,
        }))
    }

    pub fn refused(&mut self, message: &str, hint: &str) -> io::Result<()> {
        let reason = printer::failed(message, hint, FailureCause::Other);
        self.end(&TurnEnd { reason, ..TurnEnd::default() }, &ModelAnswer::default(), 0)
    }

    pub fn model(&self) -> &str {
        self.session.as_ref().map_or("", |session| &session.model)
    }

    pub fn has_command(&self, name: &str) -> bool {
        self.commands.iter().any(|row| row.name == name)
    }

    pub fn initialized(&self) -> Value {
        let model = self.model();
        let command =
            |row: &CommandRow| json!({"name": row.name, "description": row.help, "argumentHint": row.args});
        json!({
            "commands": self.commands.iter().map(command).collect::<Vec<_>>(), "agents": [],
            "output_style": "default", "available_output_styles": ["default"],
            "models": [{"value": model, "displayName": model, "description": ""}], "account": {},
            "hooks_applied": true, "hook_on_failure_supported": true, "mcp_servers_applied": true,
            "plugins_applied": true, "claude_code_version": version(),
        })
    }

    /// Updates the servers' states from an answer that lists them.
    pub fn mcp_answered(&mut self, answer: &Result<Value, String>) {
        let Ok(answer) = answer else { return };
        let names = |key: &str| {
            let names = answer[key].as_array().into_iter().flatten();
            names.filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let (added, removed) = (names("added"), names("removed"));
        self.form.mcp_servers.retain(|name| !removed.contains(name) && !added.contains(name));
        for name in added {
            let state = if answer["errors"][&name].is_string() { "failed" } else { "connected" };
            self.mcp_states.insert(name.clone(), state);
            self.form.mcp_servers.push(name);
        }
    }

    pub fn mcp_status(&self) -> Value {
        let status = |name: &String| self.mcp_states.get(name).copied().unwrap_or("pending");
        let server = |name: &String| json!({"name": name, "status": status(name)});
        json!({"mcpServers": self.form.mcp_servers.iter().map(server).collect::<Vec<_>>()})
    }

    /// `SDKControlGetUsageResponse`. Lines aren't counted.
    pub fn session_usage(&self) -> Value {
        let (cost, ms) = (self.window.cost_usd.unwrap_or(0.0), self.worked_ms);
        let session = json!({
            "total_cost_usd": cost, "total_api_duration_ms": ms, "total_duration_ms": ms, "total_lines_added": 0,
            "total_lines_removed": 0, "model_usage": self.model_usage(),
        });
        json!({"session": session, "subscription_type": null, "rate_limits_available": false, "rate_limits": null})
    }

    fn model_usage(&self) -> Value {
        let used = self
            .used_by_model
            .iter()
            .filter(|(name, (usage, ..))| usage.total() > 0 || *name == self.model());
        let shown = used.map(|(name, (usage, cost, window))| {
            let used = json!({
                "inputTokens": uncached(usage), "outputTokens": usage.output, "cacheReadInputTokens": usage.cached,
                "cacheCreationInputTokens": usage.cache_write, "webSearchRequests": 0, "costUSD": cost,
                "contextWindow": window, "maxOutputTokens": 0,
            });
            (name.clone(), used)
        });
        Value::Object(shown.collect())
    }

    fn init(&mut self) -> io::Result<()> {
        let Some(session) = self.session.clone() else { return Ok(()) };
        let commands: Vec<&str> = self.commands.iter().map(|row| row.name.as_str()).collect();
        let more = json!({
            "cwd": session.workspace, "tools": self.form.tools, "mcp_servers": self.mcp_status()["mcpServers"], "model": session.model,
            "permissionMode": claude_tools::permission_mode(session.permission, session.mode), "slash_commands": commands,
            "apiKeySource": "none", "claude_code_version": version(), "output_style": "default", "agents": [],
            "skills": [], "plugins": self.form.plugins, "capabilities": ["mcp_read_resource_v1"],
        });
        self.system("init", more)?;
        self.early.take().into_iter().flatten().try_for_each(|warning| self.system("informational", warning))
    }

    fn block(&mut self, block: Value) -> io::Result<()> {
        let model = self.model();
        let mut message = assistant_message(&self.message_id, model, vec![block]);
        message["usage"] = usage(&self.used);
        self.message(json!({"type": "assistant", "message": message, "parent_tool_use_id": null}))
    }

    /// Another reply begins, if calls of the last one were answered.
    fn begin_reply(&mut self) {
        if std::mem::take(&mut self.answered) {
            self.message_id = text::uuid();
        }
    }

    fn release(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.held).into_iter().try_for_each(|block| self.block(block))
    }

    fn streamed(&mut self, kind: &'static str, text: &str) -> io::Result<()> {
        if !self.form.partial {
            return Ok(());
        }
        self.begin_reply();
        let model = self.session.as_ref().map_or("", |session| &session.model);
        let events = self.partial.delta(kind, text, &self.message_id, model);
        self.stream_events(events)
    }

    fn stream_events(&mut self, events: Vec<Value>) -> io::Result<()> {
        events.into_iter().try_for_each(|event| {
            self.message(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}))
        })
    }

    fn started(&mut self, call_id: &Arc<str>, tool: &str, args: &str) -> io::Result<()> {
        let events = self.partial.end("tool_use", &self.used);
        self.stream_events(events)?;
        let (name, input) = self.call_of(tool, args);
        self.calls.insert(Arc::clone(call_id), (name.clone(), input.clone()));
        self.block(json!({"type": "tool_use", "id": call_id, "name": name, "input": input}))
    }

    pub fn call_of(&self, tool: &str, args: &str) -> (String, Value) {
        let root = self.session.as_ref().map_or("", |session| &session.workspace);
        let args: Value = serde_json::from_str(args).unwrap_or_else(|_| json!({ "arguments": args }));
        let name = claude_tools::names(tool).into_iter().next().unwrap_or_default();
        (name, claude_tools::input(tool, &args, Path::new(root)))
    }

    fn done(&mut self, result: &ToolResult) -> io::Result<()> {
        let envelope = &result.envelope;
        let (name, input) = self.calls.remove(&result.call_id).unwrap_or_default();
        if envelope.error.as_ref().is_some_and(|error| error.code == ErrorCode::PermissionDenied) {
            let denial = json!({"tool_name": name, "tool_use_id": result.call_id, "tool_input": input});
            self.denials.push(denial);
        }
        let tool = if name == "MoreTools" { input["name"].as_str() } else { None };
        let server = name.strip_prefix("mcp__").and_then(|tool| tool.split_once("__"));
        let server = server.or_else(|| tool?.split_once('.')).filter(|_| envelope.error.is_none());
        if let Some((server, _)) = server {
            self.mcp_states.insert(server.to_owned(), "connected");
        }
        let exit = envelope.data.exit_code();
        let failed = envelope.status == Status::Error || exit.is_some_and(|code| code != 0);
        let block = json!({
            "type": "tool_result", "tool_use_id": result.call_id, "content": envelope.wire(), "is_error": failed,
        });
        self.answered = true;
        let mut message = json!({
            "type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": null,
        });
        if exit.is_some() {
            message["tool_use_result"] = json!({"stdout": envelope.body, "stderr": "", "interrupted": false});
        }
        self.message(message)
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        let block = match item {
            Item::Assistant { text, .. } => json!({"type": "text", "text": text}),
            Item::Reasoning(reasoning) if !reasoning.text.is_empty() => {
                json!({"type": "thinking", "thinking": reasoning.text, "signature": ""})
            }
            _ => return Ok(()),
        };
        let events = self.partial.end_block();
        self.stream_events(events)?;
        self.begin_reply();
        self.held.push(block);
        Ok(())
    }
}

impl<O: Write> Printer for Claude<O> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Session(session) => {
                self.session = Some(session.clone());
                Ok(())
            }
            Event::Commands(commands) => {
                self.commands = Arc::clone(commands);
                Ok(())
            }
            Event::TurnStarted { .. } => self.init(),
            Event::TextDelta(text) => self.streamed("text", text),
            Event::ReasoningDelta(text) => self.streamed("thinking", text),
            Event::Item { item, .. } => self.item(item),
            Event::ToolStarted { call_id, tool, args, .. } => self.started(call_id, tool, args),
            Event::ToolDone { result, .. } => self.done(result),
            Event::Notice { level: Level::Warning | Level::Error, text } => {
                let warning = json!({"content": text, "level": "warning"});
                match &mut self.early {
                    Some(early) => {
                        early.push(warning);
                        Ok(())
                    }
                    None => self.system("informational", warning),
                }
            }
            Event::Retrying { attempt, of, wait_ms, .. } => {
                let events = self.partial.end("end_turn", &self.used);
                self.stream_events(events)?;
                let more = json!({
                    "attempt": attempt, "max_retries": of, "retry_delay_ms": wait_ms, "error_status": null,
                    "error": "server_error",
                });
                self.system("api_retry", more)
            }
            Event::Compacting { running } => {
                self.system("status", json!({"status": running.then_some("compacting")}))
            }
            Event::Window(window) => {
                let before = std::mem::replace(&mut self.window, *window);
                let model = self.model().to_owned();
                let (usage, cost, tokens) = self.used_by_model.entry(model).or_default();
                self.used = window.total.since(before.total);
                usage.add(&self.used);
                *cost += window.cost_usd.unwrap_or(0.0) - before.cost_usd.unwrap_or(0.0);
                *tokens = window.window_tokens;
                self.begin_reply();
                self.release()
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, end: &TurnEnd, answer: &ModelAnswer, _: u8) -> io::Result<()> {
        self.release()?;
        let events = self.partial.end("end_turn", &self.used);
        self.stream_events(events)?;
        self.calls.clear();
        self.worked_ms += end.elapsed_ms;
        self.message_id = text::uuid();
        let mut result = result_message(end, answer, &self.window, &self.model_usage());
        result["permission_denials"] = std::mem::take(&mut self.denials).into();
        self.message(result)
    }
}

/// The version of Claude's protocol, which its SDKs ask for, and ours.
pub fn version() -> &'static str {
    concat!("2.1.0 (mycode ", env!("CARGO_PKG_VERSION"), ")")
}

fn result_message(end: &TurnEnd, answer: &ModelAnswer, window: &WindowState, models: &Value) -> Value {
    let done = end.reason == EndReason::Done;
    let cost = window.cost_usd.unwrap_or(0.0);
    let (subtype, terminal_reason) = names(&end.reason);
    let mut message = json!({
        "type": "result", "subtype": subtype, "is_error": !done, "duration_ms": end.elapsed_ms,
        "duration_api_ms": end.elapsed_ms, "num_turns": end.steps, "stop_reason": done.then_some("end_turn"),
        "total_cost_usd": cost, "usage": usage(&end.usage), "modelUsage": models, "permission_denials": [],
        "terminal_reason": terminal_reason,
    });
    if done {
        let text = || answer.text.clone().unwrap_or_default();
        message["result"] = answer.output.as_ref().map_or_else(text, Value::to_string).into();
        if let Some(output) = &answer.output {
            message["structured_output"] = output.clone();
        }
    } else if subtype == "success" {
        message["result"] = failure(&end.reason).into();
    } else {
        message["errors"] = json!([failure(&end.reason)]);
    }
    message
}

fn names(reason: &EndReason) -> (&'static str, &'static str) {
    match reason {
        EndReason::Done => ("success", "completed"),
        EndReason::StepLimit { .. } => ("error_max_turns", "max_turns"),
        EndReason::Interrupted { .. } => ("error_during_execution", "aborted_streaming"),
        EndReason::ProviderFailed { .. } => ("success", "api_error"),
        EndReason::Failed { cause: FailureCause::CostLimit, .. } => {
            ("error_max_budget_usd", "budget_exhausted")
        }
        EndReason::Failed { cause: FailureCause::Schema, .. } => {
            ("error_max_structured_output_retries", "structured_output_retry_exhausted")
        }
        EndReason::Failed { .. } => ("error_during_execution", "model_error"),
    }
}

fn assistant_message(id: &str, model: &str, content: Vec<Value>) -> Value {
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0},
    })
}

/// Claude counts cached tokens separately.
fn uncached(usage: &Usage) -> u64 {
    usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write)
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": uncached(usage), "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached, "output_tokens": usage.output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": "standard",
    })
}

#[derive(Default)]
struct PartialMessage {
    begun: bool,
    blocks: usize,
    open: Option<&'static str>,
}

impl PartialMessage {
    pub fn delta(&mut self, kind: &'static str, text: &str, id: &str, model: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            let message = assistant_message(id, model, Vec::new());
            events.push(json!({"type": "message_start", "message": message}));
        }
        if self.open != Some(kind) {
            events.extend(self.end_block());
            self.open = Some(kind);
            let mut block = json!({"type": kind, kind: ""});
            if kind == "thinking" {
                block["signature"] = "".into();
            }
            events.push(json!({"type": "content_block_start", "index": self.blocks, "content_block": block}));
        }
        let delta = json!({"type": format!("{kind}_delta"), kind: text});
        events.push(json!({"type": "content_block_delta", "index": self.blocks, "delta": delta}));
        events
    }

    pub fn end_block(&mut self) -> Vec<Value> {
        if self.open.take().is_none() {
            return Vec::new();
        }
        self.blocks += 1;
        vec![json!({"type": "content_block_stop", "index": self.blocks - 1})]
    }

    pub fn end(&mut self, stop_reason: &str, used: &Usage) -> Vec<Value> {
        let mut events = self.end_block();
        if std::mem::take(self).begun {
            let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
            events.push(json!({"type": "message_delta", "delta": delta, "usage": usage(used)}));
            events.push(json!({"type": "message_stop"}));
        }
        events
    }
}
