//! `SummaryCompressor`: old rounds become one summary, written by a model on a task of its own and checked against the
//! log, or the state block alone when the model is late, silent, wordy or wrong. Nothing is dropped without trace.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use super::grounding::Grounding;
use super::merge;
use super::state_block::StateBlock;
use super::verify;
use crate::base::text;
use crate::config::prompts;
use crate::context::compress::tool_result;
use crate::context::history::entry::Entry;
use crate::context::tokens::estimate::estimate;
use crate::model::item::{Item, Summary};
use crate::model::request::{Block, Message, Params, Request};
use crate::model::stream::StreamEvent;
use crate::model::usage::Usage;
use crate::provider::api::Provider;

/// Who writes summaries, and how long it may take.
#[derive(Clone)]
pub struct SummaryCompressor {
    pub provider: Arc<dyn Provider>,
    pub params: Params,
    pub timeout: Duration,
    /// The writer's own window, in tokens: what it is given must fit, and what it makes is a small share of it.
    pub window_tokens: u64,
}

/// A summary, and what to tell the user if it is not the model's.
#[derive(Debug)]
pub struct SummaryOutcome {
    pub summary: Summary,
    /// Why the state block stands alone; `None` when the model's text was used.
    pub fallback: Option<String>,
    pub struck: usize,
    /// What the model's answer took, when the server said so.
    pub usage: Option<Usage>,
}

impl SummaryCompressor {
    /// Summarizes `entries`. Always gives a summary; never takes longer than the time-out.
    pub async fn summarize(&self, entries: Vec<Entry>, focus: Option<String>) -> SummaryOutcome {
        let mut state = facts(&entries);
        let budget_chars = usize::try_from(self.window_tokens * 3 / 2).unwrap_or(usize::MAX);
        let transcript = transcript(&entries, budget_chars);
        let earlier = state.levels.join("\n\n");
        let asked =
            tokio::time::timeout(self.timeout, self.ask(&transcript, &earlier, focus.as_deref())).await;
        let before: u64 = entries.iter().map(|entry| u64::from(entry.tokens())).sum();
        let (written, usage) = match asked {
            Err(_) => (Err(format!("no summary within {} s", self.timeout.as_secs())), None),
            Ok(Err(message)) => (Err(message), None),
            Ok(Ok((said, usage))) => (judged(said, before), usage),
        };
        let (struck, fallback) = match written {
            Ok(said) => {
                let evidence = Grounding::gather(entries.iter().map(|entry| &*entry.item), &state.render());
                let (clean, struck) = verify::strike_unknown(said.trim(), &evidence);
                let newest = state.levels.len();
                state.levels.push(clean);
                let whole = finish(self.window_tokens, state.clone());
                if u64::from(estimate(&whole.text)) < before {
                    return SummaryOutcome { summary: whole, fallback: None, struck, usage };
                }
                state.levels.truncate(newest);
                (struck, "the summary is no smaller than what it sums up".to_owned())
            }
            Err(reason) => (0, reason),
        };
        SummaryOutcome { summary: finish(self.window_tokens, state), fallback: Some(fallback), struck, usage }
    }

    async fn ask(
        &self,
        transcript: &str,
        earlier: &str,
        focus: Option<&str>,
    ) -> Result<(String, Option<Usage>), String> {
        let focus = focus
            .filter(|focus| !focus.trim().is_empty())
            .map(|focus| format!("\n\nKeep in detail: {focus}"))
            .unwrap_or_default();
        let known = if earlier.is_empty() {
            String::new()
        } else {
            format!("<already_summarized>\n{earlier}\n</already_summarized>\n\n")
        };
        let request = Request {
            system: vec![Block { text: prompts::SUMMARY.trim().into() }],
            messages: vec![Message::User(
                format!("{known}<conversation>\n{transcript}</conversation>{focus}").into(),
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
                StreamEvent::Done { usage, .. } => return Ok((said, usage)),
                _ => {}
            }
        }
        Err("the summary broke off".to_owned())
    }
}

/// What the program itself has recorded of `entries`, as the summary that needs no model; sized for a window.
pub fn facts_only(entries: &[Entry], window_tokens: u64) -> Summary {
    finish(window_tokens, facts(entries))
}

fn facts(entries: &[Entry]) -> StateBlock {
    StateBlock::gather_numbered(entries.iter().map(|entry| (entry.id, &*entry.item)))
}

fn finish(window_tokens: u64, mut state: StateBlock) -> Summary {
    let levels_tokens = (window_tokens / 16).clamp(300, 6_000);
    let facts_tokens = (window_tokens / 10).max(300);
    state.levels = merge::merge(std::mem::take(&mut state.levels), levels_tokens);
    let mut text = String::from("## Archived History Summary\n");
    let newest = state.levels.len().saturating_sub(1);
    for (number, level) in state.levels.iter().enumerate() {
        if number < newest {
            text.push_str("### Earlier still\n");
        }
        text.push_str(level.trim_end());
        text.push_str("\n\n");
    }
    text.push_str("### Facts recorded by the program\n");
    text.push_str(&state.render_within(facts_tokens));
    let state = serde_json::to_value(&state).unwrap_or_default();
    Summary { text: text.into(), state }
}

/// The model's text if it is a summary at all.
fn judged(said: String, before: u64) -> Result<String, String> {
    let lower = said.to_lowercase();
    let headings = prompts::SUMMARY.lines().filter_map(|line| line.strip_prefix("## "));
    if said.trim().is_empty() {
        Err("the model's summary is empty".to_owned())
    } else if !headings.map(str::to_lowercase).any(|heading| lower.contains(&heading)) {
        Err("the model's answer is no summary".to_owned())
    } else if u64::from(estimate(&said)) >= before {
        Err("the model's summary is longer than what it sums up".to_owned())
    } else {
        Ok(said)
    }
}

/// The rounds as the summarizer reads them: `[role] content`, tools as `[tool:Name] {json}`; results in their history
/// form; cut in the middle to `max_chars`. An earlier summary is no part of it: it is not summarized again.
pub fn transcript(entries: &[Entry], max_chars: usize) -> String {
    let mut lines: Vec<String> = Vec::with_capacity(entries.len());
    for entry in entries {
        lines.push(match &*entry.item {
            Item::User(message) => format!("[user] {}", text::elide(&message.text, 4_000)),
            Item::Assistant { text: said } => format!("[assistant] {}", text::elide(said, 2_000)),
            Item::Reasoning(_) | Item::Summary(_) => continue,
            Item::ToolCall(call) => format!("[tool:{}] {}", call.name, text::elide(&call.args, 600)),
            Item::ToolResult(result) => {
                let short = tool_result::compress(entry.id, result);
                let wire = result.envelope.wire();
                format!("[result:{}] {}", result.tool, text::elide(short.as_deref().unwrap_or(&wire), 1_500))
            }
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
