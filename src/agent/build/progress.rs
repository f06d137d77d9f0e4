//! A build's progress output: lines for people, or one JSON object per line.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use crate::qa::checks::{CheckOutcome, CheckResult};
use base::sanitize;
use base::text::{human_tokens, one_line, plural};
use tools::sub_agent::SubReport;

pub enum BuildEvent<'a> {
    Begun { id: &'a str, folder: &'a str },
    Started { part: &'a str, role: &'a str, about: &'a str },
    Progress { part: &'a str, line: &'a str },
    Done { part: &'a str, report: &'a SubReport },
    Checked { result: &'a CheckResult },
    Wrote { file: &'a str },
    Note { text: &'a str },
    Ended { outcome: &'a str, report: Option<&'a str>, message: Option<&'a str>, exit_code: u8 },
}

#[derive(Clone)]
pub struct Show {
    json: bool,
    /// The last progress line, to skip repeats.
    last: Arc<Mutex<String>>,
}

impl Show {
    pub fn new(json: bool) -> Self {
        Self { json, last: Arc::default() }
    }

    /// Ignores a closed output: the files are what counts.
    pub fn say(&self, event: &BuildEvent<'_>) {
        if self.json {
            let line = format!("{}\n", self.object(event));
            let _ = std::io::stdout().lock().write_all(line.as_bytes());
            return;
        }
        if let Some(line) = self.line(event) {
            let line = format!("{}\n", sanitize::clean(&line));
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }

    fn object(&self, event: &BuildEvent<'_>) -> serde_json::Value {
        match event {
            BuildEvent::Begun { id, folder } => json!({"type": "build", "id": id, "folder": folder}),
            BuildEvent::Started { part, role, about } => {
                json!({"type": "part_started", "part": part, "role": role, "about": about})
            }
            BuildEvent::Progress { part, line } => json!({"type": "progress", "part": part, "line": line}),
            BuildEvent::Done { part, report } => json!({
                "type": "part_done", "part": part, "agent": report.id, "steps": report.steps, "end": report.end,
                "usage": report.usage, "changed": report.changed,
            }),
            BuildEvent::Checked { result } => {
                let mut line = json!(result);
                line["type"] = json!("check");
                line
            }
            BuildEvent::Wrote { file } => json!({"type": "wrote", "file": file}),
            BuildEvent::Note { text } => json!({"type": "notice", "text": text}),
            BuildEvent::Ended { outcome, report, message, exit_code } => json!({
                "type": "build_ended", "outcome": outcome, "report": report, "message": message,
                "exit_code": exit_code,
            }),
        }
    }

    fn line(&self, event: &BuildEvent<'_>) -> Option<String> {
        Some(match event {
            BuildEvent::Begun { folder, .. } => format!("Building in {folder}"),
            BuildEvent::Started { part, about: "", .. } => format!("{part} …"),
            BuildEvent::Started { part, about, .. } => format!("{part} · {}", one_line(about, 100)),
            BuildEvent::Progress { part, line } => {
                let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                let line = format!("  {part}: {}", one_line(line, 120));
                if *last == line || !std::io::stderr().is_terminal() {
                    return None;
                }
                last.clone_from(&line);
                line
            }
            BuildEvent::Done { part, report } => {
                let (mark, end) = match report.ended_early() {
                    Some(why) => ("✗", format!(" · {}", one_line(&why, 100))),
                    None => ("✓", String::new()),
                };
                let tokens = match report.usage.total() {
                    0 => String::new(),
                    tokens => format!(" · {} tokens", human_tokens(tokens)),
                };
                format!("{mark} {part} · {}{tokens}{end}", plural(report.steps as usize, "step"))
            }
            BuildEvent::Checked { result } => {
                let mark = if result.outcome == CheckOutcome::Passed { "✓" } else { "✗" };
                format!("{mark} check {}", result.line())
            }
            BuildEvent::Wrote { file } => format!("  → {file}"),
            BuildEvent::Note { text } => (*text).to_owned(),
            BuildEvent::Ended { message, .. } => (*message)?.to_owned(),
        })
    }
}
