//! Where agents keep their sessions, and what was found there.

use std::path::{Path, PathBuf};

/// A session that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub id: String,
    /// Its file; for opencode, which keeps a database, its id.
    pub path: PathBuf,
    pub title: String,
    /// In milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// The work of a sub-agent.
    pub side: bool,
}

/// The folder that `variable` names, or the one of that name in the user's home.
pub fn base(variable: &str, in_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(std::env::home_dir()?.join(in_home)))
}

/// The files below `folder`, so many levels deep, with their times; none where there is no such folder.
pub fn files(folder: &Path, depth: usize, endings: &[&str]) -> Vec<(PathBuf, u64)> {
    let entries = walkdir::WalkDir::new(folder).max_depth(depth).into_iter().flatten();
    let named = entries.filter(|entry| {
        let ending = entry.path().extension().and_then(|ending| ending.to_str());
        entry.file_type().is_file() && ending.is_some_and(|ending| endings.contains(&ending))
    });
    named
        .map(|entry| {
            let modified = entry.metadata().ok().and_then(|meta| meta.modified().ok());
            (entry.into_path(), modified.map_or(0, base::clock::to_ms))
        })
        .collect()
}
