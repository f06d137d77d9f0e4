//! The undo journal of the running session: what tools are about to change and what commands have changed.
//! Its own errors never stop the work; the user is notified, and a rewind lists what couldn't be kept.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::blobs::Blobs;
use super::inspect;
use super::record::{self, JournalChange, JournalRecord, PathState};
use super::snapshot::{MAX_FILES, Snapshot, SnapshotRefresh};
use base::clock;
use base::file;
use parking_lot::{Mutex, MutexGuard};

/// Assumed for a file that a tool is about to create.
const NEW_FILE_MODE: u32 = 0o644;

#[derive(Debug)]
pub struct Journal {
    root: PathBuf,
    folder: PathBuf,
    blobs: Blobs,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    session: String,
    /// The running turn, until its line is written with its first change.
    turn: Option<JournalRecord>,
    tree: Snapshot,
    running: bool,
    notices: Vec<String>,
    broken: bool,
    /// Too many files to watch them around commands.
    too_many: bool,
}

impl Journal {
    /// For an absolute, canonical workspace path; creates nothing on disk until something changes.
    pub fn new(project_state: &Path, root: &Path) -> Self {
        let folder = project_state.join("journal");
        let blobs = Blobs::new(&folder);
        Self { root: root.to_owned(), folder, blobs, inner: Mutex::default() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Switches to another session. First records the changes of a command that a kill cut off.
    pub fn open(&self, session: &str) {
        let mut inner = self.lock();
        *inner = Inner { session: session.to_owned(), ..Inner::default() };
        let cut_off = self.lines_of(&inner).iter().rev().find_map(|line| match line {
            JournalRecord::Running { command } => Some(Some(command.clone())),
            JournalRecord::Ran | JournalRecord::Turn { .. } | JournalRecord::Rewind { .. } => Some(None),
            JournalRecord::Change(_) | JournalRecord::Outside { .. } => None,
        });
        if cut_off.flatten().is_some()
            && let Ok(bytes) = file::read_own(&self.tree_path(&inner))
        {
            inner.tree = Snapshot::parse(&bytes);
            self.take_differences(&mut inner, true);
        }
    }

    pub fn begin_turn(&self, item: u64, title: &str) {
        self.lock().turn = Some(JournalRecord::Turn { item, ms: clock::now_ms(), title: title.to_owned() });
    }

    /// A tool is about to turn `before` into `after` (`None`: no file), having created `folders`.
    pub fn before_write(
        &self,
        by: &str,
        path: &Path,
        folders: &[PathBuf],
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) {
        let mut inner = self.lock();
        let Ok(relative) = path.strip_prefix(&self.root) else {
            let outside = JournalRecord::Outside { path: path.to_owned() };
            return self.write(&mut inner, vec![outside]);
        };
        let change = |path: &Path, before, after, counts| {
            JournalRecord::Change(JournalChange::new(path, by, before, after, counts))
        };
        let mut lines: Vec<JournalRecord> = folders
            .iter()
            .filter_map(|folder| folder.strip_prefix(&self.root).ok())
            .map(|folder| change(folder, PathState::Absent, PathState::Folder, (0, 0)))
            .collect();
        let kept = inspect::keep(&self.root, relative, &self.blobs, inspect::FILE_LIMIT_BYTES);
        let (old, _) = match kept {
            Ok(kept) => kept,
            Err(error) => return self.fail(&mut inner, &error),
        };
        let mode = match &old {
            PathState::File { mode, .. } => *mode,
            _ => NEW_FILE_MODE,
        };
        let new = after.map_or(PathState::Absent, |after| PathState::File {
            hash: file::hash(after),
            size: after.len() as u64,
            mode,
        });
        // A hard-linked file changes under all of its names.
        for other in Snapshot::other_names(&self.root, relative).into_iter().filter(|_| after.is_some()) {
            lines.push(change(&other, old.clone(), new.clone(), (0, 0)));
        }
        inner.tree.watch(relative);
        lines.push(change(relative, old, new, inspect::counts(before, after)));
        self.write(&mut inner, lines);
    }

    /// Records the permission bits of a new file if they aren't the default; call after `before_write`.
    pub fn after_created(&self, by: &str, path: &Path) {
        let Ok(relative) = path.strip_prefix(&self.root) else { return };
        let Ok((after, _)) = inspect::look_in(&self.root, relative, inspect::FILE_LIMIT_BYTES) else {
            return;
        };
        let mut before = after.clone();
        if let PathState::File { mode, .. } = &mut before
            && std::mem::replace(mode, NEW_FILE_MODE) != NEW_FILE_MODE
        {
            let change = JournalChange::new(relative, by, before, after, (0, 0));
            self.write(&mut self.lock(), vec![JournalRecord::Change(change)]);
        }
    }

    /// Stops without recording if `stop` is set; the command must not run then. Blocks.
    pub fn before_command(&self, command: &str, stop: &AtomicBool) {
        let mut inner = self.lock();
        if inner.broken || inner.too_many {
            return;
        }
        match inner.tree.refresh(&self.root, &self.blobs, stop) {
            SnapshotRefresh::Done => {}
            SnapshotRefresh::Stopped => return,
            SnapshotRefresh::TooMany => {
                inner.too_many = true;
                inner.notices.push(format!(
                    "This folder has more than {MAX_FILES} files. /rewind can't restore what commands change in it, only what the edit tools change."
                ));
                return;
            }
        }
        if let Err(error) = self.save_tree(&mut inner) {
            return self.fail(&mut inner, &error);
        }
        self.write(&mut inner, vec![JournalRecord::Running { command: command.to_owned() }]);
        inner.running = true;
    }

    /// Records and returns the files that the command changed. Also call it if the command didn't run. Blocks.
    pub fn after_command(&self) -> Vec<PathBuf> {
        let mut inner = self.lock();
        if std::mem::take(&mut inner.running) && !inner.broken {
            return self.take_differences(&mut inner, false);
        }
        Vec::new()
    }

    fn take_differences(&self, inner: &mut Inner, doubtful: bool) -> Vec<PathBuf> {
        let differences = inner.tree.compare(&self.root, &self.blobs);
        let has_text = |state: &PathState| state.hash().is_some();
        let files = differences.iter().filter(|found| has_text(&found.before) || has_text(&found.after));
        let files = files.map(|found| found.path.clone()).collect();
        let change = |found: JournalChange| {
            JournalRecord::Change(JournalChange { doubtful: doubtful || found.doubtful, ..found })
        };
        let mut lines: Vec<JournalRecord> = differences.into_iter().map(change).collect();
        lines.push(JournalRecord::Ran);
        self.write(inner, lines);
        files
    }

    pub fn lines(&self) -> Vec<JournalRecord> {
        self.lines_of(&self.lock())
    }

    /// Writes lines of a rewind before anything is done.
    pub fn record_rewind(&self, lines: &[JournalRecord]) -> io::Result<()> {
        let mut inner = self.lock();
        inner.turn = None;
        record::append(&record::path_of(&self.folder, &inner.session), lines)
    }

    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notices)
    }

