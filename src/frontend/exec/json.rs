//! Output for programs: one JSON object per line on standard output, nothing else.
//!
//! `events.schema.json` describes the events. Fields are never renamed or removed; new fields and types may
//! be added, so readers skip unknown ones. The first line is `session`, the last `turn_ended`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};

use super::printer::{ModelAnswer, Printer, declined, end_words, result_line, with, write_line};
use base::model::item::{Item, ItemId, ToolResult};
use base::protocol::approval::Question;
use base::protocol::event::{Event, TurnEnd};
use base::protocol::goal::GoalRound;

/// For `mycode schema events`; tests validate real streams with it.
pub const SCHEMA: &str = include_str!("events.schema.json");

pub struct Json<O> {
    out: O,
    titles: HashMap<Arc<str>, String>,
    session: Option<String>,
    cost_usd: Option<f64>,
    rounds: Vec<GoalRound>,
}

impl<O: Write> Json<O> {
    pub fn new(out: O) -> Self {
        Self { out, titles: HashMap::new(), session: None, cost_usd: None, rounds: Vec::new() }
    }

    fn line(&mut self, mut event: Value) -> io::Result<()> {
        if let Some(object) = event.as_object_mut() {
            object.retain(|_, value| !value.is_null());
        }
        write_line(&mut self.out, &event)
    }

    fn tool_done(&mut self, id: ItemId, result: &ToolResult) -> io::Result<()> {
        let envelope = &result.envelope;
        if let Some(service) = envelope.data.more.get("service") {
            self.line(json!({"type": "service_started", "call_id": result.call_id, "service": service}))?;
        }
        let title = self.titles.remove(&result.call_id);
        self.line(json!({
            "type": "tool_done", "id": id, "call_id": result.call_id, "tool": result.tool,
            "title": title.unwrap_or_else(|| result.tool.to_string()),
            "status": envelope.status, "summary": result_line(envelope), "data": envelope.data,
            "error": envelope.error, "time_ms": envelope.time_ms,
        }))
    }
}

impl<O: Write> Printer for Json<O> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Session(session) => {
                self.session = Some(session.id.clone());
                self.line(json!({
                    "type": "session", "id": session.id, "model": session.model, "provider": session.provider,
                    "permission": session.permission, "mode": session.mode, "workspace": session.workspace, "turns": session.turns,
                }))
            }
            Event::TurnStarted { text } => self.line(json!({"type": "turn_started", "text": text})),
            Event::Item { id, item } => match &**item {
                Item::Assistant { text, .. } => self.line(json!({"type": "text", "id": id, "text": text})),
                Item::Reasoning(reasoning) => {
                    self.line(json!({"type": "reasoning", "id": id, "text": reasoning.text}))
                }
                _ => Ok(()),
            },
            Event::ToolStarted { call_id, tool, title, args } => {
                self.titles.insert(Arc::clone(call_id), title.clone());
                let args = serde_json::from_str(args).unwrap_or_else(|_| json!(args));
                self.line(json!({
                    "type": "tool_started", "call_id": call_id, "tool": tool, "title": title, "args": args,
                }))
            }
            Event::ToolDone { id, result } => self.tool_done(*id, result),
            Event::Notice { level, text } => {
                self.line(json!({"type": "notice", "level": level, "text": text}))
            }
            Event::Retrying { attempt, of, wait_ms, reason } => self.line(json!({
                "type": "retrying", "attempt": attempt, "of": of, "wait_ms": wait_ms, "reason": reason,
            })),
            Event::Silent { since_ms, left_ms, alive } => {
                self.line(json!({"type": "silent", "since_ms": since_ms, "left_ms": left_ms, "alive": alive}))
            }
            Event::Nudge(nudge) => self.line(with(json!({"type": "nudge"}), json!(nudge))),
            Event::Review(review) => self.line(json!({
                "type": "review", "verdict": if review.passed { "pass" } else { "fail" },
                "findings": review.findings, "checks": review.checks, "usage": review.usage,
            })),
            Event::Goal(state) => {
                self.rounds = state.rounds.clone();
                self.line(json!({
                    "type": "goal", "text": state.goal.text, "check": state.goal.check, "round": self.rounds.last(),
                }))
            }
            Event::Compacting { running } => self.line(json!({"type": "compacting", "running": running})),
            Event::Window(window) => {
                self.cost_usd = window.cost_usd;
                self.line(json!({
                    "type": "usage", "used_tokens": window.used_tokens, "window_tokens": window.window_tokens,
                    "estimated": window.estimated, "total": window.total, "cost_usd": window.cost_usd,
                    "price": window.cost_usd.map(|_| window.price),
                }))
            }
            _ => Ok(()),
        }
    }

    fn denied(&mut self, question: &Question) -> io::Result<()> {
        let (tool, title, reason) = declined(question);
        self.line(json!({"type": "denied", "tool": tool, "title": title, "reason": reason}))
    }

    fn end(&mut self, end: &TurnEnd, answer: &ModelAnswer, exit_code: u8) -> io::Result<()> {
        let (reason, message, hint) = end_words(&end.reason);
        self.line(json!({
            "type": "turn_ended", "reason": reason, "message": message, "hint": hint, "steps": end.steps,
            "prompt_returned": end.reason.returned().map(|_| true),
            "plan": end.plan, "denied": end.denied, "usage": end.usage, "elapsed_ms": end.elapsed_ms, "exit_code": exit_code,
            "facts": present(&end.facts), "services": present(&end.services),
            "set_aside": present(&end.set_aside), "rounds": present(&self.rounds),
            "session": self.session, "cost_usd": self.cost_usd, "result": answer.text, "output": answer.output,
        }))
    }
}

