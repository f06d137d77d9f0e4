//! The figures of one stored session, read line by line.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::figures::{Figures, LineCounts};
use crate::parts::FixedParts;
use crate::session::journal::record::PathState;
use crate::session::journal::record::{self as journal, JournalRecord};
use crate::session::record::{ItemRecord, Record};
use base::model::envelope::{EnvelopeError, ErrorCode};
use base::model::item::{Item, ToolResult};
use base::protocol::event::{EndReason, TurnEnd};
use base::{clock, file, text};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionReport {
    pub id: String,
    pub title: String,
    /// The first and last counted moment, in milliseconds since the Unix epoch.
    pub began_ms: u64,
    pub ended_ms: u64,
    #[serde(flatten)]
    pub figures: Figures,
}

/// Reads a log in a project's `sessions` folder, counting only records from `since` on. `None` if there are none.
pub fn read(log: &Path, since: u64) -> io::Result<Option<SessionReport>> {
    let id = log.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut reading = Reading { since, ..Reading::default() };
    let (file, _) = file::open(log).map_err(|error| io::Error::other(error.to_string()))?;
    let mut lines = BufReader::with_capacity(256 * 1024, file);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        // Skip a torn line or a record of a later version.
        if let Ok(record) = serde_json::from_slice(&line) {
            reading.record(record);
        }
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
    parts: FixedParts,
    steps_before: u64,
    noting: HashSet<Arc<str>>,
    /// The nudge that the next reply answers.
    nudged: Option<&'static str>,
}

impl Reading {
    /// Sets the current time; returns whether the record counts.
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
            Record::Item(record) => self.item(&record),
            Record::Request(request) if self.counts_at(request.ms) => {
                let figures = &mut self.report.figures;
                figures.add_request(&request.model, request.usage.as_ref(), request.ms, true);
            }
            Record::Beside { ms, model, usage } if self.counts_at(ms) => {
                self.report.figures.add_request(&model, Some(&usage), ms, false);
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
        // Steps that a build's roles took in their own sessions are only known at the end of the turn.
        let elsewhere = u64::from(end.steps).saturating_sub(figures.steps - self.steps_before);
        figures.steps += elsewhere;
        self.steps_before = figures.steps;
        figures.turns += 1;
        figures.active_ms += end.elapsed_ms;
        let day = figures.days.entry(clock::local_day(ms)).or_default();
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

    fn item(&mut self, record: &ItemRecord) {
        if let Item::User(message) = &*record.item
            && self.report.title.is_empty()
        {
            self.report.title = text::one_line(&message.text, 100);
        }
        if !self.counts_at(record.ms) {
            return;
        }
        let layer = match &*record.item {
            Item::User(_) | Item::Image(_) => "L4",
            Item::Summary(_) => "L3",
            Item::Reminder(_) => "L5",
            _ => "L6",
        };
        let figures = &mut self.report.figures;
        *figures.layers.entry(layer).or_default() += u64::from(record.tokens);
        match &*record.item {
            Item::User(_) => self.nudged = None,
            Item::Reminder(reminder) if reminder.about.is_nudge() => {
                let about = reminder.about.into_str();
                figures.nudges.entry(about).or_default().told += 1;
                self.nudged = Some(about);
            }
            Item::ToolCall(call) => {
                let answered = self.nudged.take().and_then(|about| figures.nudges.get_mut(about));
                answered.into_iter().for_each(|nudges| nudges.followed += 1);
                let reads = ["read", "search", "list", "summary", "delete"];
                let only_reads = reads.iter().any(|action| call.args.contains(&format!("\"{action}\"")));
                if &*call.name == "Note" && !only_reads {
                    self.noting.insert(Arc::clone(&call.id));
                }
            }
            Item::ToolResult(result) => self.result(result),
            _ => {}
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let figures = &mut self.report.figures;
        let denied = |error: &EnvelopeError| error.code == ErrorCode::PermissionDenied;
        let failed = result.envelope.error.as_ref().is_some_and(|error| !denied(error));
        let sum = figures.tools.entry(result.tool.to_string()).or_default();
        sum.calls += 1;
        sum.errors += u64::from(failed);
        let exit = result.envelope.data.exit_code();
        figures.failed_commands += u64::from(&*result.tool == "Bash" && exit.is_some_and(|code| code != 0));
        let noted = self.noting.remove(&result.call_id) && !failed;
        figures.notes += u64::from(&*result.tool == "Note" && noted);
    }

    fn finish(&mut self) {
        let rules = self.parts.rules.as_ref().map_or(0, |part| u64::from(part.tokens));
        let fixed = u64::from(self.parts.system.tokens) + u64::from(self.parts.schemas.tokens);
        let layers = &mut self.report.figures.layers;
        layers.extend([("L1", fixed), ("L2", rules)]);
        layers.retain(|_, tokens| *tokens > 0);
    }
}

/// Changed files with line counts, minus what a rewind undid.
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
                if change.path.starts_with(".mycode")
                    || journal::is_cache(&change.path)
                    || folder(&change.before)
                    || folder(&change.after)
                {
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
