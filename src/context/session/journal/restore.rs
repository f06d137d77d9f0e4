//! Plans and carries out a rewind of files. What another program changed is a conflict. Everything is recorded before the
//! first byte changes, each path is checked right before it is touched, and running it twice is harmless.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::blobs::Blobs;
use super::inspect;
use super::record::{JournalChange, JournalRecord, PathState};
use super::recorder::Journal;
use base::folder::atomic_write::{self, Expect};
use base::folder::exact;
use base::folder::handle::Folder;
use base::protocol::rewind::{FileAction, PointId};
use base::system::os;

#[derive(Clone, Debug, PartialEq)]
pub struct RestoreStep {
    pub path: PathBuf,
    pub target: PathState,
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

/// What a rewind over `lines` would do. Reads the disk but changes nothing.
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

fn goes(step: &RestoreStep) -> bool {
    let stays = step.conflict.is_some() || step.impossible.is_some();
    !stays && matches!(step.now, PathState::Link { .. }) && !matches!(step.target, PathState::Link { .. })
}

fn step(root: &Path, blobs: &Blobs, relative: &Path, chain: &[&JournalChange]) -> Option<RestoreStep> {
    let mut target = chain.first()?.before.clone();
    let (now, bytes) = match inspect::look_in(root, relative, inspect::FILE_LIMIT_BYTES) {
        Ok(found) => found,
        Err(error) => return Some(impossible(relative, target, format!("it can't be inspected: {error}"))),
    };
    // Restore a mode only if it changed here or if its file is gone.
    let changed = |change: &&JournalChange| {
        change.before.mode().is_some_and(|before| change.after.mode() != Some(before))
    };
    let modes = chain.iter().any(changed);
    if !modes {
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
    // The folder can be created again with its contents.
    let is_free = target.is_folder() && now == PathState::Absent;
    // Removing a file also loses its permission bits.
    let modes = modes || target == PathState::Absent;
    let conflict = conflict(chain, &now, modes, inspect::stamp(root, relative)).filter(|_| !is_free);
    let mut step = RestoreStep {
        path: relative.to_owned(),
        action,
        plus: 0,
        minus: 0,
        differs: difference(&now, &target),
        conflict,
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

/// `modes`: the permission bits would be restored or lost as well.
fn conflict(chain: &[&JournalChange], now: &PathState, modes: bool, stamp: PathState) -> Option<String> {
    let last = chain.last()?;
    if chain.iter().any(|change| change.doubtful) {
        return Some(
            "it may not be mycode's change: a command was cut off, or the file was moved here".to_owned(),
        );
    }
    let same = |a: &PathState, b: &PathState| {
        let same_mode = a.mode().zip(b.mode()).is_none_or(|(a, b)| !modes || a == b);
        same_mode && a.same_content(b)
    };
    // A recorded change may not have been made; files that weren't read are compared by size and time.
    let stands =
        |known: &PathState| same(now, known) || matches!(known, PathState::Unkept { .. }) && stamp == *known;
    if !stands(&last.after) && !stands(&last.before) {
        return Some("another program changed it since".to_owned());
    }
    let broken = chain
        .windows(2)
        .any(|pair| !same(&pair[1].before, &pair[0].after) && !same(&pair[1].before, &pair[0].before));
    broken.then(|| "another program changed it in the meantime".to_owned())
}

fn impossibility(step: &RestoreStep) -> Option<String> {
    match (&step.target, &step.now) {
        (PathState::Unkept { .. }, _) => {
            Some("it has no backup: it was too large, not readable, or one of too many files".to_owned())
        }
        // Something special that a command created may be removed.
        (PathState::Absent, PathState::Special) => None,
        (PathState::Special, _) | (_, PathState::Special) => {
            Some("it is not a file, folder or link".to_owned())
        }
        (_, PathState::Unkept { .. }) => Some(
            "its current content can't be backed up (too large or unreadable), so a restore couldn't be undone"
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreOutcome {
    pub done: Vec<PathBuf>,
    pub left: Vec<(PathBuf, String)>,
}

/// `head` says who does it and why. `force` overwrites conflicts, but keeps their content, so it can be undone too.
pub fn carry_out(
    journal: &Journal,
    head: JournalRecord,
    plan: &RestorePlan,
    force: bool,
) -> io::Result<RestoreOutcome> {
    let mut outcome = RestoreOutcome::default();
    let mut steps: Vec<&RestoreStep> = Vec::new();
    let mut lines = vec![head];
    for step in &plan.steps {
        let reason = step.impossible.clone().or_else(|| step.conflict.clone().filter(|_| !force));
        if let Some(reason) = reason {
            outcome.left.push((step.path.clone(), reason));
            continue;
        }
        let (before, _) =
            inspect::keep(journal.root(), &step.path, journal.blobs(), inspect::FILE_LIMIT_BYTES)?;
        if before != step.now {
            outcome.left.push((step.path.clone(), "it was just changed by another program".to_owned()));
            continue;
        }
        let change =
            JournalChange::new(&step.path, "rewind", before, step.target.clone(), (step.plus, step.minus));
        lines.push(JournalRecord::Change(change));
        steps.push(step);
    }
    journal.record_rewind(&lines)?;
    // Remove obstacles first, innermost first; create folders before their contents.
    let goes = |step: &&&RestoreStep| step.now != PathState::Absent && !replaced_in_place(step);
    let mut gone: Vec<&RestoreStep> = steps.iter().filter(goes).copied().collect();
    gone.sort_by_key(|step| (step.now.is_folder(), std::cmp::Reverse(step.path.components().count())));
    let mut failed: Vec<&Path> = Vec::new();
    for step in gone {
        if let Err(reason) = remove(journal.root(), step) {
            failed.push(&step.path);
            outcome.left.push((step.path.clone(), reason));
        }
    }
    steps.sort_by_key(|step| (!step.target.is_folder(), step.path.components().count()));
    steps.retain(|step| !failed.contains(&step.path.as_path()));
    let shared = shared_files(journal.root(), &steps);
    let mut report = |step: &RestoreStep, done: Result<(), String>| match done {
        Ok(()) if step.now.is_folder() != step.target.is_folder() => {}
        Ok(()) => outcome.done.push(step.path.clone()),
        Err(reason) => outcome.left.push((step.path.clone(), reason)),
    };
    for step in &steps {
        let done = put(journal, step, &shared);
        if done.is_err() || !matches!(step.target, PathState::FolderWith { .. }) {
            report(step, done);
        }
    }
    // A read-only folder gets its mode after its contents.
    for step in steps.iter().rev() {
        if let PathState::FolderWith { mode } = step.target {
            report(step, set_folder_mode(journal.root(), &step.path, mode));
        }
    }
    // One sync is enough: the journal has the earlier states, so the rewind can be repeated.
    os::sync(journal.root());
    outcome.done.sort();
    outcome.left.sort();
    Ok(outcome)
}

fn replaced_in_place(step: &RestoreStep) -> bool {
    matches!((&step.now, &step.target), (PathState::File { .. }, PathState::File { .. }))
        || step.now.is_folder() && step.target.is_folder()
}

/// Hard-linked files whose names all get the same content and mode, by device and inode.
type SharedFiles = HashSet<(u64, u64)>;

fn shared_files(root: &Path, steps: &[&RestoreStep]) -> SharedFiles {
    let mut names = HashMap::new();
    let mut shared = HashSet::new();
    for step in steps {
        let Some(hash) = step.target.hash() else { continue };
        let Ok(meta) = exact::look(&root.join(&step.path)) else { continue };
        let file = os::facts(&meta);
        let count: &mut u64 = names.entry((file.id, hash, step.target.mode())).or_default();
        *count += 1;
        if *count == file.names && *count > 1 {
            shared.insert(file.id);
        }
    }
    shared
}

fn set_folder_mode(root: &Path, relative: &Path, mode: u32) -> Result<(), String> {
    let full = root.join(relative);
    let (Some(above), Some(name)) = (full.parent(), full.file_name()) else { return Ok(()) };
    let folder = Folder::open(above).map_err(|error| not_entered(root, relative, &error))?;
    folder.set_mode(name, mode).map_err(|error| format!("its permissions can't be set: {error}"))
}

/// Why a folder can't be entered: it may have become a link.
fn not_entered(root: &Path, relative: &Path, error: &io::Error) -> String {
    match inspect::behind_link(root, relative) {
        Some(link) => format!("{} is a symbolic link now", link.display()),
        None => format!("its folder can't be opened: {error}"),
    }
}

fn remove(root: &Path, step: &RestoreStep) -> Result<(), String> {
    let full = root.join(&step.path);
    let (Some(above), Some(name)) = (full.parent(), full.file_name()) else { return Ok(()) };
    let folder = match Folder::open(above) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(not_entered(root, &step.path, &error)),
    };
    let now = inspect::look(&folder, name, inspect::FILE_LIMIT_BYTES).map_err(|error| error.to_string())?.0;
    if now == PathState::Absent {
        return Ok(());
    }
    if !now.same_content(&step.now) {
        return Err("it was just changed by another program".to_owned());
    }
    let removed = if now.is_folder() { folder.remove_folder(name) } else { folder.remove_file(name) };
    removed.map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => "the folder holds other files".to_owned(),
        _ => format!("it can't be removed: {error}"),
    })
}

fn put(journal: &Journal, step: &RestoreStep, shared: &SharedFiles) -> Result<(), String> {
    if step.target == PathState::Absent {
        return Ok(());
    }
    let full = journal.root().join(&step.path);
    let (Some(above), Some(name)) = (full.parent(), full.file_name()) else { return Ok(()) };
    let told = |error: io::Error| format!("it can't be written: {error}");
    let (folder, _) = Folder::make(above).map_err(|error| not_entered(journal.root(), &step.path, &error))?;
    match &step.target {
        PathState::FolderWith { mode } if step.now.is_folder() => {
            folder.set_mode(name, mode | 0o700).map_err(told)
        }
        PathState::Folder | PathState::FolderWith { .. } => folder.make_folder(name).map(drop).map_err(told),
        PathState::Link { to } => folder.make_link(name, to).map_err(told),
        PathState::File { hash, mode, .. } => {
            let bytes = journal.blobs().get(hash).ok_or("its backup has expired")?;
            let (now, old) = inspect::look(&folder, name, inspect::FILE_LIMIT_BYTES).map_err(told)?;
            let expected = if replaced_in_place(step) { &step.now } else { &PathState::Absent };
            // It may already be restored through another name of the same file.
            let is_done = now == step.target;
            if !is_done && now != *expected {
                return Err("it was just changed by another program".to_owned());
            }
            let file = folder.look(name).map(|meta| os::facts(&meta));
            let is_shared = file.as_ref().is_ok_and(|file| shared.contains(&file.id));
            // Break the hard link if other names must keep their content and mode.
            let parts = !is_done && !is_shared && file.is_ok_and(|file| file.names > 1);
            if parts || !step.target.same_content(&now) {
                if let PathState::File { mode, .. } = now
                    && !parts
                    && mode & 0o200 == 0
                {
                    folder.set_mode(name, mode | 0o200).map_err(told)?;
                }
                let expect = old.as_deref().map_or(Expect::Missing, Expect::Bytes);
                let write = if is_shared { atomic_write::write_in } else { atomic_write::write_apart };
                write(&folder, name, &bytes, expect).map_err(|error| format!("it {error}"))?;
            }
            folder.set_mode(name, *mode).map_err(told)
        }
        PathState::Absent | PathState::Unkept { .. } | PathState::Special => Ok(()),
    }
}
