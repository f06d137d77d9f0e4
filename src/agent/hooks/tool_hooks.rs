//! Hooks before and after a tool call, and before the user is asked.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::agent_hooks::AgentHooks;
use crate::calls::policy_engine::AssessedToolCall;
use crate::calls::result;
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, ErrorCode, Status};
use base::protocol::claude_tools;
use base::protocol::event::Level;
use guard::policy::verdict::Verdict;
use tools::hook::answer::{Decided, Decision, HookVerdict};
use tools::hook::event::HookEvent;
use tools::hook::notice as texts;

pub type SharedHooks = Arc<AgentHooks>;

pub struct Hooked {
    /// Our name for the tool that actually runs.
    tool: String,
    names: Vec<String>,
    input: Value,
    call_id: Arc<str>,
    decided: Option<Decided>,
    /// Output of the PreToolUse hooks, appended to the result.
    contexts: Vec<(String, String)>,
}

impl Hooked {
    pub fn new(hooks: &AgentHooks, (tool, args): (String, Value), call: &ToolCall) -> Self {
        let input = claude_tools::input(&tool, &args, hooks.workspace());
        let names = claude_tools::names(&tool);
        Self { tool, names, input, call_id: Arc::clone(&call.id), decided: None, contexts: Vec::new() }
    }

    /// Other arguments under our names.
    pub fn changed(&mut self, hooks: &AgentHooks, args: &Value) {
        self.input = claude_tools::input(&self.tool, args, hooks.workspace());
    }

    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    async fn run(
        &self,
        hooks: &AgentHooks,
        event: HookEvent,
        more: Value,
        cancel: &CancellationToken,
    ) -> HookVerdict {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut told = Map::new();
        told.insert("tool_name".to_owned(), self.name().into());
        told.insert("tool_input".to_owned(), self.input.clone());
        if event != HookEvent::PermissionRequest {
            told.insert("tool_use_id".to_owned(), (*self.call_id).into());
        }
        if let Value::Object(more) = more {
            told.extend(more);
        }
        hooks.run(event, &names, Value::Object(told), cancel).await
    }
}

/// Runs the PreToolUse hooks; returns the call with other arguments if they change them.
pub async fn before(
    hooks: &AgentHooks,
    hooked: &mut Hooked,
    call: &ToolCall,
    cancel: &CancellationToken,
) -> Option<ToolCall> {
    let verdict = hooked.run(hooks, HookEvent::PreToolUse, json!({}), cancel).await;
    (hooked.decided, hooked.contexts) = (verdict.decided, verdict.contexts);
    let (name, input) = verdict.updated_input?;
    let args = claude_tools::args(&hooked.tool, &input);
    hooked.changed(hooks, &args);
    hooks.say()(Level::Info, texts::changed(&name, hooked.name()));
    Some(ToolCall { name: hooked.tool.as_str().into(), args: args.to_string().into(), ..call.clone() })
}

fn refused(decided: &Decided) -> Box<Envelope> {
    let Decided { name, reason, .. } = decided;
    Box::new(Envelope::error(
        ErrorCode::PermissionDenied,
        format!("a hook of the user's ({name}) refused this call: {reason}"),
    ))
}

/// Runs the hooks after a call and appends their output to the result.
pub async fn after(hooks: &AgentHooks, hooked: Hooked, envelope: &mut Envelope, cancel: &CancellationToken) {
    let interrupted = envelope.error.as_ref().is_some_and(|error| error.code == ErrorCode::Interrupted);
    let mut contexts = hooked.contexts.clone();
    if !interrupted {
        let (event, more) = told(&hooked, envelope);
        let verdict = hooked.run(hooks, event, more, cancel).await;
        if let Some(Decided { name, reason, .. }) = verdict.blocked() {
            contexts.push((name.clone(), reason.clone()));
        }
        contexts.extend(verdict.contexts);
    }
    if let Some(told) = hooks.told(&contexts) {
        result::add_block(envelope, &told);
    }
}

/// The event for a result, with the fields that hook scripts expect.
fn told(hooked: &Hooked, envelope: &Envelope) -> (HookEvent, Value) {
    let exit = envelope.data.exit_code().filter(|code| *code != 0);
    if envelope.status == Status::Error || exit.is_some() {
        let code = exit.map_or(String::new(), |code| format!("Exit code {code}\n"));
        let error = format!("{code}{}", envelope.wire());
        return (
            HookEvent::PostToolUseFailure,
            json!({"error": error, "is_interrupt": false, "duration_ms": envelope.time_ms}),
        );
    }
    let mut response = envelope.data.to_map();
    if hooked.tool == "Bash" {
        response.insert("stdout".to_owned(), envelope.body.as_str().into());
        response.insert("stderr".to_owned(), "".into());
        response.insert("interrupted".to_owned(), false.into());
    } else if !envelope.body_key.is_empty() {
        response.insert(envelope.body_key.clone(), envelope.body.as_str().into());
    }
    if let Some(path) = hooked.input.get("file_path") {
        response.insert("filePath".to_owned(), path.clone());
    }
    if !envelope.text.is_empty() {
        response.insert("text".to_owned(), envelope.text.as_str().into());
    }
    (HookEvent::PostToolUse, json!({"tool_response": response, "duration_ms": envelope.time_ms}))
}

/// Whether hooks run after a call that changed a file: they may change it too, so we must look again.
pub fn may_change_files(hooks: &AgentHooks, envelope: &Envelope) -> bool {
    envelope.data.change().is_some_and(|change| change.diff.is_some()) && hooks.wants(HookEvent::PostToolUse)
}

/// The verdict with the hooks' decisions: their no is a no, their question is asked, and their yes answers a
/// question that isn't about protected things. What the policy denies stays denied.
pub async fn decided(
    hooks: &AgentHooks,
    hooked: &Hooked,
    verdict: Verdict,
    assessed: &AssessedToolCall,
    cancel: &CancellationToken,
) -> Result<Verdict, Box<Envelope>> {
    let before = hooked.decided.as_ref();
    match (before, verdict) {
        (Some(decided), _) if decided.decision == Decision::Block => Err(refused(decided)),
        (_, verdict @ Verdict::Deny { .. }) => Ok(verdict),
        (Some(Decided { decision: Decision::Ask, name, reason }), _) => {
            hooks.say()(Level::Info, texts::asks(name, hooked.name()));
            let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            Ok(Verdict::Ask { reason: format!("the hook {name} asks{why}") })
        }
        (_, Verdict::Allow) => Ok(Verdict::Allow),
        (_, Verdict::Ask { reason }) => {
            let waivable = hooks.policy().may_be_waived(assessed);
            if may_allow(hooks, before, hooked, waivable) {
                return Ok(Verdict::Allow);
            }
            let answered = hooked.run(hooks, HookEvent::PermissionRequest, json!({}), cancel).await.decided;
            match &answered {
                Some(decided) if decided.decision == Decision::Block => Err(refused(decided)),
                answered if may_allow(hooks, answered.as_ref(), hooked, waivable) => Ok(Verdict::Allow),
                _ => Ok(Verdict::Ask { reason }),
            }
        }
    }
}

fn may_allow(hooks: &AgentHooks, decided: Option<&Decided>, hooked: &Hooked, waivable: bool) -> bool {
    let Some(Decided { decision: Decision::Allow, name, .. }) = decided else { return false };
    let tool = hooked.name();
    let text = if waivable { texts::allowed(name, tool) } else { texts::cannot_allow(name, tool) };
    hooks.say()(Level::Info, text);
    waivable
}
