//! Hooks before and after a tool call, and before the user is asked.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::agent_hooks::{self, AgentHooks};
use crate::calls::policy_engine::AssessedToolCall;
use crate::calls::result;
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, ErrorCode, Status};
use base::protocol::claude_tools;
use base::protocol::event::Level;
use guard::policy::verdict::Verdict;
use tools::file::patch::parse;
use tools::hook::answer::{Decided, Decision, HookVerdict};
use tools::hook::event::HookEvent;
use tools::hook::notice as texts;

pub type SharedHooks = Arc<AgentHooks>;

pub struct Hooked {
    hooks: SharedHooks,
    /// Our name for the tool that is run.
    tool: String,
    names: Vec<String>,
    input: Value,
    /// The files of a patch; hooks run once for each.
    files: Vec<PathBuf>,
    call_id: Arc<str>,
    decided: Option<Decided>,
    /// Output of the PreToolUse hooks, appended to the result.
    contexts: Vec<(String, String)>,
}

impl Hooked {
    pub fn new(hooks: &SharedHooks, (tool, args): (String, Value), call: &ToolCall) -> Self {
        Self {
            input: claude_tools::input(&tool, &args, &hooks.cx.root),
            files: parse::paths_in(&args),
            names: claude_tools::names(&tool),
            hooks: Arc::clone(hooks),
            tool,
            call_id: Arc::clone(&call.id),
            decided: None,
            contexts: Vec::new(),
        }
    }

    pub fn changed(&mut self, args: &Value) {
        self.input = claude_tools::input(&self.tool, args, &self.hooks.cx.root);
        self.files = parse::paths_in(args);
    }

    fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    async fn run(&self, event: HookEvent, more: Value, cancel: &CancellationToken) -> HookVerdict {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut told = json!({"tool_name": self.name(), "tool_input": self.input});
        if event != HookEvent::PermissionRequest {
            told["tool_use_id"] = json!(self.call_id);
        }
        if self.files.is_empty() {
            return self.hooks.run(event, &names, agent_hooks::extended(told, more), cancel).await;
        }
        let mut verdict = HookVerdict::default();
        for file in &self.files {
            told["tool_input"]["file_path"] = json!(self.hooks.cx.root.join(file));
            let told = agent_hooks::extended(told.clone(), more.clone());
            verdict.join(self.hooks.run(event, &names, told, cancel).await);
            if verdict.blocked().is_some() {
                break;
            }
        }
        // With several files, new input for one of them isn't valid for the call.
        verdict.updated_input = verdict.updated_input.filter(|_| self.files.len() == 1);
        verdict
    }

    /// Runs the PreToolUse hooks; returns the call with other arguments if they change them.
    pub async fn before(&mut self, call: &ToolCall, cancel: &CancellationToken) -> Option<ToolCall> {
        let verdict = self.run(HookEvent::PreToolUse, json!({}), cancel).await;
        (self.decided, self.contexts) = (verdict.decided, verdict.contexts);
        let (name, input) = verdict.updated_input?;
        let args = claude_tools::args(&self.tool, &input);
        self.changed(&args);
        self.hooks.say()(Level::Info, texts::changed(&name, self.name()));
        Some(ToolCall { name: self.tool.as_str().into(), args: args.to_string().into(), ..call.clone() })
    }

    pub async fn after(self, envelope: &mut Envelope, cancel: &CancellationToken) {
        let interrupted = envelope.error.as_ref().is_some_and(|error| error.code == ErrorCode::Interrupted);
        let mut contexts = self.contexts.clone();
        if !interrupted {
            let (event, more) = self.told(envelope);
            let verdict = self.run(event, more, cancel).await;
            if let Some(Decided { name, reason, .. }) = verdict.blocked() {
                contexts.push((name.clone(), reason.clone()));
            }
            contexts.extend(verdict.contexts);
            if let Some(output) = verdict.updated_output {
                replace(envelope, &output);
            }
        }
        if let Some(told) = self.hooks.told(&contexts) {
            result::add_block(envelope, &told);
        }
    }

