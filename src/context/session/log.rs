//! Writing a session log: one `write_all` a line, so that a kill loses at most the line being written; a lock on
//! the file, so that two processes never write one session.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use thiserror::Error;

use super::record::{Meta, ParentCall, Record, SessionOrigin, VERSION};
use base::clock;
use base::file;

/// Why a session cannot be written or opened.
#[derive(Debug, Error)]
pub enum LogError {
    #[error("session {id} is open in another mycode process")]
    Busy { id: String },
    #[error("the session log {path} can't be {action}: {source}")]
    Io { path: PathBuf, action: &'static str, source: io::Error },
}

/// How long a held lock is waited for before the session counts as open elsewhere.
const LOCK_TRIES: u32 = 15;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// An open, locked session log.
#[derive(Debug)]
pub struct SessionLog {
    id: String,
    path: PathBuf,
    file: File,
    /// The last byte in the file may not be a line end: the next line must begin with one.
    torn: bool,
}

/// The file of session `id` under a project's state folder.
pub fn path_of(project_state: &Path, id: &str) -> PathBuf {
    project_state.join("sessions").join(format!("{id}.jsonl"))
}

/// The folder in which the sessions of a project's sub-agents are: like a project of their own, so that no list of sessions
/// names them.
pub fn agents_of(project_state: &Path) -> PathBuf {
    project_state.join("agents")
}

/// A new session id: the local time for users, random letters against collisions.
pub fn new_id() -> String {
    let now = jiff::Zoned::now();
    let letters: String = (0..4).map(|_| fastrand::lowercase()).collect();
    format!("{}-{letters}", now.strftime("%Y%m%d-%H%M%S"))
}

impl SessionLog {
    /// Creates the log of a new session and writes its first line.
    pub fn create(
        project_state: &Path,
        id: &str,
        workspace: &Path,
        parent: Option<ParentCall>,
    ) -> Result<Self, LogError> {
        Self::begin(project_state, id, workspace, (parent, None))
    }

    /// Creates the log of a session that was begun in another agent.
    pub fn imported(project_state: &Path, workspace: &Path, origin: SessionOrigin) -> Result<Self, LogError> {
        Self::begin(project_state, &new_id(), workspace, (None, Some(origin)))
    }

    fn begin(
        project_state: &Path,
        id: &str,
        workspace: &Path,
        (parent, origin): (Option<ParentCall>, Option<SessionOrigin>),
    ) -> Result<Self, LogError> {
        let path = path_of(project_state, id);
        let fail = |source| LogError::Io { path: path.clone(), action: "created", source };
        if let Some(folder) = path.parent() {
            file::create_private_folder(folder).map_err(fail)?;
        }
        let mut options = OpenOptions::new();
        let file =
            file::open_private(options.read(true).append(true).create_new(true), &path).map_err(fail)?;
        let mut log = Self::locked(id, path, file)?;
        let begun = log.append(&Record::Meta(Meta {
            version: VERSION,
            id: id.to_owned(),
            workspace: workspace.to_string_lossy().into_owned(),
            created_ms: clock::now_ms(),
            app: env!("CARGO_PKG_VERSION").to_owned(),
            parent,
            origin,
        }));
        if let Err(error) = begun {
            // On a full disk: the name must be free for the next try, and no empty session may be left to resume.
            let _ = fs::remove_file(&log.path);
            return Err(error);
        }
        Ok(log)
    }

    /// Opens an existing log for going on.
    /// Errors: `Busy` when another process has it open; `Io` when it cannot be opened, or is a link or another user's.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let fail = |source| LogError::Io { path: path.to_owned(), action: "opened", source };
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).custom_flags(flags.bits() as i32).open(path).map_err(
            |error| match fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
                true => fail(foreign()),
                false => fail(error),
            },
        )?;
        if !is_own(&file.metadata().map_err(fail)?) {
            return Err(fail(foreign()));
        }
        let mut log = Self::locked(&id, path.to_owned(), file)?;
        log.torn = !ends_with_line_end(&mut log.file).map_err(fail)?;
        Ok(log)
    }

    fn locked(id: &str, path: PathBuf, file: File) -> Result<Self, LogError> {
        // A process that is just ending, or a child of one between fork and exec, holds the lock for a moment more.
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                    tries += 1;
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Err(LogError::Busy { id: id.to_owned() }),
                // A file system without locks: going on is better than refusing to work at all.
                Ok(()) | Err(TryLockError::Error(_)) => break,
            }
        }
        Ok(Self { id: id.to_owned(), path, file, torn: false })
    }

    /// Appends one line.
    /// Errors: When the line could not be written whole (disk full, …). The log stays readable: the next line starts afresh.
    pub fn append(&mut self, record: &Record) -> Result<(), LogError> {
        let fail = |source| LogError::Io { path: self.path.clone(), action: "written", source };
        let mut line = Vec::with_capacity(512);
        if self.torn {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, record).map_err(|error| fail(error.into()))?;
        line.push(b'\n');
        let written = self.file.write_all(&line).map_err(fail);
        self.torn = written.is_err();
        written
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether it is a file of this user, and no link: what somebody else wrote must not go on as the user's session.
pub fn is_own(meta: &Metadata) -> bool {
    meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw()
}

fn foreign() -> io::Error {
    io::Error::other("it is a link, or not a file of yours")
}

/// Whether the next line can begin where the file ends; after a torn write it cannot.
pub fn ends_with_line_end(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}
