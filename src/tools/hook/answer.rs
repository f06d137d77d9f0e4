//! A hook's answer, as in Claude Code: exit code 2 always blocks; JSON output counts with any exit code; any
//! other nonzero code without JSON is a failure.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::event::HookEvent;
use super::process::Ran;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Allow,
    Ask,
    /// Depending on the event: don't send the prompt, continue the turn, or don't compact.
    Block,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    pub decision: Option<Decision>,
    pub reason: String,
    pub context: Option<String>,
    pub updated_input: Option<Map<String, Value>>,
    pub updated_output: Option<Value>,
    pub message: Option<String>,
    pub stop: Option<String>,
    pub failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    system_message: Option<String>,
    hook_specific_output: Option<Specific>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Map<String, Value>>,
    updated_tool_output: Option<Value>,
    #[serde(rename = "updatedMCPToolOutput")]
    updated_mcp_output: Option<Value>,
    additional_context: Option<String>,
    decision: Option<PermissionAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PermissionAnswer {
    behavior: String,
    message: Option<String>,
    updated_input: Option<Map<String, Value>>,
    #[serde(default)]
    interrupt: bool,
}

pub fn read(event: HookEvent, ran: &Ran) -> HookAnswer {
    let said = behind_async(ran.stdout.trim());
    let blocks = ran.code == Some(2) && event.can_block();
    let mut answer = HookAnswer::default();
    let is_json = said.starts_with('{') && said.ends_with('}');
    let mut understood = false;
    if is_json {
        match serde_json::from_str::<Printed>(said)
            .map_err(|error| error.to_string())
            .and_then(|it| of_json(event, it))
        {
            Ok(read) => (answer, understood) = (read, true),
            Err(error) => answer.failure = Some(format!("its JSON is invalid: {error}")),
        }
    } else if ran.code == Some(0) && event.takes_plain_text() && !said.is_empty() {
        answer.context = Some(said.to_owned());
    }
    let stderr = ran.stderr.trim();
    if blocks {
        answer.failure = None;
        if answer.decision != Some(Decision::Block) || answer.reason.is_empty() {
            answer.reason = if stderr.is_empty() { "no reason given".to_owned() } else { stderr.to_owned() };
        }
        answer.decision = Some(Decision::Block);
    } else if !understood && answer.failure.is_none() && ran.code != Some(0) {
        let how =
            ran.code.map_or_else(|| "killed by a signal".to_owned(), |code| format!("exit code {code}"));
        let why = telling_line(stderr).map_or(String::new(), |line| format!(": {line}"));
        answer.failure = Some(format!("{how}{why}"));
    }
    answer
}

/// Strips a first line `{"async": true}`; here, only the setting makes a hook asynchronous.
fn behind_async(said: &str) -> &str {
    let Some((first, rest)) = said.split_once('\n') else { return said };
    let first = serde_json::from_str::<Value>(first).unwrap_or_default();
    if first["async"] == true { rest.trim() } else { said }
}

/// The line that names the error, which may be in the middle; otherwise the first.
fn telling_line(stderr: &str) -> Option<&str> {
    let names_error = |line: &&str| {
        let kind = line.split_once(':').map_or("", |(kind, _)| kind);
        kind.ends_with("Error") && !kind.contains(' ')
    };
    stderr.lines().find(names_error).or_else(|| stderr.lines().next())
}

fn of_json(event: HookEvent, printed: Printed) -> Result<HookAnswer, String> {
    let specific = printed.hook_specific_output.unwrap_or_default();
    let (mut decision, mut reason) = (None, printed.reason.unwrap_or_default());
    match printed.decision.as_deref() {
        // `approve` is the old name of `allow` in `PreToolUse`.
        Some("approve") if event == HookEvent::PreToolUse => decision = Some(Decision::Allow),
        Some("block") if event.can_block() => decision = Some(Decision::Block),
        None | Some("approve" | "block") => {}
        Some(other) => return Err(format!("unknown decision '{other}' (only block is known)")),
    }
    let mut updated_input = specific.updated_input;
    let mut interrupt = false;
    if event == HookEvent::PreToolUse {
        match specific.permission_decision.as_deref() {
            Some("allow") => decision = Some(Decision::Allow),
            Some("ask") => decision = Some(Decision::Ask),
            Some("deny") => decision = Some(Decision::Block),
            None => {}
            Some(other) => {
                return Err(format!("unknown permissionDecision '{other}' (use allow, deny or ask)"));
            }
        }
        reason = specific.permission_decision_reason.unwrap_or(reason);
    } else if let Some(answer) = specific.decision.filter(|_| event == HookEvent::PermissionRequest) {
        match answer.behavior.as_str() {
            "allow" => decision = Some(Decision::Allow),
            "deny" => decision = Some(Decision::Block),
            other => return Err(format!("unknown behavior '{other}' (use allow or deny)")),
        }
        (reason, interrupt) = (answer.message.unwrap_or_default(), answer.interrupt);
        updated_input = answer.updated_input;
    }
    let stop = printed.goes_on == Some(false) || interrupt;
    let stop = stop.then(|| printed.stop_reason.unwrap_or_else(|| reason.clone()));
    let filled = |text: &String| !text.trim().is_empty();
    Ok(HookAnswer {
        decision,
        reason,
        context: specific.additional_context.filter(filled),
        updated_input,
        updated_output: specific.updated_tool_output.or(specific.updated_mcp_output),
        message: printed.system_message.filter(filled),
        stop,
        failure: None,
    })
}

