//! Carries out a restore plan: everything is recorded before the first byte changes, each path is checked
//! again right before it is touched, and running it twice is harmless.

use std::collections::{HashMap, HashSet};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::inspect;
use super::path_state::PathState;
use super::record::{JournalChange, JournalRecord};
use super::recorder::Journal;
use super::restore_plan::{RestorePlan, RestoreStep};
use base::folder::atomic_write::{self, Expect};
use base::folder::exact;
use base::folder::handle::Folder;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreOutcome {
    pub done: Vec<PathBuf>,
    pub left: Vec<(PathBuf, String)>,
}

/// Carries out `plan`; `head` is the line that says who does it and why. With `force`, conflicts are
/// overwritten (their content is kept first, so this can be undone too).
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
        lines.push(JournalRecord::Change(JournalChange {
            path: step.path.clone(),
            before,
            after: step.target.clone(),
            by: "rewind".to_owned(),
            plus: step.plus,
            minus: step.minus,
            doubtful: false,
        }));
        steps.push(step);
    }
    journal.record_rewind(&lines)?;
    // Obstacles are removed first, from the inside out; folders are created before their contents.
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
        Ok(()) => outcome.done.push(step.path.clone()),
        Err(reason) => outcome.left.push((step.path.clone(), reason)),
    };
    for step in &steps {
        let done = put(journal, step, &shared);
        if done.is_err() || !matches!(step.target, PathState::FolderWith { .. }) {
            report(step, done);
        }
    }
    // A folder that may not be written gets its contents first.
    for step in steps.iter().rev() {
        if let PathState::FolderWith { mode } = step.target {
            report(step, set_folder_mode(journal.root(), &step.path, mode));
        }
    }
    sync(journal.root());
    outcome.done.sort();
    outcome.left.sort();
    Ok(outcome)
}

fn replaced_in_place(step: &RestoreStep) -> bool {
    matches!((&step.now, &step.target), (PathState::File { .. }, PathState::File { .. }))
        || step.now.is_folder() && step.target.is_folder()
}

/// Files with several names that all get the same content, by device and inode.
type SharedFiles = HashSet<(u64, u64)>;

fn shared_files(root: &Path, steps: &[&RestoreStep]) -> SharedFiles {
    let mut names: HashMap<((u64, u64), &str), u64> = HashMap::new();
    let mut shared = HashSet::new();
    for step in steps {
        let Some(hash) = step.target.hash() else { continue };
        let Ok(meta) = exact::look(&root.join(&step.path)) else { continue };
        let file = (meta.dev(), meta.ino());
        let count = names.entry((file, hash)).or_default();
        *count += 1;
        if *count == meta.nlink() && *count > 1 {
            shared.insert(file);
        }
    }
    shared
}

/// Once for all files: the journal has the states before, so going back again is harmless.
fn sync(root: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(folder) = std::fs::File::open(root) {
        let _ = rustix::fs::syncfs(folder);
    }
    #[cfg(not(target_os = "linux"))]
    if let Ok(folder) = Folder::open(root) {
        folder.sync();
    }
}

fn set_folder_mode(root: &Path, relative: &Path, mode: u32) -> Result<(), String> {
    let full = root.join(relative);
    let (Some(above), Some(name)) = (full.parent(), full.file_name()) else { return Ok(()) };
    let folder = Folder::open(above).map_err(|error| not_entered(root, relative, &error))?;
    folder.set_folder_mode(name, mode).map_err(|error| format!("its permissions can't be set: {error}"))
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
            folder.set_folder_mode(name, mode | 0o700).map_err(told)
        }
        PathState::Folder | PathState::FolderWith { .. } => folder.make_folder(name).map(drop).map_err(told),
        PathState::Link { to } => folder.make_link(name, to).map_err(told),
        PathState::File { hash, mode, .. } => {
            let bytes = journal.blobs().get(hash).ok_or("its backup has expired")?;
            let (now, old) = inspect::look(&folder, name, inspect::FILE_LIMIT_BYTES).map_err(told)?;
            let expected = if replaced_in_place(step) { &step.now } else { &PathState::Absent };
            // Another name of the same file was restored before.
            let is_done = now == step.target;
            if !is_done && now != *expected {
                return Err("it was just changed by another program".to_owned());
            }
            let set_mode = |mode: u32| {
                let file = folder.open_with(name, OFlags::RDONLY | OFlags::NONBLOCK, 0)?;
                file.set_permissions(Permissions::from_mode(mode))
            };
            if !step.target.same_content(&now) {
                if let PathState::File { mode, .. } = now
                    && mode & 0o200 == 0
                {
                    set_mode(mode | 0o200).map_err(told)?;
                }
                let expect = old.as_deref().map_or(Expect::Missing, Expect::Bytes);
                let is_shared =
                    folder.look(name).is_ok_and(|meta| shared.contains(&(meta.dev(), meta.ino())));
                // Else the other names would get this one's content.
                let write = if is_shared { atomic_write::write_in } else { atomic_write::write_apart };
                write(&folder, name, &bytes, expect).map_err(|error| format!("it {error}"))?;
            }
            set_mode(*mode).map_err(told)
        }
        PathState::Absent | PathState::Unkept { .. } | PathState::Special => Ok(()),
    }
}
