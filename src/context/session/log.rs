//! Writes a session log, one `write_all` per line, so that a kill loses at most one line. Locks the file, so that two
//! processes never write the same session, and can end the process that holds a lock.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::record::{Meta, Record, VERSION};
use base::system::os::{self, Signal};
use base::{clock, file, repository};

#[derive(Debug, Error)]
pub enum LogError {
    #[error("session {id} is open in another mycode process")]
    Busy { id: String },
    #[error("the session log {path} can't be {action}: {source}")]
    Io { path: PathBuf, action: &'static str, source: io::Error },
}

/// After this many tries, the session counts as open elsewhere.
const LOCK_WAIT: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub struct SessionLog {
    id: String,
    path: PathBuf,
    file: File,
    /// The file may not end with a newline, so the next line must begin with one.
    torn: bool,
}

pub fn path_of(project_state: &Path, id: &str) -> PathBuf {
    project_state.join("sessions").join(format!("{id}.jsonl"))
}

/// Where a project's sub-agent sessions are: like a separate project, so that no session list includes them.
pub fn agents_of(project_state: &Path) -> PathBuf {
    project_state.join("agents")
}

/// A new session id: local time for users, random letters against collisions.
pub fn new_id() -> String {
    let now = jiff::Zoned::now();
    let letters: String = (0..4).map(|_| fastrand::lowercase()).collect();
    format!("{}-{letters}", now.strftime("%Y%m%d-%H%M%S"))
}

impl SessionLog {
    /// `set` has the session's special properties.
    pub fn create(
        project_state: &Path,
        id: &str,
        workspace: &Path,
        set: impl FnOnce(&mut Meta),
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
        let mut meta = Meta {
            version: VERSION,
            id: id.to_owned(),
            workspace: workspace.to_string_lossy().into_owned(),
            created_ms: clock::now_ms(),
            app: env!("CARGO_PKG_VERSION").to_owned(),
            branch: repository::branch(workspace),
            ..Meta::default()
        };
        set(&mut meta);
        if let Err(error) = log.append(&Record::Meta(meta)) {
            // On a full disk: free the name, and leave no empty session behind.
            let _ = fs::remove_file(&log.path);
            return Err(error);
        }
        Ok(log)
    }

    /// Opens an existing log to append to it. Refuses links and files of other users.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let fail = |source| LogError::Io { path: path.to_owned(), action: "opened", source };
        let mut options = OpenOptions::new();
        let file =
            os::without_waiting(options.read(true).append(true), false).open(path).map_err(|error| {
                match fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
                    true => fail(foreign()),
                    false => fail(error),
                }
            })?;
        if !is_own(&file.metadata().map_err(fail)?) {
            return Err(fail(foreign()));
        }
        let mut log = Self::locked(&id, path.to_owned(), file)?;
        log.torn = !ends_with_line_end(&mut log.file).map_err(fail)?;
        Ok(log)
    }

    fn locked(id: &str, path: PathBuf, file: File) -> Result<Self, LogError> {
        // An exiting process, or a child between fork and exec, may hold the lock a moment longer.
        // On a file system without locks, work without one.
        if let Ok(false) = file::lock_within(LOCK_WAIT, &file) {
            return Err(LogError::Busy { id: id.to_owned() });
        }
        Ok(Self { id: id.to_owned(), path, file, torn: false })
    }

    /// Appends one line. After an error the next one starts on a new line, so the log stays readable.
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

/// Whether it is this user's file and no link, so that others can't plant a session.
pub fn is_own(meta: &Metadata) -> bool {
    meta.is_file() && os::facts(meta).owner.0 == os::user()
}

fn foreign() -> io::Error {
    io::Error::other("it is a link, or not a file of yours")
}

pub fn ends_with_line_end(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

const END_PATIENCE: Duration = Duration::from_secs(5);

/// Sends SIGTERM to the process and waits; returns whether the log is free afterwards.
pub fn end_holder(holder: i32, log: &Path) -> bool {
    if !os::send(holder, Signal::TERM) {
        return false;
    }
    let deadline = Instant::now() + END_PATIENCE;
    // Doesn't spin: `open` waits for the lock.
    while Instant::now() < deadline {
        if SessionLog::open(log).is_ok() {
            return true;
        }
    }
    false
}