/// The strictest decision: block before ask before allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub decision: Decision,
    pub name: String,
    pub reason: String,
}

/// The combined answer of all hooks for an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookVerdict {
    pub decided: Option<Decided>,
    /// Text for the model, each with the hook's name first.
    pub contexts: Vec<(String, String)>,
    pub updated_input: Option<(String, Map<String, Value>)>,
    pub updated_output: Option<Value>,
    pub stop: Option<(String, String)>,
}

impl HookVerdict {
    pub fn add(&mut self, name: &str, answer: HookAnswer) {
        let HookAnswer { decision, reason, context, updated_input, updated_output, stop, .. } = answer;
        let gravest = self.decided.as_ref().map(|decided| decided.decision);
        if let Some(decision) = decision.filter(|decision| gravest.is_none_or(|gravest| *decision > gravest))
        {
            self.decided = Some(Decided { decision, name: name.to_owned(), reason });
        }
        self.contexts.extend(context.map(|context| (name.to_owned(), context)));
        self.updated_input =
            self.updated_input.take().or(updated_input.map(|input| (name.to_owned(), input)));
        self.updated_output = self.updated_output.take().or(updated_output);
        self.stop = self.stop.take().or(stop.map(|why| (name.to_owned(), why)));
    }

    /// Adds the verdict of hooks for another file of the same call.
    pub fn join(&mut self, other: Self) {
        let graver =
            |decided: &Decided| self.decided.as_ref().is_none_or(|known| decided.decision > known.decision);
        if let Some(decided) = other.decided.filter(graver) {
            self.decided = Some(decided);
        }
        self.contexts.extend(
            other.contexts.into_iter().filter(|context| !self.contexts.contains(context)).collect::<Vec<_>>(),
        );
        self.updated_input = self.updated_input.take().or(other.updated_input);
        self.updated_output = self.updated_output.take().or(other.updated_output);
        self.stop = self.stop.take().or(other.stop);
    }

    pub fn blocked(&self) -> Option<&Decided> {
        self.decided.as_ref().filter(|decided| decided.decision == Decision::Block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_of(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> HookAnswer {
        read(event, &Ran { code: Some(code), stdout: stdout.into(), stderr: stderr.into(), ..Ran::default() })
    }

    #[test]
    fn exit_codes() {
        let event = HookEvent::PreToolUse;
        assert_eq!(read_of(event, 0, "hello", ""), HookAnswer::default());
        let no = read_of(event, 2, "", "not here\n");
        assert_eq!((no.decision, no.reason.as_str()), (Some(Decision::Block), "not here"));
        let both = read_of(event, 2, r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#, "no");
        assert_eq!((both.decision, both.reason.as_str()), (Some(Decision::Block), "no"));
        let failed = read_of(event, 127, "", "sh: x: not found\nmore");
        assert_eq!(failed.failure.as_deref(), Some("exit code 127: sh: x: not found"));
        assert_eq!(failed.decision, None);
        let thrown = read_of(
            event,
            1,
            "",
            "node:internal/x:1\n  throw err;\n\nError: Cannot find module 'x'\n    at y\n",
        );
        assert_eq!(thrown.failure.as_deref(), Some("exit code 1: Error: Cannot find module 'x'"));
        let asked = read_of(HookEvent::PermissionRequest, 2, "", "never");
        assert_eq!(asked.decision, Some(Decision::Block));
        let later =
            read_of(HookEvent::PostToolUse, 0, "{\"async\":true}\n{\"systemMessage\":\"late\"}\n", "");
        assert_eq!((later.message.as_deref(), later.failure), (Some("late"), None));
        assert!(read_of(event, 0, "{not json}", "").failure.is_some());
        assert_eq!(
            read_of(HookEvent::SessionStart, 0, "branch: main", "").context.as_deref(),
            Some("branch: main")
        );
        assert!(read_of(HookEvent::Notification, 2, "", "x").failure.is_some());
    }

    #[test]
    fn json_answers() {
        let said = |event, json: Value| read_of(event, 1, &json.to_string(), "ignored");
        let pre = said(
            HookEvent::PreToolUse,
            json!({"systemMessage": "careful", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                "permissionDecisionReason": "sure?", "updatedInput": {"command": "ls"}, "additionalContext": "more"}}),
        );
        assert_eq!((pre.decision, pre.reason.as_str()), (Some(Decision::Ask), "sure?"));
        assert_eq!((pre.context.as_deref(), pre.message.as_deref()), (Some("more"), Some("careful")));
        assert!(pre.updated_input.is_some() && pre.failure.is_none());
        let post = said(HookEvent::PostToolUse, json!({"decision": "block", "reason": "lint"}));
        assert_eq!((post.decision, post.reason.as_str()), (Some(Decision::Block), "lint"));
        let stop = said(HookEvent::Stop, json!({"continue": false, "stopReason": "enough"}));
        assert_eq!(stop.stop.as_deref(), Some("enough"));
        let asked = said(
            HookEvent::PermissionRequest,
            json!({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "never"}}}),
        );
        assert_eq!((asked.decision, asked.reason.as_str()), (Some(Decision::Block), "never"));
        let odd = said(HookEvent::PreToolUse, json!({"hookSpecificOutput": {"permissionDecision": "defer"}}));
        assert!(odd.failure.is_some_and(|why| why.contains("defer")));
    }
}
