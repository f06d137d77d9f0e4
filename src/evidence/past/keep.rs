//! The history between runs: read once, kept in the project's state folder, continued where git went on. A damaged file is
//! read anew from git. Knows nothing of searching.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::git::{self, MAX_COMMITS};
use super::history::{Commit, History};
use crate::evidence::index::codec::{Cursor, Damaged, put_bytes, put_number};
use crate::evidence::index::pages::{PageReader, PageWriter};

const FILE: &str = "history.bin";
/// Changes with every change of the layout or of how words are made.
const LAYOUT: u64 = 1;

/// The history of the folder `root`, kept in `folder`.
pub fn refreshed(root: &Path, folder: &Path) -> History {
    let kept = read(&folder.join(FILE)).ok();
    let Some(head) = git::head(root) else { return History::default() };
    let older = match kept {
        Some(history) if history.head == head => return history,
        Some(history) if git::is_ancestor(root, &history.head) => Some(history),
        _ => None,
    };
    let log = git::log(root, older.as_ref().map(|older| older.head.as_str()));
    let history = History::gather(&head, &log, older.as_ref(), MAX_COMMITS);
    // Without the file the next run only reads git again.
    let _ = write(folder, &history);
    history
}

fn write(folder: &Path, history: &History) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut bytes = Vec::new();
    put_number(&mut bytes, LAYOUT);
    put_bytes(&mut bytes, history.head.as_bytes());
    for names in [&history.terms, &history.files] {
        put_number(&mut bytes, names.len() as u64);
        for name in names {
            put_bytes(&mut bytes, name.as_bytes());
        }
    }
    put_number(&mut bytes, history.commits.len() as u64);
    for commit in &history.commits {
        put_number(&mut bytes, commit.time_s);
        put_number(&mut bytes, commit.terms.len() as u64);
        let mut last = 0;
        for (term, times) in &commit.terms {
            put_number(&mut bytes, u64::from(term - last));
            put_number(&mut bytes, u64::from(*times));
            last = *term;
        }
        put_number(&mut bytes, commit.files.len() as u64);
        for file in &commit.files {
            put_number(&mut bytes, u64::from(*file));
        }
    }
    let temporary = temporary(folder);
    let mut pages = PageWriter::create(&temporary)?;
    pages.write(&bytes)?;
    pages.finish()?;
    fs::rename(&temporary, folder.join(FILE)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

fn temporary(folder: &Path) -> PathBuf {
    folder.join(format!("{FILE}.{:x}-{:08x}", std::process::id(), fastrand::u32(..)))
}

fn read(path: &Path) -> Result<History, Damaged> {
    let pages = PageReader::open(path)?;
    let bytes = pages.read(0, pages.length())?;
    let mut cursor = Cursor::new(&bytes);
    if cursor.number()? != LAYOUT {
        return Err(Damaged);
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Damaged);
    let mut history = History { head: text(cursor.bytes()?)?, ..History::default() };
    for names in [&mut history.terms, &mut history.files] {
        for _ in 0..cursor.number()? {
            names.push(text(cursor.bytes()?)?);
        }
    }
    for _ in 0..cursor.number()? {
        let mut commit = Commit { time_s: cursor.number()?, ..Commit::default() };
        let mut last = 0_u32;
        for _ in 0..cursor.number()? {
            last = last.checked_add(cursor.small()?).ok_or(Damaged)?;
            commit.terms.push((last, cursor.small()?));
        }
        for _ in 0..cursor.number()? {
            commit.files.push(cursor.small()?);
        }
        let files = history.files.len() as u32;
        if last as usize >= history.terms.len().max(1) || commit.files.iter().any(|file| *file >= files) {
            return Err(Damaged);
        }
        history.commits.push(commit);
    }
    Ok(history)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::evidence::past::git::LogEntry;

    #[test]
    fn what_is_kept_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let entry = |id: &str, message: &str, files: &[&str]| LogEntry {
            id: id.into(),
            time_s: 9,
            message: message.into(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
        };
        let old = History::gather("one", &[entry("one", "Fix basket totals", &["a.rs", "b.rs"])], None, 10);
        let new = History::gather("two", &[entry("two", "Round totals", &["b.rs"])], Some(&old), 10);
        assert_eq!(new.commits.len(), 2);
        assert_eq!(new.files, ["b.rs", "a.rs"]);
        write(dir.path(), &new).unwrap();
        assert_eq!(read(&dir.path().join(FILE)).unwrap(), new);
        assert_eq!(History::gather("three", &[], Some(&new), 1).commits.len(), 1);
    }
}
