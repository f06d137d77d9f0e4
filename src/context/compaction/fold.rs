//! Finished steps as one rule-made digest: the agent's words, files, commands, other names. Replaces calls
//! and results together, so it is plain assistant text. Never folds user text or a recent turn's closing
//! answer, and never separates a call from its result. Pure.

use std::ops::Range;

use super::thresholds::Thresholds;
use crate::history::entry::{self, HistoryEntry};
use crate::history::manager::HistoryManager;
use crate::session::record::FormName;
use base::model::envelope::Status;
use base::model::item::{Item, LEFT_OUT, ReminderTopic};
use base::model::observation::{Command, Observation, Search, Touch};
use base::text;

#[derive(Clone, Debug, PartialEq)]
pub struct FoldRange {
    pub range: Range<usize>,
    /// For how many requests it could already have been folded.
    pub overdue: u64,
}

/// The ranges, oldest first; without what is already folded unless `again`.
pub fn foldable(history: &HistoryManager, limits: &Thresholds, again: bool) -> Vec<FoldRange> {
    let entries = history.entries();
    let now = history.requests();
    let rounds = history.rounds();
    let mut found = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        let later = rounds.len() - 1 - number;
        let closes = (1..=limits.closing_turns).contains(&later);
        let end = if closes { closing_answer(entries, round) } else { round.end };
        let folds = |index: &usize| {
            let entry = &entries[*index];
            let stays = match &*entry.item {
                Item::User(_) | Item::Summary(_) => true,
                // Rules apply to the full session.
                Item::Reminder(reminder) if reminder.about == ReminderTopic::Rules => true,
                _ if again => false,
                // A thought that an epoch left out doesn't separate steps.
                Item::Reminder(_) | Item::Reasoning(_) => entry.form() == FormName::Folded,
                _ => matches!(entry.form(), FormName::Folded | FormName::Gone),
            };
            !stays && (later > 0 || now.saturating_sub(entry.arrived_at) >= limits.fold_steps)
        };
        let indices: Vec<usize> = (round.start..end).filter(folds).collect();
        for run in indices.chunk_by(|a, b| a + 1 == *b) {
            let range = complete(entries, run[0]..run[0] + run.len());
            let part = &entries[range.clone()];
            if part.iter().any(|e| matches!(&*e.item, Item::ToolResult(_) | Item::Assistant { .. })) {
                found.push(FoldRange { overdue: overdue(part, now, limits), range });
            }
        }
    }
    found
}

fn overdue(part: &[HistoryEntry], now: u64, limits: &Thresholds) -> u64 {
    let over = |entry: &HistoryEntry| now.saturating_sub(entry.arrived_at + limits.fold_steps);
    let carried: u64 = part.iter().map(|entry| u64::from(entry.tokens()) * over(entry)).sum();
    carried / entry::tokens_of(part).max(1)
}

/// `run` up to the last entry after which no call waits for its result.
fn complete(entries: &[HistoryEntry], run: Range<usize>) -> Range<usize> {
    let mut open = 0usize;
    let mut end = run.start;
    for index in run.clone() {
        match &*entries[index].item {
            Item::ToolCall(_) => open += 1,
            Item::ToolResult(_) => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            end = index + 1;
        }
    }
    run.start..end
}

/// Index of a round's last assistant message if no call follows it and it is in view; else the round's end.
fn closing_answer(entries: &[HistoryEntry], round: &Range<usize>) -> usize {
    let mut at = round.end;
    let closes = |entry: &HistoryEntry| {
        matches!(&*entry.item, Item::Assistant { .. }) && entry.form() < FormName::Folded
    };
    while at > round.start && closes(&entries[at - 1]) {
        at -= 1;
    }
    at
}

pub fn head_estimate(part: &[HistoryEntry], limits: &Thresholds) -> u64 {
    let words_tokens = u32::try_from(limits.words_chars / 4).unwrap_or(u32::MAX);
    let sum: u32 = part
        .iter()
        .map(|entry| match &*entry.item {
            Item::Assistant { .. } => entry.full_tokens().min(words_tokens),
            Item::ToolCall(_) => entry.full_tokens().min(45),
            _ => 0,
        })
        .sum();
    u64::from(sum) + 60
}

pub fn lines_budget(part: &[HistoryEntry], limits: &Thresholds) -> u64 {
    let full: u64 = part.iter().map(|entry| u64::from(entry.full_tokens())).sum();
    (full as f64 * limits.lines_share) as u64
}

const COMMAND_CHARS: usize = 80;

