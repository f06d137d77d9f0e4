//! Finished steps as one digest, made by rule: the agent's words, which files and commands were involved, which other
//! names occur there. Stands for calls and results together, so it is plain assistant text. First which runs of steps may
//! be folded: the work of finished turns that lie far enough back, and old steps of the running turn. What the user wrote
//! and a turn's closing answer are never part of one, and no call is parted from its result. Pure.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::thresholds::Thresholds;
use crate::base::text;
use crate::context::compress::identifiers;
use crate::context::history::entry::{self, Entry};
use crate::context::history::manager::HistoryManager;
use crate::model::envelope::Status;
use crate::model::item::Item;
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
        let closing = if later > 0 { closing_answer(entries, round) } else { round.end };
        let mut start = None;
        let mut open = 0usize;
        // Behind which entry the run may end: no call there waits for its result.
        let mut end = round.start;
        for index in round.start..round.end {
            let entry = &entries[index];
            let stays = matches!(&*entry.item, Item::User(_) | Item::Summary(_))
                || matches!(entry.form(), FormName::Folded | FormName::Gone)
                || index >= closing
                || !(finished_long_ago || now.saturating_sub(entry.arrived_at) >= limits.fold_steps);
            if stays {
                push(&mut found, entries, start.take(), end, now, limits);
                open = 0;
                if index >= closing {
                    break;
                }
                continue;
            }
            start.get_or_insert(index);
            match &*entry.item {
                Item::ToolCall(_) => open += 1,
                Item::ToolResult(_) => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                end = index + 1;
            }
        }
        push(&mut found, entries, start, end, now, limits);
    }
    found
}

fn push(
    found: &mut Vec<FoldRange>,
    entries: &[Entry],
    start: Option<usize>,
    end: usize,
    now: u64,
    limits: &Thresholds,
) {
    let Some(start) = start else { return };
    let works = |entry: &Entry| matches!(&*entry.item, Item::ToolResult(_));
    if end <= start || !entries[start..end].iter().any(works) {
        return;
    }
    let age = now.saturating_sub(entries[end - 1].arrived_at);
    found.push(FoldRange { range: start..end, overdue: age.saturating_sub(limits.fresh) });
}

/// Index of the last thing the agent said in a round, if nothing was called behind it; else the round's end.
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
    u64::from(sum) + 60 + names_budget(part, limits) * 2 / 3
}

/// Tokens for the index of names in the digest of `part`.
pub fn names_budget(part: &[Entry], limits: &Thresholds) -> u64 {
    (entry::tokens_of(part) as f64 * limits.names_share) as u64
}

/// Characters kept of one command.
const COMMAND_CHARS: usize = 160;

/// The digest of `entries`. `used` are the names used since: they stand in later words anyway; `said_chars` is kept of each thing the agent said.
pub fn digest(entries: &[Entry], used: &HashSet<&str>, said_chars: usize, names_tokens: u64) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    let mut ran: Vec<String> = Vec::new();
    for entry in entries {
        match &*entry.item {
            Item::Assistant { text: words } => {
                said.push(text::elide(words.trim(), said_chars));
            }
            Item::ToolResult(result) => {
                let data = &result.envelope.data;
                let get = |key: &str| data.get(key).and_then(Value::as_str);
                let failed = match (data.get("exit_code").and_then(Value::as_i64), result.envelope.status) {
                    (Some(code), _) if code != 0 => format!(" exit {code}"),
                    (_, Status::Error) => " failed".to_owned(),
                    _ => String::new(),
                };
                let id = entry.id;
                match (get("path"), get("command"), get("pattern")) {
                    (_, _, Some(pattern)) => {
                        let place = get("path").map(|path| format!(" in {path}")).unwrap_or_default();
                        ran.push(format!(
                            "{id} {} {}{place}{failed}",
                            result.tool,
                            text::one_line(pattern, COMMAND_CHARS)
                        ));
                    }
                    (Some(path), ..) => {
                        let done = files.entry(path).or_insert_with(|| {
                            order.push(path);
                            Vec::new()
                        });
                        let verb = match &*result.tool {
                            "Read" => "read",
                            "Write" => "written",
                            _ => "edited",
                        };
                        done.push(format!("{verb} {id}{failed}"));
                    }
                    (None, Some(command), None) => {
                        ran.push(format!("{id} `{}`{failed}", text::one_line(command, COMMAND_CHARS)));
                    }
                    _ => ran.push(format!("{id} {}{failed}", result.tool)),
                }
            }
            _ => {}
        }
    }
    let mut out = String::new();
    for words in said {
        out.push_str(&words);
        out.push('\n');
    }
    out.push_str("[Earlier steps, folded; Recall {\"id\":n} opens #n]\n");
    if !order.is_empty() {
        out.push_str("files:\n");
        for path in order {
            let done = files.get(path).map(|done| done.join(", ")).unwrap_or_default();
            out.push_str(&format!("  {path}: {done}\n"));
        }
    }
    if !ran.is_empty() {
        out.push_str("ran:\n");
        for line in ran {
            out.push_str(&format!("  {line}\n"));
        }
    }
    let sources = entries.iter().map(|entry| match &*entry.item {
        Item::ToolCall(call) => &*call.args,
        Item::ToolResult(result) => result.envelope.body.as_str(),
        _ => "",
    });
    let names = identifiers::index(sources, &out, used, names_tokens);
    if !names.is_empty() {
        out.push_str(&format!("names: {names}\n"));
    }
    out.pop();
    out
}
