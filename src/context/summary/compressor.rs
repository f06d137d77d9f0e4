//! `SummaryCompressor`: old rounds become one summary, written by a model and checked against the log, or
//! only the state block if the model is late, silent, wordy or wrong.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use super::grounding::Grounding;
use super::merge;
use super::state_block::StateBlock;
use super::verify;
use crate::compress::tool_result::ToolResultCompressor;
use crate::history::entry::{self, HistoryEntry};
use crate::tokens::estimate::estimate;
use base::config::prompts;
use base::model::item::{Item, Summary};
use base::model::provider::Provider;
use base::model::request::{Block, Message, Params, Request};
use base::model::stream::StreamEvent;
use base::model::usage::Usage;
use base::protocol::goal::Goal;
use base::text;

#[derive(Clone)]
pub struct SummaryCompressor {
    pub provider: Arc<dyn Provider>,
    pub params: Params,
    pub timeout: Duration,
    /// The model's own window, in tokens: its input must fit, and its output is a small share of it.
    pub window_tokens: u64,
}

#[derive(Debug)]
pub struct SummaryOutcome {
    pub summary: Summary,
    /// Why only the state block is used; `None` if the model's text was used.
    pub fallback: Option<String>,
    pub usage: Option<Usage>,
}

impl SummaryCompressor {
    /// Always returns a summary, within the time-out.
    pub async fn summarize(
        &self,
        entries: Vec<HistoryEntry>,
        goal: Option<Goal>,
        focus: Option<String>,
    ) -> SummaryOutcome {
        let mut state = facts(&entries, goal);
        let budget = usize::try_from(self.window_tokens * 3 / 2).unwrap_or(usize::MAX);
        let transcript = transcript(&entries, budget);
        let earlier = state.levels.join("\n\n");
        let asked = tokio::time::timeout(self.timeout, self.ask(&transcript, &earlier, focus.as_deref()));
        let before = entry::tokens_of(&entries);
        let (written, usage) = match asked.await {
            Err(_) => (Err(format!("no answer within {} s", self.timeout.as_secs())), None),
            Ok(Err(message)) => (Err(message), None),
            Ok(Ok((answer, usage))) => (checked(answer, before), usage),
        };
        let fallback = match written {
            Err(reason) => reason,
            Ok(answer) => {
                let evidence = Grounding::gather(entries.iter().map(|entry| &*entry.item), &state.render());
                let clean = verify::strike_unknown(answer.trim(), &evidence).0;
                let newest = state.levels.len();
                state.levels.push(clean);
                let summary = finish(self.window_tokens, state.clone());
                if u64::from(estimate(&summary.text)) < before {
                    return SummaryOutcome { summary, fallback: None, usage };
                }
                state.levels.truncate(newest);
                NOT_SMALLER.to_owned()
            }
        };
        SummaryOutcome { summary: finish(self.window_tokens, state), fallback: Some(fallback), usage }
    }

    async fn ask(
        &self,
        transcript: &str,
        earlier: &str,
        focus: Option<&str>,
    ) -> Result<(String, Option<Usage>), String> {
        let focus = focus
            .filter(|focus| !focus.trim().is_empty())
            .map(|focus| format!("\n\nKeep the details of: {focus}"))
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
        let mut written = String::new();
        while let Some(event) = answer.next().await {
            match event.map_err(|error| error.to_string())? {
                StreamEvent::Item(Item::Assistant { text, .. }) => written.push_str(&text),
                StreamEvent::Restarted { .. } => written.clear(),
                StreamEvent::Done { usage, .. } => return Ok((written, usage)),
                _ => {}
            }
        }
        Err("the answer was cut off".to_owned())
    }
}

/// The summary that needs no model: what the program itself recorded of `entries`, sized for a window.
pub fn facts_only(entries: &[HistoryEntry], goal: Option<&Goal>, window_tokens: u64) -> Summary {
    finish(window_tokens, facts(entries, goal.cloned()))
}

