//! A build's progress output: lines for people, or one JSON object per line.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;

use crate::qa::checks::{CheckOutcome, CheckResult};
use crate::sub_agents::runner;
use base::model::usage::Usage;
use base::protocol::event::EndReason;
use base::sanitize;
use base::text::{human_tokens, one_line, plural};

/// The JSON is a public format.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BuildEvent<'a> {
    #[serde(rename = "build")]
    Begun {
        id: &'a str,
        folder: &'a str,
    },
    PartStarted {
        part: &'a str,
        role: &'a str,
        about: &'a str,
    },
    Progress {
        part: &'a str,
        line: &'a str,
    },
    PartDone {
        part: &'a str,
        agent: &'a str,
        steps: u32,
        end: &'a EndReason,
        usage: &'a Usage,
        changed: &'a [String],
        #[serde(skip)]
        early: Option<String>,
    },
    Check(&'a CheckResult),
    Wrote {
        file: &'a str,
    },
    #[serde(rename = "notice")]
    Note {
        text: &'a str,
    },
    BuildEnded {
        outcome: &'a str,
        report: Option<&'a str>,
        message: Option<&'a str>,
        exit_code: u8,
    },
}

#[derive(Clone)]
pub struct Show {
    json: bool,
    /// The last progress line, to skip repeats.
    last: Arc<Mutex<String>>,
    log: Option<Arc<File>>,
}

impl Show {
    pub fn new(json: bool, log: Option<File>) -> Self {
        Self { json, last: Arc::default(), log: log.map(Arc::new) }
    }

    /// Ignores a closed output: only the files matter.
    pub fn say(&self, event: &BuildEvent<'_>) {
        let line = self.line(event).map(|line| format!("{}\n", sanitize::clean(&line)));
        if let (Some(line), Some(mut log)) = (&line, self.log.as_deref()) {
            let _ = log.write_all(line.as_bytes());
        }
        if self.json {
            let line = format!("{}\n", json!(event));
            let _ = std::io::stdout().lock().write_all(line.as_bytes());
        } else if let Some(line) = line {
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }

    fn line(&self, event: &BuildEvent<'_>) -> Option<String> {
        Some(match event {
            BuildEvent::Begun { folder, .. } => format!("Building in {folder}"),
            BuildEvent::PartStarted { part, about: "", .. } => format!("{part} …"),
            BuildEvent::PartStarted { part, about, .. } => format!("{part} · {}", one_line(about, 100)),
            BuildEvent::Progress { part, line } => {
                let mut last = self.last.lock();
                let line = format!("  {part}: {}", one_line(line, 120));
                let is_shown = std::io::stderr().is_terminal() || line.contains(runner::WAITS);
                if *last == line || !is_shown {
                    return None;
                }
                last.clone_from(&line);
                line
            }
            BuildEvent::PartDone { part, steps, usage, early, .. } => {
                let (mark, end) = match early {
                    Some(why) => ("✗", format!(" · {}", one_line(why, 100))),
                    None => ("✓", String::new()),
                };
                let tokens = match usage.total() {
                    0 => String::new(),
                    tokens => format!(" · {} tokens", human_tokens(tokens)),
                };
                format!("{mark} {part} · {}{tokens}{end}", plural(*steps as usize, "step"))
            }
            BuildEvent::Check(result) => {
                let mark = if result.outcome == CheckOutcome::Passed { "✓" } else { "✗" };
                format!("{mark} check {}", result.line())
            }
            BuildEvent::Wrote { file } => format!("  → {file}"),
            BuildEvent::Note { text } => (*text).to_owned(),
            BuildEvent::BuildEnded { message, .. } => (*message)?.to_owned(),
        })
    }
}
