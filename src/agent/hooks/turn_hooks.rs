//! Hooks around a turn: the prompt, the end of the turn, and compaction.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::agent_hooks::AgentHooks;
use base::protocol::claude_tools;
use base::protocol::event::Level;
use base::protocol::notice::Problem;
use tools::hook::event::HookEvent;
use tools::hook::notice as texts;

pub type MaybeHooks = Option<Arc<AgentHooks>>;

/// How often in a row hooks can prevent the end of a turn.
pub const MOST_CONTINUATIONS: u32 = 8;

/// Runs the hooks for a prompt; returns what to append to it, or why it isn't sent.
pub async fn prompt(
    hooks: &AgentHooks,
    text: &str,
    cancel: &CancellationToken,
) -> Result<Option<String>, Problem> {
    let mut contexts = Vec::new();
    if let Some(started) = hooks.started(cancel).await {
        contexts.extend(started.contexts);
    }
    if let Some(kind) = hooks.agent_kind() {
        contexts.extend(
            hooks
                .run(HookEvent::SubagentStart, &[claude_tools::agent_type(kind), kind], json!({}), cancel)
                .await
                .contexts,
        );
    } else {
        let verdict = hooks.run(HookEvent::UserPromptSubmit, &[], json!({"prompt": text}), cancel).await;
        let blocked = verdict.blocked().map(|decided| (decided.name.clone(), decided.reason.clone()));
        if let Some((name, reason)) = hooks.take_stop().or(blocked) {
            return Err(texts::prompt_blocked(&name, &reason));
        }
        contexts.extend(verdict.contexts);
    }
    contexts.extend(hooks.take_late());
    Ok(hooks.told(&contexts))
}

pub fn stopped(hooks: &MaybeHooks) -> Option<Problem> {
    let (name, why) = hooks.as_ref()?.take_stop()?;
    Some(texts::turn_stopped(&name, &why))
}

/// Runs the Stop hooks; `Some` is text for the model, which must continue. `before` counts earlier continuations.
pub async fn stop(
    hooks: &AgentHooks,
    before: u32,
    last_message: &str,
    cancel: &CancellationToken,
) -> Option<String> {
    let kind = hooks.agent_kind();
    let event = if kind.is_some() { HookEvent::SubagentStop } else { HookEvent::Stop };
    if !hooks.wants(event) {
        return None;
    }
    if before >= MOST_CONTINUATIONS {
        hooks.say()(Level::Warning, texts::overruled(before));
        return None;
    }
    let more = json!({"stop_hook_active": before > 0, "last_assistant_message": last_message, "background_tasks": []});
    let names: Vec<&str> = kind.into_iter().flat_map(|kind| [claude_tools::agent_type(kind), kind]).collect();
    let verdict = hooks.run(event, &names, more, cancel).await;
    if let Some((name, why)) = hooks.take_stop() {
        hooks.say()(Level::Info, texts::stopped(&name, &why));
        return None;
    }
    let mut contexts = verdict.contexts.clone();
    contexts.extend(verdict.blocked().map(|decided| (decided.name.clone(), decided.reason.clone())));
    hooks.told(&contexts).filter(|_| !cancel.is_cancelled())
}

/// Runs the PreCompact hooks; returns whether compaction may happen.
pub async fn before_compaction(hooks: &AgentHooks, focus: Option<&str>, cancel: &CancellationToken) -> bool {
    let trigger = if focus.is_some() { "manual" } else { "auto" };
    let more = json!({"trigger": trigger, "custom_instructions": focus.unwrap_or_default()});
    let verdict = hooks.run(HookEvent::PreCompact, &[trigger], more, cancel).await;
    hooks.take_stop().is_none() && verdict.blocked().is_none()
}

/// Runs the hooks after compaction; returns their SessionStart output for the next request.
pub async fn after_compaction(
    hooks: &AgentHooks,
    manual: bool,
    summary: &str,
    cancel: &CancellationToken,
) -> Option<String> {
    let trigger = if manual { "manual" } else { "auto" };
    let more = json!({"trigger": trigger, "compact_summary": summary});
    hooks.run(HookEvent::PostCompact, &[trigger], more, cancel).await;
    if hooks.agent_kind().is_some() {
        return None;
    }
    let more: Value = json!({"source": "compact"});
    let verdict = hooks.run(HookEvent::SessionStart, &["compact"], more, cancel).await;
    hooks.told(&verdict.contexts)
}
