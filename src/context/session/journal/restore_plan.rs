//! What rewinding to a point means for files: for every path changed since, its earlier state and whether it
//! may be restored. A path that another program changed is a conflict, with a reason for users.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::blobs::Blobs;
use super::inspect;
use super::path_state::PathState;
use super::record::{JournalChange, JournalRecord};
use base::protocol::rewind::{FileAction, PointId};

#[derive(Clone, Debug, PartialEq)]
pub struct RestoreStep {
    pub path: PathBuf,
    pub target: PathState,
    /// As found when the plan was made.
    pub now: PathState,
    pub action: FileAction,
    pub plus: u32,
    pub minus: u32,
    pub differs: Option<String>,
    pub conflict: Option<String>,
    pub impossible: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RestorePlan {
    pub steps: Vec<RestoreStep>,
    pub outside: Vec<PathBuf>,
}

pub fn since(lines: &[JournalRecord], point: PointId) -> &[JournalRecord] {
    let mut rewinds = 0;
    let start = lines.iter().position(|line| match (line, point) {
        (JournalRecord::Turn { item, .. }, PointId::Turn(wanted)) => *item >= wanted.0,
        (JournalRecord::Rewind { last_item, .. }, PointId::Turn(wanted)) => *last_item >= wanted.0,
        (JournalRecord::Rewind { .. }, PointId::Rewind(number)) => {
            rewinds += 1;
            rewinds == number
        }
        _ => false,
    });
    start.map_or(&[], |start| &lines[start..])
}

/// The effect of going back over `lines`. Reads the disk but changes nothing.
pub fn plan(root: &Path, blobs: &Blobs, lines: &[JournalRecord]) -> RestorePlan {
    let mut chains: BTreeMap<&Path, Vec<&JournalChange>> = BTreeMap::new();
    let mut plan = RestorePlan::default();
    for line in lines {
        match line {
            JournalRecord::Change(change) => chains.entry(&change.path).or_default().push(change),
            JournalRecord::Outside { path } if !plan.outside.contains(path) => {
                plan.outside.push(path.clone())
            }
            _ => {}
        }
    }
    plan.steps = chains.iter().filter_map(|(path, chain)| step(root, blobs, path, chain)).collect();
    let going: Vec<PathBuf> =
        plan.steps.iter().filter(|step| goes(step)).map(|step| step.path.clone()).collect();
    for step in &mut plan.steps {
        if let Some(link) = inspect::behind_link(root, &step.path).filter(|link| !going.contains(link)) {
            step.impossible = Some(format!("{} is a symbolic link now", link.display()));
        }
    }
    plan
}

/// Whether the link at this path will be removed.
fn goes(step: &RestoreStep) -> bool {
    let stays = step.conflict.is_some() || step.impossible.is_some();
    !stays && matches!(step.now, PathState::Link { .. }) && !matches!(step.target, PathState::Link { .. })
}

fn step(root: &Path, blobs: &Blobs, relative: &Path, chain: &[&JournalChange]) -> Option<RestoreStep> {
    let (first, last) = (chain.first()?, chain.last()?);
    let mut target = first.before.clone();
    let (now, bytes) = match inspect::look_in(root, relative, inspect::FILE_LIMIT_BYTES) {
        Ok(found) => found,
        Err(error) => return Some(impossible(relative, target, format!("it can't be looked at: {error}"))),
    };
    // A mode is only restored if it was changed here, or if what had it is gone.
    let changed = |change: &&JournalChange| {
        change.before.mode().is_some_and(|before| change.after.mode() != Some(before))
    };
    if !chain.iter().any(changed) {
        match (&mut target, &now) {
            (PathState::File { mode, .. }, PathState::File { mode: now, .. }) => *mode = *now,
            (target, now) if target.is_folder() && now.is_folder() => *target = now.clone(),
            _ => {}
        }
    }
    if now == target || target == PathState::Folder && now.is_folder() {
        return None;
    }
    let action = match (&target, &now) {
        (PathState::Absent, _) => FileAction::Delete,
        (_, PathState::Absent) => FileAction::Recreate,
        (target, now) if target.same_content(now) => FileAction::Mode,
        _ => FileAction::Restore,
    };
    let mut step = RestoreStep {
        path: relative.to_owned(),
        action,
        plus: 0,
        minus: 0,
        differs: difference(&now, &target),
        conflict: conflict(chain, last, &now, inspect::stamp(root, relative)),
        impossible: None,
        target,
        now,
    };
    let mut wanted = None;
    if let PathState::File { hash, .. } = &step.target {
        wanted = blobs.get(hash);
        if wanted.is_none() {
            step.impossible = Some("its backup has expired".to_owned());
        }
    }
    if matches!(step.target, PathState::File { .. } | PathState::Absent) {
        (step.plus, step.minus) = inspect::counts(bytes.as_deref(), wanted.as_deref());
    }
    if step.impossible.is_none() {
        step.impossible = impossibility(&step);
    }
    Some(step)
}

/// Differences that line counts don't show: permission bits, links and folders.
fn difference(now: &PathState, target: &PathState) -> Option<String> {
    let thing = |state: &PathState| match state {
        PathState::Link { to } => Some(format!("link to {}", to.display())),
        PathState::Folder | PathState::FolderWith { .. } => Some("folder".to_owned()),
        PathState::Special => Some("pipe, socket or device".to_owned()),
        PathState::File { .. } => Some("file".to_owned()),
        _ => None,
    };
    match (now, target) {
        (PathState::File { mode: now, .. }, PathState::File { mode, .. })
        | (PathState::FolderWith { mode: now }, PathState::FolderWith { mode }) => {
            (now != mode).then(|| format!("mode {now:o} → {mode:o}"))
        }
        (PathState::Absent, PathState::File { mode, .. }) => {
            (mode & 0o111 != 0).then(|| format!("mode {mode:o}"))
        }
        (PathState::Absent, target) => thing(target),
        (PathState::File { .. }, PathState::Absent) => None,
        (now, PathState::Absent) => thing(now),
        (now, target) => Some(format!("{} → {}", thing(now)?, thing(target)?)),
    }
}

fn conflict(
    chain: &[&JournalChange],
    last: &JournalChange,
    now: &PathState,
    stamp: PathState,
) -> Option<String> {
    if chain.iter().any(|change| change.doubtful) {
        return Some(
            "it may not be mycode's change: it was found after a command was cut off, or was moved here from elsewhere"
                .to_owned(),
        );
    }
    // An announced change may not have been made; unread files are compared by size and time.
    let stands = |known: &PathState| {
        now.same_content(known) || matches!(known, PathState::Unkept { .. }) && stamp == *known
    };
    if !stands(&last.after) && !stands(&last.before) {
        return Some("it was changed by another program since".to_owned());
    }
    let broken = chain.windows(2).any(|pair| {
        !pair[1].before.same_content(&pair[0].after) && !pair[1].before.same_content(&pair[0].before)
    });
    broken.then(|| "it was changed by another program in between".to_owned())
}

fn impossibility(step: &RestoreStep) -> Option<String> {
    match (&step.target, &step.now) {
        (PathState::Unkept { .. }, _) => {
            Some("it has no backup: it was too large, not readable, or one of too many files".to_owned())
        }
        // What a command made goes.
        (PathState::Absent, PathState::Special) => None,
        (PathState::Special, _) | (_, PathState::Special) => {
            Some("it is not a file, folder or link".to_owned())
        }
        (_, PathState::Unkept { .. }) => Some(
            "its current content is too large to back up or not readable, so restoring it could not be undone"
                .to_owned(),
        ),
        _ => None,
    }
}

fn impossible(relative: &Path, target: PathState, why: String) -> RestoreStep {
    RestoreStep {
        path: relative.to_owned(),
        target,
        now: PathState::Special,
        action: FileAction::Restore,
        plus: 0,
        minus: 0,
        differs: None,
        conflict: None,
        impossible: Some(why),
    }
}
