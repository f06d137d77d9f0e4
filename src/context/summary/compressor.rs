//! `SummaryCompressor`: a model writes one summary of old rounds, which is checked against the log; only the state block is
//! used if the model is late, silent, wordy or wrong. Earlier summaries are merged without a model: the newest stays as
//! written; if all together are too long, older ones keep only their goals, key files and open items, then less.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use super::grounding::Grounding;
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
    /// The model's own window, in tokens; its input must fit, and its output is a small share of it.
    pub window_tokens: u64,
}

#[derive(Debug)]
pub struct SummaryOutcome {
    pub summary: Summary,
    /// Why only the state block is used; `None` if the model's summary is.
    pub fallback: Option<String>,
    pub usage: Option<Usage>,
}

impl SummaryCompressor {
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

/// A summary without a model: what the program recorded of `entries`, sized for a window.
pub fn facts_only(entries: &[HistoryEntry], goal: Option<&Goal>, window_tokens: u64) -> Summary {
    finish(window_tokens, facts(entries, goal.cloned()))
}

fn facts(entries: &[HistoryEntry], goal: Option<Goal>) -> StateBlock {
    StateBlock { goal, ..StateBlock::gather(entries.iter().map(|entry| (entry.id, &*entry.item))) }
}

fn finish(window_tokens: u64, mut state: StateBlock) -> Summary {
    let levels_tokens = (window_tokens / 16).clamp(300, 6_000);
    let facts_tokens = (window_tokens / 10).max(300);
    state.levels = merged(std::mem::take(&mut state.levels), levels_tokens);
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

/// How models mark headings, whatever format was asked for.
const HEADING_MARKS: [&str; 4] = ["## ", "### ", "# ", "**"];

/// The same number of other headings counts as a translation; otherwise one requested heading or any three are needed.
fn with_headings(answer: &str) -> Option<String> {
    let headings: Vec<&str> = prompts::SUMMARY.lines().filter(|line| line.starts_with("## ")).collect();
    let count = |mark: &str| answer.lines().filter(|line| line.starts_with(mark)).count();
    let lower = answer.to_lowercase();
    let is_named = headings.iter().any(|heading| lower.contains(&heading[3..].to_lowercase()));
    let marks = &HEADING_MARKS[..if is_named { 1 } else { HEADING_MARKS.len() }];
    if let Some(mark) = marks.iter().find(|mark| count(mark) == headings.len()) {
        let mut names = headings.iter();
        let named = |line| if str::starts_with(line, mark) { names.next().unwrap_or(&line) } else { line };
        return Some(answer.lines().map(named).collect::<Vec<_>>().join("\n"));
    }
    (is_named || HEADING_MARKS.into_iter().any(|mark| count(mark) >= 3)).then(|| answer.to_owned())
}

fn checked(answer: String, before: u64) -> Result<String, String> {
    if answer.trim().is_empty() {
        return Err("the model returned an empty response".to_owned());
    }
    match with_headings(&answer) {
        None => Err("the model's answer could not be used as a summary".to_owned()),
        Some(answer) if u64::from(estimate(&answer)) >= before => Err(NOT_SMALLER.to_owned()),
        Some(answer) => Ok(answer),
    }
}

/// `[role] content`, tools as `[tool:Name] {json}`; cut in the middle. Earlier summaries aren't summarized again.
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
    let mut left = max_bytes;
    let mut fits = |room: usize, line: &String| {
        let fits = left.saturating_sub(room) >= line.len();
        left -= if fits { line.len() } else { 0 };
        fits
    };
    if lines.iter().map(String::len).sum::<usize>() > max_bytes {
        // Where the work stands is at the end.
        let head = lines.iter().take_while(|line| fits(max_bytes * 2 / 3, line)).count();
        let tail = lines[head..].iter().rev().take_while(|line| fits(0, line)).count();
        let cut = head..lines.len() - tail;
        let mark = format!("[… {} entries left out …]\n", cut.len());
        lines.splice(cut, [mark]);
    }
    lines.concat()
}

/// Parts kept of an older summary (headings in `prompts/summary.md`).
const KEPT: [&str; 3] = ["objectives", "file system", "current plan"];
/// Lines kept of each part, and characters per line.
const LINES: usize = 6;
const LINE_CHARS: usize = 160;

/// The summaries in about `max_tokens`, the oldest reduced first; the newest is cut only if it alone is too long.
fn merged(mut levels: Vec<String>, max_tokens: u64) -> Vec<String> {
    levels.retain(|level| !level.trim().is_empty());
    let size = |levels: &[String]| -> u64 { levels.iter().map(|level| u64::from(estimate(level))).sum() };
    for lines in [LINES, 2, 1, 0] {
        for at in 0..levels.len().saturating_sub(1) {
            if size(&levels) <= max_tokens {
                return levels;
            }
            levels[at] = reduced(&levels[at], lines);
        }
    }
    levels.retain(|level| !level.is_empty());
    if let Some(newest) = levels.last_mut() {
        let mut lines = LINES * 4;
        while u64::from(estimate(newest)) > max_tokens && lines > 0 {
            *newest = newest.lines().take(newest.lines().count() * 3 / 4).collect::<Vec<_>>().join("\n");
            lines -= 1;
        }
    }
    levels
}

fn reduced(summary: &str, lines: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut left = if summary.trim_start().starts_with('#') { 0 } else { lines };
    for line in summary.lines() {
        if line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            left = if KEPT.iter().any(|kept| heading.starts_with(kept)) { lines } else { 0 };
            if left > 0 {
                out.push(line.to_owned());
            }
        } else if left > 0 && !line.trim().is_empty() {
            out.push(text::elide(line, LINE_CHARS));
            left -= 1;
        }
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::model::item::{ItemId, UserMessage};

    fn level(name: &str, lines: usize) -> String {
        let long: String =
            (0..lines).map(|n| format!("- {name} insight {n} that is somewhat long\n")).collect();
        format!(
            "## Objectives & Status\n- goal of {name}\n## Key Insights & Decisions\n{long}## Current Plan & Progress\n- open of {name}\n"
        )
    }

    #[test]
    fn translated_headings_are_known_by_their_order() {
        let parts = ["Ziele", "Technik", "Erledigt", "Einsichten", "Dateien", "Plan", "Stand"];
        for mark in ["## ", "### ", "# ", "**"] {
            let answer: String = parts.iter().map(|part| format!("{mark}{part}\n- Punkt\n")).collect();
            let checked = checked(answer, 10_000).unwrap_or_default();
            assert!(checked.starts_with("## Objectives & Status\n- Punkt\n## Technical"), "{checked}");
        }
        let some: String = parts.iter().take(5).map(|part| format!("## {part}\n- Punkt\n")).collect();
        assert!(checked(some, 10_000).is_ok());
        assert!(checked("I can't help with that.".into(), 10_000).is_err());
    }

    #[test]
    fn a_long_conversation_keeps_its_task_and_its_end_within_the_limit() {
        let item = |n: u64| Item::User(UserMessage::new(&format!("message {n} {}", "x".repeat(990))));
        let entries: Vec<HistoryEntry> =
            (0..100).map(|n| HistoryEntry::new(ItemId(n), Arc::new(item(n)), None, 0)).collect();
        let text = transcript(&entries, 30_000);
        assert!(
            text.len() < 30_100 && text.contains("message 0 ") && text.contains("message 99 "),
            "{}",
            text.len()
        );
        assert!(
            text.contains("message 81 ") && text.contains("[… 71 entries left out …]"),
            "{}",
            &text[8_000..10_000]
        );
    }

    #[test]
    fn older_levels_keep_goals_and_open_items() {
        let levels = vec![level("first", 60), level("second", 60), level("third", 20)];
        let all = merged(levels.clone(), 600);
        assert_eq!(all.len(), 3);
        assert!(all[0].contains("goal of first") && all[0].contains("open of first"), "{}", all[0]);
        assert!(!all[0].contains("insight") && !all[1].contains("insight"));
        assert_eq!(all[2], levels[2], "the newest stays");
        assert_eq!(merged(levels.clone(), 100_000), levels);
        let tiny = merged(levels, 120);
        assert!(estimate(&tiny.join("\n")) <= 120, "{tiny:?}");
    }
}
