//! `ToolResultCompressor`: the form in which a result is first sent, and its short form for a summary. No cache breaks, as
//! nothing was sent yet; the form is logged with its text because it depends on what was in view.

use std::collections::HashMap;
use std::sync::Arc;

use super::cut;
use super::pipeline::{self, FilterOptions, Shape};
use crate::compaction::thresholds::Thresholds;
use crate::compaction::working_set;
use crate::history::entry::HistoryEntry;
use crate::history::manager::HistoryManager;
use crate::history::references;
use crate::session::record::{Batch, CauseKind, FormName};
use crate::tokens::estimate::{MESSAGE_OVERHEAD, estimate};
use base::model::envelope::Status;
use base::model::item::{Item, ItemId, ReminderTopic, ToolResult};

/// The smallest observation that is compared with earlier ones, in bytes.
const COMPARED_FROM: usize = 500;
/// For this many requests, an observation counts as in view for a reference.
const IN_VIEW: u64 = 15;

const SUMMARY_TOKENS: u32 = 400;

pub struct ToolResultCompressor;

impl ToolResultCompressor {
    /// The form in which the newest item is first sent, if not in full.
    pub fn on_arrival(history: &HistoryManager, limits: &Thresholds) -> Option<Batch> {
        let entry = history.entries().last()?;
        let result = match &*entry.item {
            Item::ToolResult(result) => result,
            Item::Reminder(reminder) if reminder.about == ReminderTopic::Goal => {
                let options = FilterOptions {
                    shape: Shape::Log,
                    max_tokens: limits.run_tokens,
                    lines: None,
                    stored: None,
                };
                let text = pipeline::filter(entry.id, entry.text(), options)?;
                let texts = vec![(entry.id, Arc::from(text))];
                return Some(Batch::with_texts(texts, FormName::Filtered, CauseKind::Arrival));
            }
            _ => return None,
        };
        // Items requested by id and the user's answers are wanted in full.
        if matches!(&*result.tool, "Recall" | "AskUser") {
            return None;
        }
        let text = repeated(history, entry, result).or_else(|| {
            // Instructions must stay exact.
            if &*result.tool == "Skill" {
                return None;
            }
            let ran = result.envelope.data.command();
            let command = ran.and_then(|command| command.command.as_deref());
            let (shape, max_tokens) = match &*result.tool {
                // An edit that fails shows the text that then counts as read.
                "Read" | "Edit" | "MultiEdit" | "Write" => (Shape::Text, limits.view_tokens),
                "Bash" => match command.and_then(shown_text) {
                    Some(ShownText::Whole) => (Shape::Text, limits.view_tokens),
                    Some(ShownText::Found) => (Shape::Text, limits.search_tokens),
                    None => (Shape::Log, limits.run_tokens),
                },
                "Grep" | "Glob" | "LS" => (Shape::Text, limits.search_tokens),
                _ => (Shape::Text, limits.other_tokens),
            };
            let lines = ran.and_then(|command| command.output_lines);
            let is_part = result.envelope.status == Status::Partial;
            let stored = result.envelope.data.full_output_path().filter(|_| is_part);
            pipeline::filter(entry.id, entry.text(), FilterOptions { shape, max_tokens, lines, stored })
        })?;
        (estimate(&text) + MESSAGE_OVERHEAD < entry.tokens()).then(|| {
            Batch::with_texts(vec![(entry.id, Arc::from(text))], FormName::Filtered, CauseKind::Arrival)
        })
    }

    /// Head, tail and errors, for the model that writes a summary.
    pub fn for_summary(result: &ToolResult) -> String {
        let wire = result.envelope.wire();
        cut::head_tail(&wire, SUMMARY_TOKENS).unwrap_or_else(|| wire.into_owned())
    }
}

/// What a command shows, if it shows text as it is or narrows it to what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShownText {
    /// Files, parts of them and diffs: wanted whole, like a Read.
    Whole,
    Found,
}

const SHOW_WHOLE: [&str; 9] = ["cat", "sed", "head", "tail", "nl", "less", "bat", "batcat", "diff"];
const SHOW_FOUND: [&str; 6] = ["grep", "rg", "ag", "awk", "cut", "jq"];
const SHOW_LITTLE: [&str; 9] = ["cd", "ls", "echo", "printf", "true", "pwd", "wc", "test", "done"];
const GIT_WHOLE: [&str; 2] = ["diff", "show"];
const GIT_FOUND: [&str; 3] = ["log", "blame", "grep"];

