//! Finished steps as one digest, made by rule: the agent's words, which files and commands were involved, which other
//! names occur there. Stands for calls and results together, so it is plain assistant text. First which runs of steps may
//! be folded: the work of finished turns that lie far enough back, and old steps of the running turn. What the user wrote
//! and a turn's closing answer are never part of one, and no call is parted from its result. Pure.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use super::thresholds::Thresholds;
use crate::base::text;
use crate::context::compress::{identifiers, telling_lines};
use crate::context::history::entry::{self, Entry};
use crate::context::history::manager::HistoryManager;
use crate::model::envelope::Status;
use crate::model::item::{Item, LEFT_OUT, ReminderTopic};
use crate::session::record::FormName;

/// A run of entries that one digest can stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldRange {
    pub range: Range<usize>,
    /// For how many requests it could have been folded already.
    pub overdue: u64,
}

/// The ranges, oldest first. What is folded already is left out.
pub fn foldable(history: &HistoryManager, limits: &Thresholds) -> Vec<FoldRange> {
    let entries = history.entries();
    let now = history.requests();
    let rounds = history.rounds();
    let mut found = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        // The running turn and the `fold_turns` before it keep their steps, unless these are old.
        let later = rounds.len() - 1 - number;
        let finished_long_ago = later > limits.fold_turns;
        let end = if later > 0 { closing_answer(entries, round) } else { round.end };
        let folds = |index: &usize| {
            let entry = &entries[*index];
            let stays = match &*entry.item {
                Item::User(_) | Item::Summary(_) => true,
                // Rules hold for the whole session.
                Item::Reminder(reminder) => {
                    reminder.about == ReminderTopic::Rules || entry.form() == FormName::Folded
                }
                // Left out by an epoch it parts no steps.
                Item::Reasoning(_) => entry.form() == FormName::Folded,
                _ => matches!(entry.form(), FormName::Folded | FormName::Gone),
            };
            !stays && (finished_long_ago || now.saturating_sub(entry.arrived_at) >= limits.fold_steps)
        };
        let indices: Vec<usize> = (round.start..end).filter(folds).collect();
        for run in indices.chunk_by(|a, b| a + 1 == *b) {
            let range = complete(entries, run[0]..run[0] + run.len());
            let part = &entries[range.clone()];
            if part.iter().any(|entry| matches!(&*entry.item, Item::ToolResult(_))) {
                let age = now.saturating_sub(part[part.len() - 1].arrived_at);
                found.push(FoldRange { range, overdue: age.saturating_sub(limits.fresh) });
            }
        }
    }
    found
}

/// `run` without what follows the last entry behind which no call waits for its result.
fn complete(entries: &[Entry], run: Range<usize>) -> Range<usize> {
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

/// Index of a round's last assistant message, if nothing was called behind it; else the round's end.
fn closing_answer(entries: &[Entry], round: &Range<usize>) -> usize {
    let mut at = round.end;
    while at > round.start && matches!(&*entries[at - 1].item, Item::Assistant { .. }) {
        at -= 1;
    }
    at
}

/// About how many tokens the digest of `part` will take.
pub fn digest_estimate(part: &[Entry], limits: &Thresholds) -> u64 {
    let words_tokens = u32::try_from(limits.words_chars / 4).unwrap_or(u32::MAX);
    let sum: u32 = part
        .iter()
        .map(|entry| match &*entry.item {
            Item::Assistant { .. } => entry.tokens().min(words_tokens),
            Item::ToolCall(_) => entry.tokens().min(45),
            _ => 0,
        })
        .sum();
    u64::from(sum) + 60 + lines_budget(part, limits) * 2 / 3
}

/// Tokens for the index of names in the digest of `part`.
pub fn lines_budget(part: &[Entry], limits: &Thresholds) -> u64 {
    (entry::tokens_of(part) as f64 * limits.lines_share) as u64
}

/// Characters kept of one command.
const COMMAND_CHARS: usize = 160;

/// The digest of `entries`. `used` are the names used since: later messages contain them anyway; `words_chars` is kept of
/// each of the agent's messages.
pub fn digest(entries: &[Entry], used: &HashSet<&str>, words_chars: usize, lines_tokens: u64) -> String {
    let mut out = String::new();
    let mut files: Vec<(&str, Vec<String>)> = Vec::new();
    let mut ran: Vec<String> = Vec::new();
    for entry in entries {
        match &*entry.item {
            Item::Assistant { text: words, .. } => {
                out.push_str(&text::elide(words.trim(), words_chars));
                out.push('\n');
            }
            Item::Image(image) => {
                out.push_str(&image.placeholder(LEFT_OUT));
                out.push('\n');
            }
            Item::ToolResult(result) => {
                let data = &result.envelope.data;
                let get = |key: &str| data.get(key).and_then(Value::as_str);
                let failed = match (data.get("exit_code").and_then(Value::as_i64), result.envelope.status) {
                    (Some(code), _) if code != 0 => format!(" exit {code}"),
                    (_, Status::Error) => " failed".to_owned(),
                    _ => String::new(),
                };
                let (id, tool) = (entry.id, &result.tool);
                match (get("path"), get("command"), get("pattern")) {
                    (path, _, Some(pattern)) => {
                        let place = path.map(|path| format!(" in {path}")).unwrap_or_default();
                        let pattern = text::one_line(pattern, COMMAND_CHARS);
                        ran.push(format!("{id} {tool} {pattern}{place}{failed}"));
                    }
                    (Some(path), ..) => {
                        let verb = match &**tool {
                            "Read" => "read",
                            "Write" => "written",
                            _ => "edited",
                        };
                        let done = format!("{verb} {id}{failed}");
                        match files.iter_mut().find(|(known, _)| *known == path) {
                            Some((_, all)) => all.push(done),
                            None => files.push((path, vec![done])),
                        }
                    }
                    (None, Some(command), None) => {
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
    let results: Vec<&str> = entries
        .iter()
        .filter_map(|entry| match &*entry.item {
            Item::ToolResult(result) => Some(result.envelope.body.as_str()),
            _ => None,
        })
        .collect();
    let lines: Vec<&str> = results.iter().flat_map(|body| body.lines()).collect();
    let seen: Vec<&str> = identifiers::identifiers(&out)
        .chain(identifiers::file_names(&out))
        .chain(used.iter().copied())
        .collect();
    let kept = telling_lines::choose(&lines, seen, lines_tokens, 2);
    if !kept.is_empty() {
        let kept: Vec<&str> = kept.into_iter().map(|at| lines[at]).collect();
        let more = format!("lines of the results:\n{}\n", kept.join("\n"));
        out.push_str(&more);
    }
    out.pop();
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::settings::Profile;
    use crate::model::call::ToolCall;
    use crate::model::envelope::Envelope;
    use crate::model::item::{ItemId, Reasoning, ToolResult, UserMessage};

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
            push(&mut history, Item::ToolResult(ToolResult { call_id, tool: "LS".into(), envelope }));
            history.count_request();
            history.set_form(&[thought], FormName::Gone, &[]);
        }
        (0..50).for_each(|_| history.count_request());
        let found = foldable(&history, &Thresholds::of(Profile::Default, 128_000));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].range, 1..13);
    }
}
