//! What the session changed, hunk by hunk, and reverting a hunk, using the same plan and journal as a rewind,
//! so that rewinds include it. Blocks.

use std::io;
use std::path::Path;

use thiserror::Error;

use base::model::item::ItemId;
use base::protocol::review::{ChangedFile, Changes, Hunk, HunkId};
use base::{clock, file};
use context::session::journal::record::{self, JournalRecord, PathState};
use context::session::journal::recorder::Journal;
use context::session::journal::restore::{self, RestoreOutcome, RestorePlan, RestoreStep};
use context::session::journal::{hunks, inspect};
use evidence::commits::git;
use guard::redact::detector::TextSource;
use guard::redact::redactor::Redactor;
use tools::cx::ToolCx;

#[derive(Debug, Error)]
pub enum RevertError {
    #[error("the file has changed since it was shown; /diff shows it as it is")]
    Changed,
    #[error("{0}")]
    Refused(String),
    #[error("the undo journal can't be written ({0}), so nothing was changed")]
    Journal(#[from] io::Error),
}

/// All changes of the session, or of the last turn that made any.
pub fn changes(cx: &ToolCx, turn: bool) -> Changes {
    let Some(journal) = &cx.journal else { return Changes { turn, ..Changes::default() } };
    let plan = plan(journal, turn);
    // Folders are implied by their files.
    let is_file = |step: &&RestoreStep| !step.now.is_folder() && !step.target.is_folder();
    let steps = plan.steps.iter().filter(|step| is_file(step) && !record::is_cache(&step.path));
    let files = steps.map(|step| changed_file(journal, &cx.redactor, step)).collect();
    let outside = plan.outside.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    Changes { turn, files, outside }
}

fn plan(journal: &Journal, turn: bool) -> RestorePlan {
    let lines = journal.lines();
    let is_turn = |line: &JournalRecord| matches!(line, JournalRecord::Turn { .. });
    let from = if turn { lines.iter().rposition(is_turn).unwrap_or(0) } else { 0 };
    restore::plan(journal.root(), journal.blobs(), &lines[from..])
}

fn changed_file(journal: &Journal, redactor: &Redactor, step: &RestoreStep) -> ChangedFile {
    let path = step.path.to_string_lossy().into_owned();
    let source = TextSource::of_file(&step.path);
    let mut refused = step.impossible.clone().or_else(|| step.conflict.clone());
    let compared = contents(journal, step).and_then(|(before, now)| {
        let content = file::hash(&now);
        let hunks = hunks::of(&path, &before, &now)?.into_iter().map(|diff| Hunk {
            id: HunkId { path: path.clone(), content: content.clone(), place: file::hash(diff.as_bytes()) },
            diff: redactor.redact(&diff, source).into_owned(),
        });
        Some(hunks.collect())
    });
    if compared.is_none() {
        refused.get_or_insert_with(|| "it isn't text, or is too large to compare".to_owned());
    }
    ChangedFile {
        action: step.action,
        // Swapped, because the plan goes back in time.
        plus: step.minus,
        minus: step.plus,
        differs: step.differs.clone(),
        hunks: compared.unwrap_or_default(),
        refused,
        path,
    }
}

/// The bytes before and now; empty if there is no file.
fn contents(journal: &Journal, step: &RestoreStep) -> Option<(Vec<u8>, Vec<u8>)> {
    let before = match &step.target {
        PathState::File { hash, .. } => journal.blobs().get(hash)?,
        PathState::Absent => Vec::new(),
        _ => return None,
    };
    let (state, bytes) = inspect::look_in(journal.root(), &step.path, inspect::FILE_LIMIT_BYTES).ok()?;
    match state {
        PathState::Absent => Some((before, Vec::new())),
        PathState::File { .. } if state == step.now => Some((before, bytes?)),
        _ => None,
    }
}

pub fn stage(journal: &Journal, turn: bool, wanted: &HunkId) -> Result<(), RevertError> {
    let plan = plan(journal, turn);
    let step = plan.steps.iter().find(|step| step.path == Path::new(&wanted.path));
    let step = step.ok_or(RevertError::Changed)?;
    let (before, now) = contents(journal, step).ok_or(RevertError::Changed)?;
    let (_, diff) = find(&before, &now, wanted)?;
    let patch = hunks::patch(&diff, &wanted.path, &step.target, &step.now);
    if git::stage(journal.root(), &patch) {
        return Ok(());
    }
    let why = "git's index differs there, or the project is not in a git repository; try git add -p";
    Err(RevertError::Refused(why.to_owned()))
}

/// The number and diff of the hunk that was shown.
fn find(before: &[u8], now: &[u8], wanted: &HunkId) -> Result<(usize, String), RevertError> {
    let places = hunks::of(&wanted.path, before, now).ok_or(RevertError::Changed)?;
    let mut places = places.into_iter().enumerate();
    let place = places.find(|(_, diff)| file::hash(diff.as_bytes()) == wanted.place);
    place.filter(|_| file::hash(now) == wanted.content).ok_or(RevertError::Changed)
}

/// Reverts one hunk. If it is the only one, a created file is deleted and a deleted one restored.
pub fn revert(
    journal: &Journal,
    turn: bool,
    wanted: &HunkId,
    last_item: ItemId,
) -> Result<RestoreOutcome, RevertError> {
    let plan = plan(journal, turn);
    let step = plan.steps.iter().find(|step| step.path == Path::new(&wanted.path));
    let mut step = step.cloned().ok_or(RevertError::Changed)?;
    if let Some(why) = step.impossible.clone().or_else(|| step.conflict.clone()) {
        return Err(RevertError::Refused(why));
    }
    let (before, now) = contents(journal, &step).ok_or(RevertError::Changed)?;
    let (place, _) = find(&before, &now, wanted)?;
    if let (PathState::File { .. }, PathState::File { mode, .. }) = (&step.target, &step.now) {
        let bytes = hunks::reverted(&before, &now, place).ok_or(RevertError::Changed)?;
        let hash = journal.blobs().put(&bytes)?;
        (step.plus, step.minus) = inspect::counts(Some(&now), Some(&bytes));
        step.target = PathState::File { hash, size: bytes.len() as u64, mode: *mode };
    }
    let head = JournalRecord::Rewind {
        ms: clock::now_ms(),
        last_item: last_item.0,
        title: format!("before reverting a change in {}", wanted.path),
        voided: None,
    };
    let plan = RestorePlan { steps: vec![step], outside: Vec::new() };
    Ok(restore::carry_out(journal, head, &plan, false)?)
}
