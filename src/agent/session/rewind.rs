//! Going back in a session: conversation and journal brought together. The points to go to, what each would do, and
//! doing it. Blocks on the disk; knows no engine and no front end.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use thiserror::Error;

use super::conversation::Conversation;
use crate::base::clock;
use crate::base::path::on_one_line;
use crate::base::text::{one_line, plural};
use crate::context::history::entry::Entry;
use crate::model::item::{Item, ItemId};
use crate::protocol::rewind::{PointId, RewindDone, RewindPoint, RewindPreview, RewindRow, RewindScope};
use crate::session::journal::record::JournalRecord;
use crate::session::journal::recorder::Journal;
use crate::session::journal::restore::{self, RestoreOutcome};
use crate::session::journal::restore_plan::{self, RestorePlan};
use crate::session::log::LogError;

/// Why nothing was rewound.
#[derive(Debug, Error)]
pub enum RewindError {
    #[error("there is no such point in this session")]
    NoPoint,
    #[error("the conversation can't go back there: it was summarized since")]
    NoConversation,
    #[error("the undo journal can't be written ({0}), so nothing was changed")]
    Journal(#[from] io::Error),
    #[error(transparent)]
    Log(#[from] LogError),
}

/// What belongs to one point of the journal.
#[derive(Default)]
struct RewindTotals {
    ms: u64,
    title: String,
    files: BTreeSet<std::path::PathBuf>,
    plus: u32,
    minus: u32,
    voided: Option<u32>,
}

/// The points to go back to, newest first.
pub fn points(conversation: &Conversation, journal: &Journal) -> Vec<RewindPoint> {
    let (mut turns, mut rewinds) = (BTreeMap::<u64, RewindTotals>::new(), Vec::<(u64, RewindTotals)>::new());
    let mut in_rewind = false;
    let mut turn = 0;
    for line in journal.lines() {
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
                    sum.files.insert(change.path);
                }
            }
            JournalRecord::Running { .. } | JournalRecord::Ran | JournalRecord::Outside { .. } => {}
        }
    }
    let mut points: Vec<((u64, u32), RewindPoint)> = Vec::new();
    let mut oldest = None;
    let history = &conversation.history;
    // A pinned message that stands behind a summary of what followed it is no place to go back to.
    let begins = |entry: &&Entry| entry.item.begins_round() && history.reaches(entry.id);
    for entry in history.entries().iter().filter(begins) {
        let Item::User(message) = &*entry.item else { continue };
        oldest.get_or_insert(entry.id.0);
        let mut sum = turns.remove(&entry.id.0).unwrap_or_default();
        sum.title = one_line(&message.text, 200);
        sum.ms = conversation.begun_ms(entry.id).unwrap_or(sum.ms);
        points.push(((entry.id.0, 0), row(PointId::Turn(entry.id), sum, true)));
    }
    // Turns that only a summary tells of: their files can still come back. Not so those that a rewind took out.
    for (item, sum) in turns {
        let archived =
            oldest.is_none_or(|oldest| item < oldest) && conversation.begun_ms(ItemId(item)).is_some();
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

/// The point with this id.
///
/// # Errors
/// `NoPoint`.
pub fn point(
    conversation: &Conversation,
    journal: &Journal,
    id: PointId,
) -> Result<RewindPoint, RewindError> {
    points(conversation, journal).into_iter().find(|point| point.id == id).ok_or(RewindError::NoPoint)
}

/// The files' part of going to a point. Looks at every file that was changed since.
pub fn plan_files(journal: &Journal, id: PointId) -> RestorePlan {
    restore_plan::plan(journal.root(), journal.blobs(), restore_plan::since(&journal.lines(), id))
}

/// Items that leave the conversation when it goes to this point.
pub fn items_since(conversation: &Conversation, point: &RewindPoint) -> usize {
    match point.id {
        PointId::Turn(item) if point.conversation => {
            conversation.history.entries().iter().filter(|entry| entry.id >= item).count()
        }
        _ => 0,
    }
}

/// What going to a point would do; `items` leave the conversation.
pub fn preview(journal: &Journal, point: RewindPoint, items: usize) -> RewindPreview {
    let plan = plan_files(journal, point.id);
    let rows = plan.steps.iter().map(|step| RewindRow {
        path: shown(&step.path),
        deed: step.deed,
        plus: step.plus,
        minus: step.minus,
        conflict: step.conflict.clone(),
        impossible: step.impossible.clone(),
    });
    let outside = plan.outside.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    RewindPreview { rows: rows.collect(), outside, items, point }
}

/// Goes to a point. The files go first: if the conversation's log then fails, undoing is still offered.
///
/// # Errors
/// [`RewindError`]; with all but `Log` nothing was changed.
pub fn rewind(
    conversation: &mut Conversation,
    journal: &Journal,
    id: PointId,
    part: RewindScope,
    force: bool,
) -> Result<RewindDone, RewindError> {
    let point = point(conversation, journal, id)?;
    // A rewind of files alone left the conversation where it was: undoing it does so too.
    let files_only = matches!(id, PointId::Rewind(_)) && part == RewindScope::Both && !point.conversation;
    let part = if files_only { RewindScope::Files } else { part };
    if part.conversation() && !point.conversation {
        return Err(RewindError::NoConversation);
    }
    let lines = journal.lines();
    let number = 1 + lines.iter().filter(|line| matches!(line, JournalRecord::Rewind { .. })).count();
    let plan = if part.files() { plan_files(journal, id) } else { RestorePlan::default() };
    let head = JournalRecord::Rewind {
        ms: clock::now_ms(),
        last_item: conversation.last_item().0,
        title: match id {
            PointId::Turn(_) => {
                format!("before going back ({}) to: {}", part.as_str(), one_line(&point.title, 120))
            }
            PointId::Rewind(_) => format!("before undoing a rewind ({})", part.as_str()),
        },
        voided: part.conversation().then(|| conversation.rewinds()),
    };
    let voided = lines.iter().filter(|line| matches!(line, JournalRecord::Rewind { .. })).nth(match id {
        PointId::Rewind(number) => (number as usize).saturating_sub(1),
        PointId::Turn(_) => 0,
    });
    let RestoreOutcome { done, left } = restore::carry_out(journal, head, &plan, force)?;
    let mut text = None;
    if part.conversation() {
        match (id, voided) {
            (PointId::Turn(item), _) => {
                text = conversation.history.entry(item).and_then(|entry| match &*entry.item {
                    Item::User(message) => Some(message.text.to_string()),
                    _ => None,
                });
                conversation.rewind(item)?;
            }
            (PointId::Rewind(_), Some(JournalRecord::Rewind { voided: Some(voided), .. })) => {
                conversation.revive(*voided)?
            }
            (PointId::Rewind(_), _) => return Err(RewindError::NoConversation),
        }
    }
    Ok(RewindDone {
        part,
        done: done.iter().map(|path| shown(path)).collect(),
        left: left.into_iter().map(|(path, why)| (shown(&path), why)).collect(),
        text,
        undo: format!("u{number}"),
    })
}

/// Paths that are named one by one.
const LISTED: usize = 20;

/// What the model is told when files changed behind its back.
pub fn reminder(done: &RewindDone) -> Option<String> {
    // A conversation that went back as well remembers the files as they are again.
    if done.part.conversation() { None } else { told(&done.done) }
}

/// The same when a session is opened: files went back since anything was said, while nobody could tell the model.
pub fn untold(conversation: &Conversation, journal: &Journal) -> Option<String> {
    let said = conversation.last_round()?.0;
    let mut went_back = BTreeSet::new();
    let mut counts = false;
    for line in journal.lines() {
        match line {
            JournalRecord::Rewind { voided: None, last_item, .. } => counts = last_item >= said,
            JournalRecord::Rewind { .. } => {
                went_back.clear();
                counts = false;
            }
            JournalRecord::Change(change) if counts => drop(went_back.insert(shown(&change.path))),
            JournalRecord::Change(_) | JournalRecord::Outside { .. } => {}
            JournalRecord::Turn { .. } | JournalRecord::Running { .. } | JournalRecord::Ran => counts = false,
        }
    }
    told(&went_back.into_iter().collect::<Vec<_>>())
}

fn told(paths: &[String]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let names: Vec<String> = paths.iter().take(LISTED).map(|path| on_one_line(path)).collect();
    let more = paths.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {} more", plural(more, "file")) } else { String::new() };
    Some(format!(
        "<system-reminder>The user went back to an earlier state of these files: {}{more}. Read them again before you \
         rely on what they hold.</system-reminder>",
        names.join(", ")
    ))
}

/// What was done, in a sentence.
pub fn report(done: &RewindDone) -> String {
    let mut text = match (done.part, done.done.len()) {
        (RewindScope::Conversation, _) => "The conversation went back.".to_owned(),
        (part, 0) if done.left.is_empty() => {
            format!("Went back ({}); no file had to change.", part.as_str())
        }
        (part, 0) => format!("Went back ({}); no file was changed.", part.as_str()),
        (part, count) => {
            format!("Went back ({}): {} as before.", part.as_str(), plural(count, "path"))
        }
    };
    if !done.done.is_empty() {
        text.push_str(" Rewinding once more can undo this.");
    }
    for (path, why) in done.left.iter().take(LISTED) {
        text.push_str(&format!(
            "
  left alone: {}: {why}",
            on_one_line(path)
        ));
    }
    if done.left.len() > LISTED {
        text.push_str(&format!("\n  and {} more", done.left.len() - LISTED));
    }
    text
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(report(&done).lines().count(), 2, "{}", report(&done));
        let told = reminder(&done).unwrap_or_default();
        assert!(told.contains("a\\n  left alone: b") && !told.contains('\n'), "{told}");
    }
}
