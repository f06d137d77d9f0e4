//! Output for programs: one JSON object a line on standard output, nothing else.
//!
//! Fields are never renamed or removed; new ones and new types may come, so readers skip what they don't know. A field
//! shown with `?` is left out when there is nothing to say. `events.schema.json` says the same as a JSON Schema. The first line is `session`, the last `turn_ended`.
//!
//! | `type` | meaning and example |
//! |---|---|
//! | `session` | the session is open: `{"type":"session","id":"0198…","model":"m","provider":"openai","permission":"auto","mode":"auto","workspace":"/w","turns":0}` |
//! | `turn_started` | `{"type":"turn_started","text":"fix the test"}` |
//! | `reasoning` | finished thinking: `{"type":"reasoning","id":2,"text":"…"}` |
//! | `text` | a finished text of the model; the last one before `turn_ended` is the answer: `{"type":"text","id":3,"text":"Done."}` |
//! | `tool_started` | `args` is an object, or the raw text when it is no JSON: `{"type":"tool_started","call_id":"c1","tool":"Read","title":"Read a.rs","args":{"path":"a.rs"}}` |
//! | `tool_done` | `status` is success, partial or error; `summary` one line for people; `data` the envelope's facts without the large body: `{"type":"tool_done","id":4,"call_id":"c1","tool":"Read","title":"Read a.rs","status":"success","summary":"40 lines","data":{…},"error"?:{"code":"NOT_FOUND","message":"…"},"time_ms":3}` |
//! | `denied` | a question was answered with no, because nobody can be asked: `{"type":"denied","tool":"Bash","title":"rm -r x","reason":"…"}` |
//! | `notice` | `level` is info, warning or error: `{"type":"notice","level":"warning","text":"…"}` |
//! | `retrying` | the answer so far is void: `{"type":"retrying","attempt":2,"of":6,"wait_ms":500,"reason":"…"}` |
//! | `silent` | nothing has come for `since_ms`; the answer is given up after `left_ms` more: `{"type":"silent","since_ms":10000,"left_ms":290000}` |
//! | `compacting` | `{"type":"compacting","running":true}` |
//! | `usage` | the window after a request was built (`estimated`) or answered; `total` sums up the session: `{"type":"usage","used_tokens":900,"window_tokens":128000,"estimated":false,"total":{"input":900,"cached":800,"cache_write":0,"output":12,"reasoning":0},"cost_usd"?:0.01}` |
//! | `turn_ended` | `reason` is done, interrupted, step_limit, provider_failed or failed; `usage` is that of this turn; `session`, `cost_usd` (of the session) and `result` (the last text) come once more, `output` is the valid answer that --output-schema asked for; `prompt_returned` is true when a filter of the server refused the message, which left the session: `{"type":"turn_ended","reason":"done","message"?:"…","hint"?:"…","prompt_returned"?:true,"steps":3,"plan"?:".mycode/plans/….md","denied":0,"usage":{…},"elapsed_ms":1200,"exit_code":0,"session"?:"0198…","cost_usd"?:0.01,"result"?:"Done.","output"?:{…}}` |

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};

use super::printer::{Printer, end_words, result_line};
use base::model::item::{Item, ItemId, ToolResult};
use base::protocol::approval::Question;
use base::protocol::event::{Event, TurnEnd};
use base::sanitize;

/// The printer for programs.
pub struct Json<O> {
    out: O,
    titles: HashMap<Arc<str>, String>,
    /// What the last line tells again.
    session: Option<String>,
    cost_usd: Option<f64>,
    result: Option<Arc<str>>,
    output: Option<Value>,
}

impl<O: Write> Json<O> {
    pub fn new(out: O) -> Self {
        Self { out, titles: HashMap::new(), session: None, cost_usd: None, result: None, output: None }
    }

    /// One write a line, so that a reader never sees half of one.
    fn line(&mut self, mut event: Value) -> io::Result<()> {
        if let Some(object) = event.as_object_mut() {
            object.retain(|_, value| !value.is_null());
        }
        let mut line = sanitize::escape(&event.to_string()).into_owned();
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }

