//! Rewinds a session's files and conversation: possible points, preview, and the rewind itself. The files' part
//! blocks and doesn't need the conversation, so that it can run on the blocking pool.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use thiserror::Error;

use super::conversation::Conversation;
use super::review;
use base::clock;
use base::model::item::{Item, ItemId};
use base::path::on_one_line;
use base::process::task;
use base::protocol::review::HunkId;
use base::protocol::rewind::{PointId, RewindDone, RewindPoint, RewindPreview, RewindRow, RewindScope};
use base::text::{one_line, plural};
use context::history::entry::HistoryEntry;
use context::session::journal::record::JournalRecord;
use context::session::journal::recorder::Journal;
use context::session::journal::restore::{self, RestoreOutcome, RestorePlan};
use context::session::log::LogError;

#[derive(Debug, Error)]
pub enum RewindError {
    #[error("there is no such point in this session")]
    NoPoint,
    #[error("the conversation can't go back there: it has been summarized since")]
    NoConversation,
    #[error("the undo journal can't be written ({0}), so nothing was changed")]
    Journal(#[from] io::Error),
    #[error("it stopped unexpectedly ({0}); the conversation is unchanged")]
    Stopped(String),
    #[error(transparent)]
    Log(#[from] LogError),
}

#[derive(Default)]
struct RewindTotals {
    ms: u64,
    title: String,
    files: BTreeSet<std::path::PathBuf>,
    plus: u32,
    minus: u32,
    voided: Option<u32>,
}

pub fn points(conversation: &Conversation, journal: &[JournalRecord]) -> Vec<RewindPoint> {
    let (mut turns, mut rewinds) = (BTreeMap::<u64, RewindTotals>::new(), Vec::<(u64, RewindTotals)>::new());
    let mut in_rewind = false;
    let mut turn = 0;
    for line in journal.iter().cloned() {
        match line {
            JournalRecord::Turn { item, ms, title } => {
                (in_rewind, turn) = (false, item);
                turns.insert(item, RewindTotals { ms, title, ..RewindTotals::default() });
            }
            JournalRecord::Rewind { ms, last_item, title, voided } => {
                in_rewind = true;
                rewinds.push((last_item, RewindTotals { ms, title, voided, ..RewindTotals::default() }));
            }
            JournalRecord::Change(change) => {
                let sum =
                    if in_rewind { rewinds.last_mut().map(|last| &mut last.1) } else { turns.get_mut(&turn) };
                if let Some(sum) = sum {
                    sum.plus += change.plus;
                    sum.minus += change.minus;
                    let is_file = change.before.is_folder() == change.after.is_folder();
                    sum.files.extend(is_file.then_some(change.path));
                }
            }
            JournalRecord::Running { .. } | JournalRecord::Ran | JournalRecord::Outside { .. } => {}
        }
    }
    let mut points: Vec<((u64, u32), RewindPoint)> = Vec::new();
    let mut oldest = None;
    let history = &conversation.state.history;
    // A pinned message from before a summary isn't a point to go back to.
    let begins = |entry: &&HistoryEntry| entry.item.begins_round() && history.reaches(entry.id);
    for entry in history.entries().iter().filter(begins) {
        oldest.get_or_insert(entry.id.0);
        let mut sum = turns.remove(&entry.id.0).unwrap_or_default();
        if let Item::User(message) = &*entry.item {
            sum.title = one_line(&message.text, 200);
        }
        sum.ms = conversation.facts.begun_ms(entry.id).unwrap_or(sum.ms);
        points.push(((entry.id.0, 0), row(PointId::Turn(entry.id), sum, true)));
    }
    // Files of summarized turns can still be restored; those of rewound turns can't.
    for (item, sum) in turns {
        let archived =
            oldest.is_none_or(|oldest| item < oldest) && conversation.facts.begun_ms(ItemId(item)).is_some();
        if archived && !sum.files.is_empty() {
            points.push(((item, 0), row(PointId::Turn(ItemId(item)), sum, false)));
        }
    }
    for (number, (last_item, sum)) in (1_u32..).zip(rewinds) {
        let conversation = sum.voided.is_some_and(|voided| history.can_revive(voided));
        points.push(((last_item, number), row(PointId::Rewind(number), sum, conversation)));
    }
    points.sort_by_key(|(order, _)| std::cmp::Reverse(*order));
    points.into_iter().map(|(_, point)| point).collect()
}

fn row(id: PointId, sum: RewindTotals, conversation: bool) -> RewindPoint {
    let name = match id {
        PointId::Turn(item) => item.0.to_string(),
        PointId::Rewind(number) => format!("u{number}"),
    };
    let RewindTotals { ms, title, files, plus, minus, .. } = sum;
    RewindPoint { id, name, title, ms, files: files.len(), plus, minus, conversation }
}

pub fn point(
    conversation: &Conversation,
    journal: &[JournalRecord],
    id: PointId,
) -> Result<RewindPoint, RewindError> {
    points(conversation, journal).into_iter().find(|point| point.id == id).ok_or(RewindError::NoPoint)
}

pub fn items_since(conversation: &Conversation, point: &RewindPoint) -> usize {
    match point.id {
        PointId::Turn(item) if point.conversation => {
            conversation.state.history.entries().iter().filter(|entry| entry.id >= item).count()
        }
        _ => 0,
    }
}

/// What going to a point would do; removes `items` items. Reads every file changed since.
pub fn preview(journal: &Journal, point: RewindPoint, items: usize) -> RewindPreview {
    let plan = plan_files(journal, point.id);
    let rows = plan.steps.iter().map(|step| RewindRow {
        path: shown(&step.path),
        action: step.action,
        plus: step.plus,
        minus: step.minus,
        differs: step.differs.clone(),
        conflict: step.conflict.clone(),
        impossible: step.impossible.clone(),
    });
    let outside = plan.outside.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    RewindPreview { rows: rows.collect(), outside, items, point }
}

fn plan_files(journal: &Journal, id: PointId) -> RestorePlan {
    restore::plan(journal.root(), journal.blobs(), restore::since(&journal.lines(), id))
}

pub struct RewindTask {
    point: RewindPoint,
    scope: RewindScope,
    force: bool,
    /// The journal record of this rewind, and its number.
    head: JournalRecord,
    number: usize,
    /// The conversation's rewind that this one undoes.
    revives: Option<u32>,
}

impl RewindTask {
    pub fn new(
        conversation: &Conversation,
        journal: &[JournalRecord],
        id: PointId,
        scope: RewindScope,
        force: bool,
    ) -> Result<Self, RewindError> {
        let point = point(conversation, journal, id)?;
        // Undoing a files-only rewind must leave the conversation alone as well.
        let files_only =
            matches!(id, PointId::Rewind(_)) && scope == RewindScope::Both && !point.conversation;
        let scope = if files_only { RewindScope::Files } else { scope };
        if scope.conversation() && !point.conversation {
            return Err(RewindError::NoConversation);
        }
        let mut rewinds = journal.iter().filter_map(|line| match line {
            JournalRecord::Rewind { voided, .. } => Some(*voided),
            _ => None,
        });
        let number = 1 + rewinds.clone().count();
        let (title, revives) = match id {
            PointId::Turn(_) => (format!("Undo the rewind to “{}”", one_line(&point.title, 120)), None),
            PointId::Rewind(undone) => (
                match point.title.strip_prefix("Undo ") {
                    Some(rest) => format!("Redo {rest}"),
                    None => point.title.replacen("Redo ", "Undo ", 1),
                },
                rewinds.nth((undone as usize).saturating_sub(1)).flatten(),
            ),
        };
        if scope.conversation() && matches!(id, PointId::Rewind(_)) && revives.is_none() {
            return Err(RewindError::NoConversation);
        }
        let head = JournalRecord::Rewind {
            ms: clock::now_ms(),
            last_item: conversation.last_item().0,
            title,
            voided: scope.conversation().then(|| conversation.state.history.rewinds()),
        };
        Ok(Self { point, scope, force, head, number, revives })
    }

    pub fn restore_files(&self, journal: &Journal) -> Result<RestoreOutcome, RewindError> {
        let plan =
            if self.scope.files() { plan_files(journal, self.point.id) } else { RestorePlan::default() };
        Ok(restore::carry_out(journal, self.head.clone(), &plan, self.force)?)
    }

    /// Rewinds the conversation after the files, so that undo is offered even if the log fails.
    pub fn finish(
        self,
        conversation: &mut Conversation,
        files: RestoreOutcome,
    ) -> Result<RewindDone, RewindError> {
        let mut text = None;
        if self.scope.conversation() {
            match self.point.id {
                PointId::Turn(item) => {
                    text = conversation.state.history.entry(item).and_then(|entry| match &*entry.item {
                        Item::User(message) => Some(message.text.to_string()),
                        _ => None,
                    });
                    conversation.rewind(item)?;
                }
                PointId::Rewind(_) => {
                    if let Some(rewind) = self.revives {
                        conversation.revive(rewind)?;
                    }
                }
            }
        }
        Ok(RewindDone {
            part: self.scope,
            done: files.done.iter().map(|path| shown(path)).collect(),
            left: files.left.into_iter().map(|(path, why)| (shown(&path), why)).collect(),
            text,
            undo: format!("u{}", self.number),
        })
    }
}

pub async fn journal_lines(journal: &Arc<Journal>) -> Vec<JournalRecord> {
    let journal = Arc::clone(journal);
    task::blocking(move || journal.lines()).await.unwrap_or_default()
}

/// [`preview`] on the blocking pool.
pub async fn preview_of(
    conversation: &Conversation,
    journal: &Arc<Journal>,
    id: PointId,
) -> Result<RewindPreview, RewindError> {
    let point = point(conversation, &journal_lines(journal).await, id)?;
    let items = items_since(conversation, &point);
    let journal = Arc::clone(journal);
    let work = task::blocking(move || preview(&journal, point, items));
    work.await.map_err(|error| RewindError::Stopped(error.to_string()))
}

/// Rewinds the files on the blocking pool, then the conversation.
pub async fn carry_out(
    conversation: &mut Conversation,
    journal: &Arc<Journal>,
    id: PointId,
    scope: RewindScope,
    force: bool,
) -> Result<RewindDone, RewindError> {
    let lines = journal_lines(journal).await;
    let task = RewindTask::new(conversation, &lines, id, scope, force)?;
    let journal = Arc::clone(journal);
    let work = task::blocking(move || task.restore_files(&journal).map(|files| (task, files)));
    let (task, files) = work.await.map_err(|error| RewindError::Stopped(error.to_string()))??;
    task.finish(conversation, files)
}

/// Reverts a hunk on the blocking pool; returns the reminder for the model.
pub async fn revert_hunk(
    conversation: &Conversation,
    journal: &Arc<Journal>,
    turn: bool,
    hunk: HunkId,
) -> Result<String, String> {
    let (journal, last) = (Arc::clone(journal), conversation.last_item());
    let path = hunk.path.clone();
    let work = task::blocking(move || review::revert(&journal, turn, &hunk, last)).await;
    let outcome = work.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    match outcome.left.into_iter().next() {
        Some((_, why)) => Err(why),
        None => Ok(files_reminder(&[path]).unwrap_or_default()),
    }
}

const LISTED: usize = 20;

/// The reminder for the model if only files were rewound.
pub fn reminder(done: &RewindDone) -> Option<String> {
    // A rewound conversation already matches the files.
    if done.part.conversation() { None } else { files_reminder(&done.done) }
}

/// Like [`reminder`], for a reopened session whose files were rewound after its last round.
pub fn missed_reminder(conversation: &Conversation, journal: &[JournalRecord]) -> Option<String> {
    let said = conversation.facts.last_round()?.0;
    let mut went_back = BTreeSet::new();
    let mut counts = false;
    for line in journal {
        match line {
            JournalRecord::Rewind { voided: None, last_item, .. } => counts = *last_item >= said,
            JournalRecord::Rewind { .. } => {
                went_back.clear();
                counts = false;
            }
            JournalRecord::Change(change) if counts => drop(went_back.insert(shown(&change.path))),
            JournalRecord::Change(_) | JournalRecord::Outside { .. } => {}
            JournalRecord::Turn { .. } | JournalRecord::Running { .. } | JournalRecord::Ran => counts = false,
        }
    }
    files_reminder(&went_back.into_iter().collect::<Vec<_>>())
}

fn files_reminder(paths: &[String]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let names: Vec<String> = paths.iter().take(LISTED).map(|path| on_one_line(path)).collect();
    let more = paths.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {} more", plural(more, "file")) } else { String::new() };
    Some(format!(
        "<system-reminder>The user rewound these files to an earlier state: {}{more}. Read them again before relying on \
         their contents.</system-reminder>",
        names.join(", ")
    ))
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::protocol::notice::rewound;

    #[test]
    fn a_name_with_a_line_end_makes_no_line_of_its_own() {
        let path = || "a\n  left alone: b".to_owned();
        let done = RewindDone {
            part: RewindScope::Files,
            done: vec![path()],
            left: vec![(path(), "changed since".to_owned())],
            text: None,
            undo: "1".to_owned(),
        };
        assert_eq!(rewound(&done).lines().count(), 2, "{}", rewound(&done));
        let told = reminder(&done).unwrap_or_default();
        assert!(told.contains("a\\n  left alone: b") && !told.contains('\n'), "{told}");
    }
}