    /// The event for a result, with the fields that hook scripts expect.
    fn told(&self, envelope: &Envelope) -> (HookEvent, Value) {
        let exit = envelope.data.exit_code().filter(|code| *code != 0);
        if envelope.status == Status::Error || exit.is_some() {
            let code = exit.map_or(String::new(), |code| format!("Exit code {code}\n"));
            let error = format!("{code}{}", envelope.wire());
            return (
                HookEvent::PostToolUseFailure,
                json!({"error": error, "is_interrupt": false, "duration_ms": envelope.time_ms}),
            );
        }
        let mut response = Value::Object(envelope.data.to_map());
        if self.tool == "Bash" {
            let output = json!({"stdout": envelope.body, "stderr": "", "interrupted": false});
            response = agent_hooks::extended(response, output);
        } else if !envelope.body_key.is_empty() {
            response[&envelope.body_key] = json!(envelope.body);
        }
        if let Some(path) = self.input.get("file_path") {
            response["filePath"] = path.clone();
        }
        if !envelope.text.is_empty() {
            response["text"] = json!(envelope.text);
        }
        (HookEvent::PostToolUse, json!({"tool_response": response, "duration_ms": envelope.time_ms}))
    }

    /// Whether hooks run after a call that changed a file: they may change it again, so it must be reread.
    pub fn may_change_files(&self, envelope: &Envelope) -> bool {
        let diff = envelope.data.change().and_then(|change| change.diff.as_ref());
        diff.is_some() && self.hooks.wants(HookEvent::PostToolUse)
    }

    /// Hooks can deny, ask, or approve unless protected things are asked about. What the policy denies stays denied.
    pub async fn decided(
        &self,
        verdict: Verdict,
        assessed: &AssessedToolCall,
        cancel: &CancellationToken,
    ) -> Result<Verdict, Box<Envelope>> {
        let before = self.decided.as_ref();
        match (before, verdict) {
            (Some(decided), _) if decided.decision == Decision::Block => Err(refused(decided)),
            (_, verdict @ Verdict::Deny { .. }) => Ok(verdict),
            (Some(Decided { decision: Decision::Ask, name, reason }), _) => {
                self.hooks.say()(Level::Info, texts::asks(name, self.name()));
                let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                Ok(Verdict::Ask { reason: format!("the hook {name} asks{why}") })
            }
            (_, Verdict::Allow) => Ok(Verdict::Allow),
            (_, Verdict::Ask { reason }) => {
                let waivable = self.hooks.policy.may_be_waived(assessed);
                if self.may_allow(before, waivable) {
                    return Ok(Verdict::Allow);
                }
                let answered = self.run(HookEvent::PermissionRequest, json!({}), cancel).await.decided;
                match &answered {
                    Some(decided) if decided.decision == Decision::Block => Err(refused(decided)),
                    answered if self.may_allow(answered.as_ref(), waivable) => Ok(Verdict::Allow),
                    _ => Ok(Verdict::Ask { reason }),
                }
            }
        }
    }

    fn may_allow(&self, decided: Option<&Decided>, waivable: bool) -> bool {
        let Some(Decided { decision: Decision::Allow, name, .. }) = decided else { return false };
        let tool = self.name();
        let text = if waivable { texts::allowed(name, tool) } else { texts::cannot_allow(name, tool) };
        self.hooks.say()(Level::Info, text);
        waivable
    }
}

/// Replaces a result by what a hook made of it: a text, MCP content, or fields as [`Hooked::told`] names them.
fn replace(envelope: &mut Envelope, output: &Value) {
    let text = |field: &Value| field.as_str().map(str::to_owned);
    let parts: Vec<String> = match output {
        Value::Array(content) => content.iter().filter_map(|block| text(&block["text"])).collect(),
        Value::Object(fields) => {
            let names = ["stdout", "stderr", "content", "result"];
            let names = names.into_iter().chain(Some(&*envelope.body_key).filter(|key| !names.contains(key)));
            names.filter_map(|name| text(fields.get(name)?)).filter(|part| !part.is_empty()).collect()
        }
        other => text(other).into_iter().collect(),
    };
    let note = text(&output["text"]).unwrap_or_default();
    let is_known = !parts.is_empty() || output.get("stdout").is_some() || !note.is_empty();
    envelope.body = if is_known { parts.join("\n") } else { output.to_string() };
    envelope.text = note;
    envelope.data.set_full_output_path(None);
}

fn refused(decided: &Decided) -> Box<Envelope> {
    let Decided { name, reason, .. } = decided;
    Box::new(Envelope::error(
        ErrorCode::PermissionDenied,
        format!("the user's hook {name} denied this call: {reason}"),
    ))
}
