//! What users see about hooks: one line whenever one acts or fails, nothing for a silent success.

use std::time::Duration;

use super::event::HookEvent;
use super::settings::NotRun;
use base::path::on_one_line;
use base::text::{one_line, plural};

const REASON_CHARS: usize = 240;

pub fn blocked(name: &str, event: HookEvent, what: &str, reason: &str) -> String {
    let did = match event {
        HookEvent::UserPromptSubmit => "blocked the prompt".to_owned(),
        HookEvent::Stop | HookEvent::SubagentStop => "keeps the turn going".to_owned(),
        HookEvent::PreCompact => "blocked compaction".to_owned(),
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => format!("objected to {what}"),
        _ => format!("blocked {what}"),
    };
    said(name, &format!("{did}: {reason}"))
}

pub fn allowed(name: &str, what: &str) -> String {
    said(name, &format!("allowed {what}"))
}

pub fn cannot_allow(name: &str, what: &str) -> String {
    said(name, &format!("can't allow {what}; only you can"))
}

pub fn asks(name: &str, what: &str) -> String {
    said(name, &format!("asks about {what}"))
}

pub fn changed(name: &str, what: &str) -> String {
    said(name, &format!("changed the arguments of {what}"))
}

pub fn added(name: &str, context: &str) -> String {
    said(name, &format!("added {} to the context", plural(context.chars().count(), "character")))
}

pub fn stopped(name: &str, reason: &str) -> String {
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    said(name, &format!("ended the turn{why}"))
}

pub fn turn_stopped(name: &str, reason: &str) -> (String, String) {
    (stopped(name, reason), "send a message to continue; `mycode hooks` lists all hooks".to_owned())
}

pub fn prompt_blocked(name: &str, reason: &str) -> (String, String) {
    let message =
        format!("a hook ({}) blocked the prompt: {}", on_one_line(name), one_line(reason, REASON_CHARS));
    (message, "change the prompt; `mycode hooks` lists all hooks".to_owned())
}

pub fn said(name: &str, text: &str) -> String {
    format!("hook {}: {}", on_one_line(name), one_line(text, REASON_CHARS))
}

/// `closed`: the failure counts as a denial.
pub fn failed(name: &str, event: HookEvent, why: &str, closed: bool) -> String {
    let name = on_one_line(name);
    let then = if closed { "that counts as a denial (onFailure)" } else { "continuing without it" };
    format!(
        "hook {name} ({event:?}) failed: {}; {then}. `mycode hooks` lists all",
        one_line(why, REASON_CHARS)
    )
}

pub fn too_slow(limit: Duration) -> String {
    format!("timed out after {} s, its limit", limit.as_secs_f64())
}

pub fn still_running(name: &str, since: Duration, limit: Duration, status: Option<&str>) -> String {
    let status = status.map_or(String::new(), |status| format!(" ({})", one_line(status, 60)));
    let (since, limit) = (since.as_secs(), limit.as_secs_f64());
    said(name, &format!("still running after {since} s{status}; it may take up to {limit} s"))
}

pub fn overruled(times: u32) -> String {
    format!(
        "a Stop hook kept the turn going {times} times; it ends now all the same. `mycode hooks` lists all"
    )
}

pub fn not_run(rows: &[NotRun]) -> String {
    let first = rows.first().map_or(String::new(), |row| {
        format!(
            ": {} in {}: {}",
            row.what.trim_end(),
            on_one_line(&row.source.to_string_lossy()),
            one_line(&row.why, 160)
        )
    });
    let more = if rows.len() > 1 { " (and more)" } else { "" };
    let verb = if rows.len() > 1 { "don't" } else { "doesn't" };
    format!("{} {verb} run here{first}{more}. `mycode hooks` lists all.", plural(rows.len(), "hook"))
}