fn facts(entries: &[HistoryEntry], goal: Option<Goal>) -> StateBlock {
    StateBlock { goal, ..StateBlock::gather(entries.iter().map(|entry| (entry.id, &*entry.item))) }
}

fn finish(window_tokens: u64, mut state: StateBlock) -> Summary {
    let levels_tokens = (window_tokens / 16).clamp(300, 6_000);
    let facts_tokens = (window_tokens / 10).max(300);
    state.levels = merge::merge(std::mem::take(&mut state.levels), levels_tokens);
    let mut text = String::from("## Archived History Summary\n");
    let newest = state.levels.len().saturating_sub(1);
    for (number, level) in state.levels.iter().enumerate() {
        if number < newest {
            text.push_str("### Earlier summary\n");
        }
        text.push_str(level.trim_end());
        text.push_str("\n\n");
    }
    text.push_str("### Facts recorded by the program\n");
    text.push_str(&state.render_within(facts_tokens));
    let state = serde_json::to_value(&state).unwrap_or_default();
    Summary { text: text.into(), state }
}

const NOT_SMALLER: &str = "the summary would not save space";

/// An answer with as many headings as asked for has them in that order, whatever its language.
fn with_headings(answer: &str) -> String {
    let mut headings = prompts::SUMMARY.lines().filter(|line| line.starts_with("## "));
    let is_heading = |line: &str| line.starts_with("## ");
    if answer.lines().filter(|line| is_heading(line)).count() != headings.clone().count() {
        return answer.to_owned();
    }
    let lines =
        answer.lines().map(|line| if is_heading(line) { headings.next().unwrap_or(line) } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

fn checked(answer: String, before: u64) -> Result<String, String> {
    let answer = with_headings(&answer);
    let lower = answer.to_lowercase();
    let mut headings = prompts::SUMMARY.lines().filter_map(|line| line.strip_prefix("## "));
    if answer.trim().is_empty() {
        Err("the model returned an empty response".to_owned())
    } else if !headings.any(|heading| lower.contains(&heading.to_lowercase())) {
        Err("the model's answer could not be used as a summary".to_owned())
    } else if u64::from(estimate(&answer)) >= before {
        Err(NOT_SMALLER.to_owned())
    } else {
        Ok(answer)
    }
}

/// The summarizer's input: `[role] content`, tools as `[tool:Name] {json}`, results in their history form;
/// middle cut to `max_bytes`. Excludes an earlier summary: it isn't summarized again.
fn transcript(entries: &[HistoryEntry], max_bytes: usize) -> String {
    let line = |entry: &HistoryEntry| {
        Some(match &*entry.item {
            Item::User(message) => format!("[user] {}\n", text::elide(&message.text, 4_000)),
            Item::Assistant { text: words, .. } => format!("[assistant] {}\n", text::elide(words, 2_000)),
            Item::Reasoning(_) | Item::Summary(_) | Item::Reminder(_) => return None,
            Item::Image(image) => format!("{}\n", image.placeholder("")),
            Item::ToolCall(call) => format!("[tool:{}] {}\n", call.name, text::elide(&call.args, 600)),
            Item::ToolResult(result) => {
                format!("[result:{}] {}\n", result.tool, ToolResultCompressor::for_summary(result))
            }
        })
    };
    let mut lines: Vec<String> = entries.iter().filter_map(line).collect();
    let mut total: usize = lines.iter().map(String::len).sum();
    let cut_from = lines.len() / 3;
    let mut cut_to = cut_from;
    while total > max_bytes && cut_to < lines.len() {
        total -= lines[cut_to].len();
        cut_to += 1;
    }
    if cut_to > cut_from {
        let mark = format!("[… {} entries left out …]\n", cut_to - cut_from);
        lines.splice(cut_from..cut_to, [mark]);
    }
    lines.concat()
}