fn present<T>(all: &[T]) -> Option<&[T]> {
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::config::mode::Mode;
    use base::config::settings::Permission;
    use base::model::envelope::{Envelope, ErrorCode};
    use base::model::usage::Usage;
    use base::protocol::approval::ApprovalRequest;
    use base::protocol::event::{EndReason, Level, SessionInfo, WindowState};

    #[test]
    fn every_event_has_its_line() {
        let mut json = Json::new(Vec::new());
        let assistant = Arc::new(Item::assistant("Done."));
        let mut envelope = Envelope::error(ErrorCode::NotFound, "no a.rs").with("path", "a.rs");
        envelope.time_ms = 3;
        let result = ToolResult::new("c1", "Read", envelope);
        let session = SessionInfo {
            id: "s1".to_owned(),
            model: "m".to_owned(),
            provider: "openai".to_owned(),
            permission: Permission::Auto,
            most_permission: Permission::Full,
            mode: Mode::Auto,
            workspace: "/w".to_owned(),
            turns: 0,
            offer_init: true,
            effort: None,
        };
        let started = |args: &str| Event::ToolStarted {
            call_id: "c1".into(),
            tool: "Read".into(),
            title: "Read a.rs".to_owned(),
            args: args.into(),
        };
        for event in [
            Event::Session(session),
            Event::TurnStarted { text: "fix".to_owned() },
            Event::TextDelta("not shown".to_owned()),
            started("{\"path\":"),
            started("{\"path\": \"a.rs\"}"),
            Event::ToolDone { id: ItemId(4), result: Arc::new(result) },
            Event::Notice { level: Level::Warning, text: "two\nlines".to_owned() },
            Event::Retrying { attempt: 2, of: 6, wait_ms: 500, reason: "busy".to_owned() },
            Event::Silent { since_ms: 10_000, left_ms: Some(290_000), alive: false },
            Event::Compacting { running: true },
            Event::Window(WindowState { used_tokens: 9, window_tokens: 100, ..WindowState::default() }),
            Event::Item { id: ItemId(5), item: assistant },
        ] {
            assert!(json.event(&event).is_ok());
        }
        let question = Question::Approval(ApprovalRequest {
            call_id: "c2".to_owned(),
            args: String::new(),
            tool: "Bash".to_owned(),
            title: "rm -r x".to_owned(),
            detail: "rm -r x".to_owned(),
            is_diff: false,
            reason: "a command".to_owned(),
            always_prefix: None,
            session_scope: Some("this exact command".to_owned()),
            parts: Vec::new(),
            agent: None,
        });
        assert!(json.denied(&question).is_ok());
        let end = TurnEnd {
            reason: EndReason::StepLimit { limit: 5 },
            steps: 5,
            denied: 1,
            usage: Usage { input: 9, ..Usage::default() },
            elapsed_ms: 12,
            ..TurnEnd::default()
        };
        let answer = ModelAnswer { text: Some("Done.".to_owned()), output: None };
        assert!(json.end(&end, &answer, 1).is_ok());
        insta::assert_snapshot!(String::from_utf8_lossy(&json.out), @r#"
        {"type":"session","id":"s1","model":"m","provider":"openai","permission":"auto","mode":"auto","workspace":"/w","turns":0}
        {"type":"turn_started","text":"fix"}
        {"type":"tool_started","call_id":"c1","tool":"Read","title":"Read a.rs","args":"{\"path\":"}
        {"type":"tool_started","call_id":"c1","tool":"Read","title":"Read a.rs","args":{"path":"a.rs"}}
        {"type":"tool_done","id":4,"call_id":"c1","tool":"Read","title":"Read a.rs","status":"error","summary":"NOT_FOUND: no a.rs","data":{"path":"a.rs"},"error":{"code":"NOT_FOUND","message":"no a.rs"},"time_ms":3}
        {"type":"notice","level":"warning","text":"two\nlines"}
        {"type":"retrying","attempt":2,"of":6,"wait_ms":500,"reason":"busy"}
        {"type":"silent","since_ms":10000,"left_ms":290000,"alive":false}
        {"type":"compacting","running":true}
        {"type":"usage","used_tokens":9,"window_tokens":100,"estimated":false,"total":{"input":0,"cached":0,"cache_write":0,"output":0,"reasoning":0}}
        {"type":"text","id":5,"text":"Done."}
        {"type":"denied","tool":"Bash","title":"rm -r x","reason":"a command"}
        {"type":"turn_ended","reason":"step_limit","message":"stopped after 5 steps (max_steps); the task is not finished","hint":"to continue, send `continue` or run `mycode exec -c continue`; or raise max_steps in config.toml","steps":5,"denied":1,"usage":{"input":9,"cached":0,"cache_write":0,"output":0,"reasoning":0},"elapsed_ms":12,"exit_code":1,"session":"s1","result":"Done."}
        "#);
    }
}