/// The digest of `entries` without its kept lines; `words_chars` are kept of each agent message.
pub fn head(entries: &[HistoryEntry], words_chars: usize) -> String {
    let mut out = String::new();
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    let mut ran: Vec<String> = Vec::new();
    for entry in entries {
        match &*entry.item {
            Item::Assistant { text: words, .. } => {
                let words = words.trim();
                let kept = text::elide(words, words_chars);
                out.push_str(&kept);
                if kept != words {
                    out.push_str(&format!(" [{}]", entry.id));
                }
                out.push('\n');
            }
            Item::Image(image) => {
                out.push_str(&image.placeholder(LEFT_OUT));
                out.push('\n');
            }
            Item::ToolResult(result) => {
                let data = &result.envelope.data;
                let failed = match (data.exit_code(), result.envelope.status) {
                    (Some(code), _) if code != 0 => format!(" exit {code}"),
                    (_, Status::Error) => " failed".to_owned(),
                    _ => String::new(),
                };
                let (id, tool) = (entry.id, &result.tool);
                match (data.touched(), &*data.observation) {
                    (path, Observation::Search(Search { pattern: Some(pattern), .. })) => {
                        let place = path.map(|(path, _)| format!(" in {path}")).unwrap_or_default();
                        let pattern = text::one_line(pattern, COMMAND_CHARS);
                        ran.push(format!("{id} {tool} {pattern}{place}{failed}"));
                    }
                    (Some((path, touch)), _) => {
                        let verb = match touch {
                            Touch::Read => "read",
                            Touch::Listed => "listed",
                            Touch::Searched => "searched",
                            Touch::Created | Touch::Written => "written",
                            Touch::Edited => "edited",
                            Touch::Unchanged => "unchanged",
                            Touch::Noted => "noted",
                        };
                        let done = format!("{verb} {id}{failed}");
                        match files.iter_mut().find(|(known, _)| *known == path) {
                            Some((_, all)) => all.push(done),
                            None => files.push((path, vec![done])),
                        }
                    }
                    (None, Observation::Command(Command { command: Some(command), .. })) => {
                        ran.push(format!("{id} `{}`{failed}", text::one_line(command, COMMAND_CHARS)));
                    }
                    _ => ran.push(format!("{id} {tool}{failed}")),
                }
            }
            _ => {}
        }
    }
    out.push_str("[Earlier steps, folded; Recall {\"id\":n} opens #n]\n");
    let files = files.iter().map(|(path, done)| format!("{path}: {}", done.join(", ")));
    for (heading, lines) in [("files:", files.collect()), ("ran:", ran)] {
        if !lines.is_empty() {
            out.push_str(&format!("{heading}\n  {}\n", lines.join("\n  ")));
        }
    }
    out.pop();
    out
}

pub fn lines(entries: &[HistoryEntry]) -> impl Iterator<Item = &str> {
    let texts = entries.iter().filter_map(|entry| match &*entry.item {
        Item::ToolResult(result) => Some(result.envelope.body.as_str()),
        Item::Assistant { text, .. } => Some(&**text),
        _ => None,
    });
    texts.flat_map(str::lines)
}

pub fn digest(head: String, lines: &[&str]) -> String {
    if lines.is_empty() { head } else { format!("{head}\nlines kept:\n{}", lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use base::config::settings::Profile;
    use base::model::call::ToolCall;
    use base::model::envelope::Envelope;
    use base::model::item::{ItemId, Reasoning, ToolResult, UserMessage};

    #[test]
    fn reasoning_that_an_epoch_left_out_parts_no_steps() {
        let mut history = HistoryManager::default();
        let mut id = 0;
        let mut push = |history: &mut HistoryManager, item: Item| {
            id += 1;
            history.push(ItemId(id), Arc::new(item), None);
            ItemId(id)
        };
        push(&mut history, Item::User(UserMessage::new("look")));
        for step in 0..4 {
            let thought = Item::Reasoning(Reasoning { text: "hm".into(), opaque: None });
            let thought = push(&mut history, thought);
            let call_id: Arc<str> = format!("c{step}").into();
            let call = ToolCall { id: Arc::clone(&call_id), name: "LS".into(), args: "{}".into() };
            push(&mut history, Item::ToolCall(call));
            let envelope = Envelope::success("").with_body("entries", "a.rs");
            push(&mut history, Item::ToolResult(ToolResult::new(call_id, "LS", envelope)));
            history.count_request();
            history.set_form(&[thought], FormName::Gone, &[]);
        }
        (0..50).for_each(|_| history.count_request());
        let found = foldable(&history, &Thresholds::of(Profile::Default, 128_000, 0), false);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].range, 1..13);
    }

    #[test]
    fn old_answers_without_calls() {
        let mut history = HistoryManager::default();
        let answer = "the parser keeps a stack of open_blocks\n".repeat(40);
        for turn in 0..6 {
            history.push(ItemId(turn * 2), Arc::new(Item::User(UserMessage::new("why?"))), None);
            history.push(ItemId(turn * 2 + 1), Arc::new(Item::assistant(&*answer)), None);
            history.count_request();
        }
        history.push(ItemId(12), Arc::new(Item::User(UserMessage::new("and now?"))), None);
        let limits = Thresholds::of(Profile::Default, 128_000, 0);
        let found: Vec<_> = foldable(&history, &limits, false).into_iter().map(|fold| fold.range).collect();
        let newest = 6 - limits.closing_turns;
        assert_eq!(found, (0..newest).map(|turn| turn * 2 + 1..turn * 2 + 2).collect::<Vec<_>>());
        let part = &history.entries()[1..2];
        let head = head(part, 60);
        assert!(
            head.starts_with("the parser keeps") && head.lines().any(|l| l.ends_with("… [#1]")),
            "{head}"
        );
        assert_eq!(lines(part).next(), answer.lines().next(), "its lines can stand for it");
    }
}
