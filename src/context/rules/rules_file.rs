//! One rules file: where it may lie, and what of it is sent. Names what the user should know of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::base::file::{self, FileError};
use crate::base::folder::atomic_write::{self, Expect};
use crate::base::path::leads_out;
use crate::base::sanitize;
use crate::base::text;
use crate::redact::detector;

/// What `/init` writes.
pub const OWN_NAME: &str = "CODE_LAW.md";
/// File names in order of preference; one file a folder. The first is matched in any case.
const NAMES: [&str; 3] = [OWN_NAME, "AGENTS.md", "CLAUDE.md"];

/// The largest rules file that is read, in bytes; for a larger one a line says that it is left out.
const MAX_BYTES: u64 = 1024 * 1024;

/// Something about rules files that the user should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RulesNotice {
    /// Only their beginning fits into the window.
    Cut,
    LeftOut {
        path: PathBuf,
        why: String,
    },
    /// Characters that hide or reorder text.
    Hidden {
        path: PathBuf,
        count: usize,
    },
    /// It appeared or changed while a command ran.
    HeldBack {
        path: PathBuf,
    },
}

/// One file as it was last read.
#[derive(Clone, Debug)]
pub struct RulesFile {
    pub path: PathBuf,
    /// Time and size then.
    pub stamp: (Option<SystemTime>, u64),
    /// Of its content; empty when it was not read.
    pub hash: String,
    /// What is sent of it.
    pub text: String,
    pub notice: Option<RulesNotice>,
}

impl RulesFile {
    /// Reads the file at `path`; `root` bounds where a link may lead.
    pub fn read(path: &Path, stamp: (Option<SystemTime>, u64), root: &Path) -> Self {
        let made = |hash: String, text: String, notice: Option<RulesNotice>| Self {
            path: path.to_owned(),
            stamp,
            hash,
            text,
            notice,
        };
        let left_out = |why: String| {
            let text = format!("This rules file {why}, so it is left out. The user was told.");
            made(String::new(), text, Some(RulesNotice::LeftOut { path: path.to_owned(), why }))
        };
        if leads_astray(path, root) {
            return left_out("is a link to something that is not a rules file of this project".to_owned());
        }
        if stamp.1 > MAX_BYTES {
            let (size, most) = (text::human_bytes(stamp.1), text::human_bytes(MAX_BYTES));
            return left_out(format!("has {size}, more than the limit of {most}"));
        }
        let bytes = match file::read(path, MAX_BYTES) {
            Ok((bytes, _)) => bytes,
            Err(error) => return left_out(format!("cannot be read ({error})")),
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let count = sanitize::deceptive(text);
        let notice = (count > 0).then(|| RulesNotice::Hidden { path: path.to_owned(), count });
        made(file::hash(&bytes), detector::redact(&sanitize::as_data(text)).into_owned(), notice)
    }
}

/// The rules files that a folder has, the one to use first.
pub fn candidates(folder: &Path) -> Vec<PathBuf> {
    let exact = folder.join(NAMES[0]);
    let own = if exact.is_file() {
        Some(exact)
    } else {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().eq_ignore_ascii_case(NAMES[0]))
        };
        entries.map(|entry| entry.path()).find(|path| named(path) && path.is_file())
    };
    let others = NAMES[1..].iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    own.into_iter().chain(others).collect()
}

/// The rules file of a folder that is in use, or the one that would be.
pub fn in_use(folder: &Path) -> PathBuf {
    candidates(folder).into_iter().next().unwrap_or_else(|| folder.join(OWN_NAME))
}

/// Adds a rule of the user's as a line of its own; `root` bounds where a link may lead.
///
/// # Errors
/// Why the file can't be written.
pub fn add_rule(path: &Path, root: &Path, rule: &str) -> Result<(), String> {
    if leads_astray(path, root) {
        return Err(format!("{} is a link that leads elsewhere", path.display()));
    }
    let before = match file::read(path, MAX_BYTES) {
        Ok((bytes, _)) => Some(bytes),
        Err(FileError::NotFound) => None,
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = before.clone().unwrap_or_default();
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend(format!("- {rule}\n").bytes());
    let expect = before.as_deref().map_or(Expect::Missing, Expect::Bytes);
    atomic_write::write(path, &bytes, expect).map_err(|error| error.to_string())
}

/// Time and size of the file at `path`; `None` when there is none.
pub fn stamp(path: &Path) -> Option<(Option<SystemTime>, u64)> {
    let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((meta.modified().ok(), meta.len()))
}

/// Whether the file is a link to what a checkout must not send off: anything outside of it, or that is no text for reading.
fn leads_astray(path: &Path, top: &Path) -> bool {
    const TEXTS: [&str; 4] = ["md", "mdc", "markdown", "txt"];
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return false;
    }
    let Ok(real) = path.canonicalize() else { return true };
    let is_text = real.extension().and_then(|name| name.to_str()).is_some_and(|name| TEXTS.contains(&name));
    let is_rules = real.file_name().is_some_and(|name| name.to_string_lossy().ends_with("rules"));
    leads_out(&real, top) || !(is_text || is_rules)
}