    fn tool_done(&mut self, id: ItemId, result: &ToolResult) -> io::Result<()> {
        let envelope = &result.envelope;
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
            Event::Session(session) => self.session = Some(session.id.clone()),
            Event::Window(window) => self.cost_usd = window.cost_usd,
            Event::Item { item, .. } => {
                if let Item::Assistant { text, .. } = &**item {
                    self.result = Some(Arc::clone(text));
                }
            }
            _ => {}
        }
        match event {
            Event::Session(session) => self.line(json!({
                "type": "session", "id": session.id, "model": session.model, "provider": session.provider,
                "permission": session.permission, "mode": session.mode, "workspace": session.workspace, "turns": session.turns,
            })),
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
            Event::Silent { since_ms, left_ms } => {
                self.line(json!({"type": "silent", "since_ms": since_ms, "left_ms": left_ms}))
            }
            Event::Compacting { running } => self.line(json!({"type": "compacting", "running": running})),
            Event::Window(window) => self.line(json!({
                "type": "usage", "used_tokens": window.used_tokens, "window_tokens": window.window_tokens,
                "estimated": window.estimated, "total": window.total, "cost_usd": window.cost_usd,
            })),
            _ => Ok(()),
        }
    }

    fn denied(&mut self, question: &Question) -> io::Result<()> {
        let (tool, title, reason) = match question {
            Question::Approval(request) => {
                (request.tool.as_str(), request.title.as_str(), request.reason.as_str())
            }
            Question::Ask { questions } => {
                let first = questions.first().map_or("", |asked| &asked.question);
                ("AskUser", first, "no user is available")
            }
            // Headless no plan is asked about.
            Question::Plan(plan) => ("", plan.path.as_str(), "no user is available"),
        };
        self.line(json!({"type": "denied", "tool": tool, "title": title, "reason": reason}))
    }

    fn output(&mut self, output: &Value) {
        self.output = Some(output.clone());
    }

    fn end(&mut self, end: &TurnEnd, exit_code: u8) -> io::Result<()> {
        let (reason, message, hint) = end_words(&end.reason);
        self.line(json!({
            "type": "turn_ended", "reason": reason, "message": message, "hint": hint, "steps": end.steps,
            "prompt_returned": end.reason.returned().map(|_| true),
            "plan": end.plan, "denied": end.denied, "usage": end.usage, "elapsed_ms": end.elapsed_ms, "exit_code": exit_code,
            "session": self.session, "cost_usd": self.cost_usd, "result": self.result, "output": self.output,
        }))
    }
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
        let result = ToolResult { call_id: "c1".into(), tool: "Read".into(), envelope };
        let session = SessionInfo {
            id: "s1".to_owned(),
            model: "m".to_owned(),
            provider: "openai".to_owned(),
            permission: Permission::Auto,
            mode: Mode::Auto,
            workspace: "/w".to_owned(),
            turns: 0,
            offer_init: true,
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
            Event::Silent { since_ms: 10_000, left_ms: 290_000 },
            Event::Compacting { running: true },
            Event::Window(WindowState { used_tokens: 9, window_tokens: 100, ..WindowState::default() }),
            Event::Item { id: ItemId(5), item: assistant },
        ] {
            assert!(json.event(&event).is_ok());
        }
        let question = Question::Approval(ApprovalRequest {
            call_id: "c2".to_owned(),
            tool: "Bash".to_owned(),
            title: "rm -r x".to_owned(),
            detail: "rm -r x".to_owned(),
            is_diff: false,
            reason: "a command".to_owned(),
            always_prefix: None,
            session_scope: Some("this exact command".to_owned()),
            agent: None,
        });
        assert!(json.denied(&question).is_ok());
        let end = TurnEnd {
            reason: EndReason::StepLimit { limit: 5 },
            steps: 5,
            denied: 1,
            usage: Usage { input: 9, ..Usage::default() },
            elapsed_ms: 12,
            plan: None,
        };
        assert!(json.end(&end, 1).is_ok());
        insta::assert_snapshot!(String::from_utf8_lossy(&json.out), @r#"
        {"type":"session","id":"s1","model":"m","provider":"openai","permission":"auto","mode":"auto","workspace":"/w","turns":0}
        {"type":"turn_started","text":"fix"}
        {"type":"tool_started","call_id":"c1","tool":"Read","title":"Read a.rs","args":"{\"path\":"}
        {"type":"tool_started","call_id":"c1","tool":"Read","title":"Read a.rs","args":{"path":"a.rs"}}
        {"type":"tool_done","id":4,"call_id":"c1","tool":"Read","title":"Read a.rs","status":"error","summary":"NOT_FOUND: no a.rs","data":{"path":"a.rs"},"error":{"code":"NOT_FOUND","message":"no a.rs"},"time_ms":3}
        {"type":"notice","level":"warning","text":"two\nlines"}
        {"type":"retrying","attempt":2,"of":6,"wait_ms":500,"reason":"busy"}
        {"type":"silent","since_ms":10000,"left_ms":290000}
        {"type":"compacting","running":true}
        {"type":"usage","used_tokens":9,"window_tokens":100,"estimated":false,"total":{"input":0,"cached":0,"cache_write":0,"output":0,"reasoning":0}}
        {"type":"text","id":5,"text":"Done."}
        {"type":"denied","tool":"Bash","title":"rm -r x","reason":"a command"}
        {"type":"turn_ended","reason":"step_limit","message":"stopped after 5 steps (max_steps); the task is not finished","hint":"continue with `mycode exec -c continue`, or raise max_steps in config.toml","steps":5,"denied":1,"usage":{"input":9,"cached":0,"cache_write":0,"output":0,"reasoning":0},"elapsed_ms":12,"exit_code":1,"session":"s1","result":"Done."}
        "#);
    }
}
