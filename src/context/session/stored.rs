//! Renames, copies, trashes and restores stored sessions.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::journal::record as journal;
use super::list;
use super::log::{self, LogError, SessionLog};
use base::file;
use base::folder::atomic_write::{self, Expect};
use base::text;

const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
const TITLE_CHARS: usize = 100;
/// A file in the project's state with one id per line.
const UNPROMPTED: &str = "acp-unprompted";
const MAX_UNPROMPTED: usize = 100;
const MAX_UNPROMPTED_BYTES: u64 = 64 * 1024;

/// Copies a session, even if another process has it open; returns the copy's log.
pub fn fork(project_state: &Path, workspace: &Path, path: &Path) -> Result<PathBuf, LogError> {
    let fail = |action, source| LogError::Io { path: path.to_owned(), action, source };
    let bytes = file::read_own(path).map_err(|error| fail("read", io::Error::other(error)))?;
    // Skip the first line, which names the old session, and a last line that is still being written.
    let start = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
    let end = memchr::memrchr(b'\n', &bytes).map_or(start, |at| at + 1);
    let copy = SessionLog::create(project_state, &log::new_id(), workspace, |meta| {
        meta.begun = list::meta(path).unwrap_or_default().begun;
    })?;
    let copy = copy.path().to_owned();
    let append = || OpenOptions::new().append(true).open(&copy)?.write_all(&bytes[start..end.max(start)]);
    append().map_err(|source| LogError::Io { path: copy.clone(), action: "written", source })?;
    // The contents are shared. Without these lines, the fork can't undo what came before.
    let of = |log: &Path| {
        let id = log.file_stem().unwrap_or_default().to_string_lossy();
        journal::path_of(&project_state.join("journal"), &id)
    };
    let _ = journal::append(&of(&copy), &journal::read(&of(path)));
    Ok(copy)
}

/// An empty title restores the original one.
pub fn rename(project_state: &Path, session: &str, title: &str) -> Result<(), String> {
    let path = list::title_path(&list::find(project_state, session)?);
    let title = text::one_line(title, TITLE_CHARS);
    let written = if title.is_empty() {
        file::remove(&path).map_err(|error| error.to_string())
    } else {
        atomic_write::write_private(&path, title.as_bytes(), Expect::Anything)
            .map_err(|error| error.to_string())
    };
    written.map_err(|error| format!("the title can't be saved: {error}"))
}

/// Moves a session to the trash, and empties the trash of old ones. The error is a sentence for the user.
pub fn delete(project_state: &Path, session: &str) -> Result<(), String> {
    let path = list::find(project_state, session)?;
    // Locked until it is moved, so that nobody writes to a log in the trash.
    let open = SessionLog::open(&path).map_err(|error| error.to_string())?;
    let trash = trash(project_state);
    file::create_private_folder(&trash).map_err(|error| error.to_string())?;
    empty(&trash);
    let moved = shift(&path, &trash);
    drop(open);
    moved.map_err(|error| format!("the session can't be moved to the trash: {error}"))
}

pub fn restore(project_state: &Path, session: &str) -> Result<(), String> {
    let id = Path::new(session).file_name().unwrap_or_default().to_string_lossy();
    let path = trash(project_state).join(format!("{id}.jsonl"));
    let home = log::path_of(project_state, &id);
    if home.exists() {
        return Err(format!("session {session} already exists"));
    }
    let sessions = home.parent().unwrap_or(project_state);
    shift(&path, sessions).map_err(|error| format!("the session can't be restored from the trash: {error}"))
}

/// Whether an editor opened this session but hasn't prompted it yet, so that no log exists.
pub fn is_unprompted(project_state: &Path, id: &str) -> bool {
    let is_deleted = trash(project_state).join(format!("{id}.jsonl")).exists();
    unprompted(project_state).iter().any(|known| known == id) && !is_deleted
}

/// If this fails, an editor can't reopen the session until it is prompted.
pub fn remember_unprompted(project_state: &Path, id: &str) {
    let mut ids = unprompted(project_state);
    ids.push(id.to_owned());
    let list = ids[ids.len().saturating_sub(MAX_UNPROMPTED)..].join("\n");
    let path = project_state.join(UNPROMPTED);
    let _ = atomic_write::write_private(&path, list.as_bytes(), Expect::Anything);
}

fn unprompted(project_state: &Path) -> Vec<String> {
    let list = file::small_text(&project_state.join(UNPROMPTED), MAX_UNPROMPTED_BYTES).unwrap_or_default();
    list.lines().map(str::to_owned).collect()
}

fn trash(project_state: &Path) -> PathBuf {
    project_state.join("trash")
}

/// Moves a log and its title to another folder. The modification time is set to now, because the trash is emptied by age.
fn shift(path: &Path, folder: &Path) -> io::Result<()> {
    for file in [list::title_path(path), path.to_owned()] {
        let Some(name) = file.file_name() else { continue };
        match fs::rename(&file, folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && file != path => {}
            other => other?,
        }
    }
    Ok(())
}

fn empty(trash: &Path) {
    let old = |path: &Path| {
        let changed = fs::symlink_metadata(path).and_then(|meta| meta.modified());
        changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > KEPT))
    };
    for entry in fs::read_dir(trash).into_iter().flatten().flatten() {
        if old(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::session::record::{ItemRecord, Record};
    use base::model::item::{Item, ItemId, UserMessage};

    fn stored(folder: &Path, id: &str, text: &str) -> PathBuf {
        let mut log = SessionLog::create(folder, id, Path::new("/w"), |_| ()).unwrap();
        let item = Item::User(UserMessage::new(text)).into();
        log.append(&Record::Item(ItemRecord { id: ItemId(1), ms: 1, tokens: 1, item })).unwrap();
        log.path().to_owned()
    }

    #[test]
    fn deleted_and_back_with_its_title() {
        let dir = tempfile::tempdir().unwrap();
        let path = stored(dir.path(), "a", "the first words");
        rename(dir.path(), "a", "a better\ntitle").unwrap();
        assert_eq!(list::list(dir.path())[0].title, "a better title");
        delete(dir.path(), "a").unwrap();
        assert!(list::list(dir.path()).is_empty() && !path.exists());
        assert!(restore(dir.path(), "b").is_err());
        restore(dir.path(), "a").unwrap();
        assert_eq!(list::list(dir.path())[0].title, "a better title");
        rename(dir.path(), "a", " ").unwrap();
        assert_eq!(list::list(dir.path())[0].title, "the first words");
        let open = SessionLog::open(&path).unwrap();
        assert!(delete(dir.path(), "a").unwrap_err().contains("open in another"));
        drop(open);
    }

    #[test]
    fn a_fork_holds_what_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = stored(dir.path(), "a", "go");
        let open = SessionLog::open(&path).unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"torn\":").unwrap();
        let copy = fork(dir.path(), Path::new("/w"), &path).unwrap();
        let read = super::super::reader::read(&copy).unwrap();
        assert_eq!((read.records.len(), read.skipped), (2, 0));
        let id = copy.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(matches!(&read.records[0], Record::Meta(meta) if meta.id == id));
        drop(open);
    }
}
