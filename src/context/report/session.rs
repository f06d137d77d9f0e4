//! The figures of one stored session, read line by line: of a large line only the start is examined; only
//! small ones are parsed.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Serialize;

use super::figures::{Figures, LineCounts};
use super::period::Days;
use crate::parts::FixedParts;
use crate::session::journal::record::PathState;
use crate::session::journal::record::{self as journal, JournalRecord};
use crate::session::record::Record;
use base::file;
use base::model::item::Item;
use base::model::usage::Usage;
use base::protocol::event::{EndReason, TurnEnd};
use base::text;

/// An item's line states its kind, tool and status within this many bytes.
const ITEM_START_BYTES: usize = 1024;
/// Topics of what the program says when the work isn't as it should be.
const NUDGES: [&str; 6] = ["finish", "cut", "ending", "repeat", "deadline", "review"];

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionReport {
    pub id: String,
    pub title: String,
    /// The first and last moment that counts, in milliseconds since the Unix epoch.
    pub began_ms: u64,
    pub ended_ms: u64,
    #[serde(skip)]
    pub turns_cost: Vec<TurnCost>,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnCost {
    pub tokens: Usage,
    pub cost_usd: Option<f64>,
}

/// Reads a log in a project's `sessions` folder; only what was done since then counts. `None` if nothing was.
pub fn read(log: &Path, since: u64) -> io::Result<Option<SessionReport>> {
    let id = log.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut reading = Reading { since, ..Reading::default() };
    let (file, _) = file::open(log).map_err(|error| io::Error::other(error.to_string()))?;
    let mut lines = BufReader::with_capacity(256 * 1024, file);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        reading.line(&line);
        line.clear();
    }
    reading.finish();
    let mut report = SessionReport { id, ..reading.report };
    if report.ended_ms == 0 {
        return Ok(None);
    }
    if let Some(folder) = log.parent().and_then(Path::parent) {
        let lines = journal::read(&journal::path_of(&folder.join("journal"), &report.id));
        report.figures.files = changed_files(lines, since);
    }
    Ok(Some(report))
}

#[derive(Default)]
struct Reading {
    since: u64,
    at: u64,
    report: SessionReport,
    days: Days,
    parts: FixedParts,
    before_turn: (Usage, Option<f64>),
    steps_before: u64,
    noting: HashSet<String>,
    /// The nudge that the next reply answers.
    nudged: Option<String>,
}