    fn lines_of(&self, inner: &Inner) -> Vec<JournalRecord> {
        record::read(&record::path_of(&self.folder, &inner.session))
    }

    fn write(&self, inner: &mut Inner, mut lines: Vec<JournalRecord>) {
        let turn = inner.turn.take();
        if let Some(turn) = &turn {
            lines.insert(0, turn.clone());
        }
        if let Err(error) = record::append(&record::path_of(&self.folder, &inner.session), &lines) {
            inner.turn = turn;
            self.fail(inner, &error);
        }
    }

    fn fail(&self, inner: &mut Inner, error: &io::Error) {
        if !std::mem::replace(&mut inner.broken, true) {
            inner.notices.push(format!(
                "The undo journal in {} can't be written ({error}). /rewind can't restore files that change from now on.",
                self.folder.display()
            ));
        }
    }

    fn tree_path(&self, inner: &Inner) -> PathBuf {
        self.folder.join(format!("{}.tree", inner.session))
    }

    fn save_tree(&self, inner: &mut Inner) -> io::Result<()> {
        file::create_private_folder(&self.folder)?;
        let path = self.tree_path(inner);
        let (bytes, follows) = inner.tree.unsaved(path.is_file())?;
        if follows {
            return fs::OpenOptions::new().append(true).open(&path)?.write_all(&bytes);
        }
        let temp = path.with_extension("tree.tmp");
        let _ = fs::remove_file(&temp);
        file::create_private(&temp)?.write_all(&bytes)?;
        fs::rename(&temp, &path)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}