/// Judged by the last program of each pipe.
fn shown_text(command: &str) -> Option<ShownText> {
    let mut shown = None;
    for one in without_quotes(command).split(['\n', ';']).flat_map(|line| line.split("&&")) {
        for one in one.split("||").map(str::trim).filter(|one| !one.is_empty() && !one.starts_with("for ")) {
            let last = one.strip_prefix("do ").unwrap_or(one).rsplit('|').next().unwrap_or(one);
            let mut words =
                last.split_whitespace().filter(|word| !word.contains('=') && !word.starts_with('-'));
            let program = words.next()?;
            let git = words.next().filter(|_| program == "git").unwrap_or_default();
            if SHOW_WHOLE.contains(&program) || GIT_WHOLE.contains(&git) {
                shown = shown.or(Some(ShownText::Whole));
            } else if SHOW_FOUND.contains(&program) || GIT_FOUND.contains(&git) {
                shown = Some(ShownText::Found);
            } else if !SHOW_LITTLE.contains(&program) {
                return None;
            }
        }
    }
    shown
}

/// A separator in quotes separates nothing.
fn without_quotes(command: &str) -> String {
    let mut quote = None;
    let in_quotes = |c: char| match quote {
        Some(open) if open == c => {
            quote = None;
            '_'
        }
        Some(_) => '_',
        None if matches!(c, '\'' | '"') => {
            quote = Some(c);
            '_'
        }
        None => c,
    };
    command.chars().map(in_quotes).collect()
}

fn repeated(history: &HistoryManager, entry: &HistoryEntry, result: &ToolResult) -> Option<String> {
    // A repeated failure must be shown in full again.
    let path = working_set::viewed_path(&entry.item);
    let is_failed = result.envelope.status == Status::Error
        || result.envelope.data.exit_code().is_some_and(|code| code != 0);
    if entry.text().len() < COMPARED_FROM || path.is_none() && is_failed {
        return None;
    }
    let now = history.requests();
    let entries = history.entries();
    let hash = working_set::content_hash(&entry.item);
    let mut in_view: Vec<&HistoryEntry> = Vec::new();
    let earlier = entries[..entries.len() - 1]
        .iter()
        .rev()
        .take_while(|other| now.saturating_sub(other.arrived_at) <= IN_VIEW)
        .filter(|other| other.form() <= FormName::Filtered && references::of(other).next().is_none());
    for other in earlier {
        let Item::ToolResult(before) = &*other.item else { continue };
        if before.tool != result.tool {
            continue;
        }
        let is_view = path.is_some() && working_set::viewed_path(&other.item) == path;
        // Equal results are shortened equally, so they can be compared whole.
        if before.envelope.wire() == result.envelope.wire() {
            let path = path.filter(|_| is_view);
            return Some(references::same(other.id, path, before.envelope.data.subject()));
        }
        if is_view
            && other.form() == FormName::Full
            && hash.is_some()
            && working_set::content_hash(&other.item) == hash
        {
            in_view.push(other);
        }
    }
    only_new(path?, entry.text(), &in_view)
}

const LEFT_OUT_FROM: usize = 8;

/// The lines of a view that no earlier view of the same content shows; ids replace the others.
fn only_new(path: &str, now: &str, in_view: &[&HistoryEntry]) -> Option<String> {
    let numbered = |line: &str| line.split_once('\t').and_then(|(number, _)| number.parse::<u64>().ok());
    let mut shown: HashMap<u64, (ItemId, &str)> = HashMap::new();
    for other in in_view {
        for line in other.text().lines() {
            if let Some(number) = numbered(line) {
                shown.entry(number).or_insert((other.id, line));
            }
        }
    }
    let mut out: Vec<String> = Vec::new();
    let mut run: Vec<(u64, &str)> = Vec::new();
    let mut holder = ItemId(0);
    let mut left_out = 0;
    let mut close = |run: &mut Vec<(u64, &str)>, holder: ItemId, out: &mut Vec<String>| {
        if run.len() >= LEFT_OUT_FROM {
            let (first, last) = (run[0].0, run[run.len() - 1].0);
            out.push(references::lines(first, last, path, holder));
            left_out += run.len();
        } else {
            out.extend(run.iter().map(|(_, line)| (*line).to_owned()));
        }
        run.clear();
    };
    for line in now.lines() {
        match numbered(line).and_then(|number| Some((number, shown.get(&number)?))) {
            Some((number, (id, known))) if *known == line => {
                if *id != holder {
                    close(&mut run, holder, &mut out);
                    holder = *id;
                }
                run.push((number, line));
            }
            _ => {
                close(&mut run, holder, &mut out);
                out.push(line.to_owned());
            }
        }
    }
    close(&mut run, holder, &mut out);
    (left_out > 0).then(|| out.join("\n"))
}
