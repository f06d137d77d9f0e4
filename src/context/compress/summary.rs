//! `SummaryCompressor`: old rounds become one summary, written by a model on a task of its own and checked against the
//! log, or the state block alone when the model is late, silent, wordy or wrong. Nothing is dropped without trace.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;

use super::state_block::StateBlock;
use super::{tool_result, verify};
use crate::base::text;
use crate::config::prompts;
use crate::context::budget::tokens;
use crate::context::history::entry::Entry;
use crate::model::item::{Item, Summary};
use crate::model::request::{Block, Message, Params, Request};
use crate::model::stream::StreamEvent;
use crate::provider::api::Provider;

/// Who writes summaries, and how long it may take.
#[derive(Clone)]
pub struct SummaryCompressor {
    pub provider: Arc<dyn Provider>,
    pub params: Params,
    pub timeout: Duration,
    /// The writer's own window, in tokens: what it is given must fit.
    pub window_tokens: u64,
}

/// A summary, and what to tell the person if it is not the model's.
#[derive(Debug)]
pub struct Summarised {
    pub summary: Summary,
    /// Why the state block stands alone; `None` when the model's text was used.
    pub fallback: Option<String>,
    pub struck: usize,
}

impl SummaryCompressor {
    /// Summarises `entries`. Always gives a summary; never takes longer than the time-out.
    pub async fn summarise(&self, entries: Vec<Entry>, focus: Option<String>) -> Summarised {
        let state = StateBlock::gather(entries.iter().map(|entry| &*entry.item));
        let budget_chars = usize::try_from(self.window_tokens * 3 / 2).unwrap_or(usize::MAX);
        let transcript = transcript(&entries, budget_chars);
        let asked = tokio::time::timeout(self.timeout, self.ask(&transcript, focus.as_deref())).await;
        let before: u64 = entries.iter().map(|entry| u64::from(entry.tokens())).sum();
        let written = match asked {
            Err(_) => Err(format!("no summary within {} s", self.timeout.as_secs())),
            Ok(Err(message)) => Err(message),
            Ok(Ok(said)) if said.trim().is_empty() => Err("the model's summary is empty".to_owned()),
            Ok(Ok(said)) if u64::from(tokens::estimate(&said)) >= before => {
                Err("the model's summary is longer than what it sums up".to_owned())
            }
            Ok(Ok(said)) => Ok(said),
        };
        let facts = state.render();
        let (body, struck, fallback) = match written {
            Ok(said) => {
                let (clean, struck) = verify::strike_unknown(said.trim(), |name| {
                    facts.contains(name) || entries.iter().any(|entry| occurs(&entry.item, name))
                });
                (Some(clean), struck, None)
            }
            Err(reason) => (None, 0, Some(reason)),
        };
        let mut text = String::from("## Archived History Summary\n");
        if let Some(body) = body {
            text.push_str(&body);
            text.push_str("\n\n");
        }
        text.push_str("### Facts recorded by the program\n");
        text.push_str(&facts);
        let state = serde_json::to_value(&state).unwrap_or_default();
        Summarised { summary: Summary { text: text.into(), state }, fallback, struck }
    }

    async fn ask(&self, transcript: &str, focus: Option<&str>) -> Result<String, String> {
        let focus = focus.map(|focus| format!("\n\nKeep in detail: {focus}")).unwrap_or_default();
        let request = Request {
            system: vec![Block { text: prompts::SUMMARY.trim().into() }],
            messages: vec![Message::User(
                format!("<conversation>\n{transcript}</conversation>{focus}").into(),
            )],
            params: self.params.clone(),
            ..Request::default()
        };
        let mut answer = self.provider.stream(&request);
        let mut said = String::new();
        while let Some(event) = answer.next().await {
            match event.map_err(|error| error.to_string())? {
                StreamEvent::Item(Item::Assistant { text }) => said.push_str(&text),
                StreamEvent::Restarted { .. } => said.clear(),
                StreamEvent::Done { .. } => return Ok(said),
                _ => {}
            }
        }
        Err("the summary broke off".to_owned())
    }
}

/// Whether `name` occurs in what an item says.
fn occurs(item: &Item, name: &str) -> bool {
    match item {
        Item::User(message) => message.wire().contains(name),
        Item::Assistant { text } => text.contains(name),
        Item::Reasoning(reasoning) => reasoning.text.contains(name),
        // Arguments are JSON text: a name with quotes or backslashes stands there escaped.
        Item::ToolCall(call) => {
            call.args.contains(name) || call.args.contains(Value::from(name).to_string().trim_matches('"'))
        }
        Item::ToolResult(result) => result.envelope.wire().contains(name),
        Item::Summary(summary) => summary.text.contains(name),
    }
}

/// The rounds as the summariser reads them: `[role] content`, tools as `[tool:Name] {json}`; results in their history
/// form; cut in the middle to `max_chars`.
pub fn transcript(entries: &[Entry], max_chars: usize) -> String {
    let mut lines: Vec<String> = Vec::with_capacity(entries.len());
    for entry in entries {
        lines.push(match &*entry.item {
            Item::User(message) => format!("[user] {}", text::elide(&message.text, 4_000)),
            Item::Assistant { text: said } => format!("[assistant] {}", text::elide(said, 2_000)),
            Item::Reasoning(_) => continue,
            Item::ToolCall(call) => format!("[tool:{}] {}", call.name, text::elide(&call.args, 600)),
            Item::ToolResult(result) => {
                let short = tool_result::compress(entry.id, result);
                let wire = result.envelope.wire();
                format!("[result:{}] {}", result.tool, text::elide(short.as_deref().unwrap_or(&wire), 1_500))
            }
            Item::Summary(summary) => format!("[summary] {}", summary.text),
        });
    }
    let mut total: usize = lines.iter().map(|line| line.len() + 1).sum();
    let mut cut_from = lines.len() / 3;
    let mut dropped = 0;
    while total > max_chars && cut_from < lines.len() {
        total -= lines[cut_from].len();
        lines[cut_from].clear();
        dropped += 1;
        cut_from += 1;
    }
    let mut out = String::with_capacity(total + 64);
    let mut noted = false;
    for line in lines {
        if line.is_empty() {
            if !noted {
                out.push_str(&format!("[… {dropped} entries left out …]\n"));
                noted = true;
            }
            continue;
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}