impl Reading {
    fn line(&mut self, line: &[u8]) {
        if line.starts_with(br#"{"item":{"id":"#) {
            return self.item(line);
        }
        const NOT_COUNTED: [&[u8]; 4] =
            [br#"{"forms":"#, br#"{"pin":"#, br#"{"revive":"#, br#"{"unarchive":"#];
        let unchanged = line.starts_with(br#"{"sent":"#) && memmem::find(line, br#""broken":"#).is_none();
        if unchanged || NOT_COUNTED.iter().any(|start| line.starts_with(start)) {
            return;
        }
        // A torn line, or one of a later version, doesn't count.
        if let Ok(record) = serde_json::from_slice::<Record>(line) {
            self.record(record);
        }
    }

    /// Notes when the line was written; returns whether it counts.
    fn counts_at(&mut self, ms: u64) -> bool {
        self.at = ms;
        let counts = ms >= self.since;
        if counts {
            let report = &mut self.report;
            report.began_ms = if report.began_ms == 0 { ms } else { report.began_ms.min(ms) };
            report.ended_ms = report.ended_ms.max(ms);
        }
        counts
    }

    fn record(&mut self, record: Record) {
        match record {
            Record::Request(request) if self.counts_at(request.ms) => {
                let day = self.days.of(request.ms);
                self.report.figures.add_request(
                    &request.model,
                    request.usage.as_ref(),
                    (request.ms, day),
                    true,
                );
            }
            Record::Beside { ms, model, usage } if self.counts_at(ms) => {
                let day = self.days.of(ms);
                self.report.figures.add_request(&model, Some(&usage), (ms, day), false);
            }
            Record::TurnEnd { ms, end, .. } if self.counts_at(ms) => self.turn_end(ms, &end),
            Record::Frame(frame) => self.parts.apply(&frame),
            Record::Sent(sent) if self.counts_at(sent.ms) => {
                let Some((epoch, cause)) = sent.epoch.as_ref().and_then(|e| Some((e, e.causes.first()?)))
                else {
                    return;
                };
                let sum = self.report.figures.epochs.entry(cause.kind.into_str()).or_default();
                sum.count += 1;
                sum.tokens_lost += epoch.tokens_lost;
                sum.tokens_saved += epoch.tokens_saved;
            }
            Record::Archive { .. } if self.at >= self.since => self.report.figures.compactions += 1,
            _ => {}
        }
    }

    fn turn_end(&mut self, ms: u64, end: &TurnEnd) {
        let figures = &mut self.report.figures;
        let (tokens, cost) = (figures.tokens, figures.cost_usd());
        let (tokens_before, cost_before) = std::mem::replace(&mut self.before_turn, (tokens, cost));
        let cost_usd = cost.map(|cost| cost - cost_before.unwrap_or(0.0));
        self.report.turns_cost.push(TurnCost { tokens: tokens.since(tokens_before), cost_usd });
        // Steps that a build's roles took in their own sessions are only known at the end of the turn.
        let elsewhere = u64::from(end.steps).saturating_sub(figures.steps - self.steps_before);
        figures.steps += elsewhere;
        self.steps_before = figures.steps;
        figures.turns += 1;
        figures.active_ms += end.elapsed_ms;
        let day = figures.days.entry(self.days.of(ms).to_owned()).or_default();
        day.turns += 1;
        day.steps += elsewhere;
        let failure = match &end.reason {
            EndReason::Done if end.denied_at_end => "a call was denied",
            EndReason::Done => return,
            EndReason::Interrupted { .. } => "interrupted",
            EndReason::StepLimit { .. } => "step limit reached",
            EndReason::ProviderFailed { .. } => "model server failed",
            EndReason::Failed { .. } => "failed",
        };
        *figures.failures.entry(failure).or_default() += 1;
    }

    /// An item by the start of its line, `{"item":{"id":3,"ms":…,"tokens":…,"item":{"tool_result":…`.
    fn item(&mut self, line: &[u8]) {
        let start = &line[..line.len().min(ITEM_START_BYTES)];
        let number = |key: &[u8]| word(start, key, |byte| byte.is_ascii_digit())?.parse::<u64>().ok();
        let kind = word(start, br#","item":{""#, |byte| byte != b'"').unwrap_or_default();
        if self.report.title.is_empty() && kind == "user" {
            self.title(line);
        }
        if !number(br#","ms":"#).is_some_and(|ms| self.counts_at(ms)) {
            return;
        }
        let layer = match kind {
            "user" | "image" => "L4",
            "summary" => "L3",
            "reminder" => "L5",
            _ => "L6",
        };
        let figures = &mut self.report.figures;
        *figures.layers.entry(layer).or_default() += number(br#","tokens":"#).unwrap_or(0);
        let name = |key: &[u8]| word(start, key, |byte| byte != b'"');
        match (kind, name(br#""about":""#)) {
            ("reminder", Some(about)) if NUDGES.contains(&about) => {
                figures.nudges.entry(about.to_owned()).or_default().told += 1;
                self.nudged = Some(about.to_owned());
            }
            ("user", _) => self.nudged = None,
            ("tool_call", _) => {
                let answered = self.nudged.take().and_then(|about| figures.nudges.get_mut(&about));
                answered.into_iter().for_each(|nudges| nudges.followed += 1);
            }
            _ => {}
        }
        match kind {
            "tool_call" if name(br#","name":""#) == Some("Note") => {
                if let Some(Item::ToolCall(call)) = parsed(line).as_ref()
                    && !["read", "search", "list", "summary", "delete"]
                        .iter()
                        .any(|action| call.args.contains(&format!("\"{action}\"")))
                {
                    self.noting.insert(call.id.to_string());
                }
            }
            "tool_result" => {
                let tool = name(br#","tool":""#).unwrap_or("unknown");
                let failed = name(br#""envelope":{"status":""#) == Some("error");
                let sum = figures.tools.entry(tool.to_owned()).or_default();
                sum.calls += 1;
                sum.errors += u64::from(failed);
                let exit = |byte: u8| byte == b'-' || byte.is_ascii_digit();
                if tool == "Bash" && word(line, br#""exit_code":"#, exit).is_some_and(|code| code != "0") {
                    figures.failed_commands += 1;
                }
                let call = name(br#"{"call_id":""#).unwrap_or_default();
                if tool == "Note" && self.noting.remove(call) && !failed {
                    figures.notes += 1;
                }
            }
            _ => {}
        }
    }

    fn title(&mut self, line: &[u8]) {
        if let Some(Item::User(message)) = parsed(line) {
            self.report.title = text::one_line(&message.text, 100);
        }
    }

    fn finish(&mut self) {
        let rules = self.parts.rules.as_ref().map_or(0, |part| u64::from(part.tokens));
        let fixed = u64::from(self.parts.system.tokens) + u64::from(self.parts.schemas.tokens);
        let layers = &mut self.report.figures.layers;
        layers.extend([("L1", fixed), ("L2", rules)]);
        layers.retain(|_, tokens| *tokens > 0);
    }
}

fn parsed(line: &[u8]) -> Option<Item> {
    match serde_json::from_slice(line) {
        Ok(Record::Item(record)) => Some(Item::clone(&record.item)),
        _ => None,
    }
}

/// What follows the first `key` while `belongs`. Texts can't contain a key: their quotes are escaped.
fn word<'a>(line: &'a [u8], key: &[u8], belongs: impl Fn(u8) -> bool) -> Option<&'a str> {
    let rest = &line[memmem::find(line, key)? + key.len()..];
    let end = rest.iter().position(|byte| !belongs(*byte))?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// Files that differ from before, with the changed lines; minus what a rewind undid.
pub fn changed_files(
    lines: impl IntoIterator<Item = JournalRecord>,
    since: u64,
) -> BTreeMap<String, LineCounts> {
    let mut files: BTreeMap<PathBuf, (PathState, PathState, LineCounts)> = BTreeMap::new();
    let (mut counts, mut back) = (true, false);
    for line in lines {
        match line {
            JournalRecord::Turn { ms, .. } => (counts, back) = (ms >= since, false),
            JournalRecord::Rewind { ms, .. } => (counts, back) = (ms >= since, true),
            JournalRecord::Change(change) if counts && !change.doubtful => {
                let folder = PathState::is_folder;
                if change.path.starts_with(".mycode") || folder(&change.before) || folder(&change.after) {
                    continue;
                }
                let file = files
                    .entry(change.path)
                    .or_insert_with(|| (change.before, PathState::Absent, LineCounts::default()));
                file.1 = change.after;
                let (plus, minus) = (u64::from(change.plus), u64::from(change.minus));
                if back {
                    file.2.added = file.2.added.saturating_sub(minus);
                    file.2.removed = file.2.removed.saturating_sub(plus);
                } else {
                    file.2.added += plus;
                    file.2.removed += minus;
                }
            }
            _ => {}
        }
    }
    let changed = files.into_iter().filter(|(_, (before, after, _))| before != after);
    changed.map(|(path, (_, _, lines))| (path.to_string_lossy().into_owned(), lines)).collect()
}
