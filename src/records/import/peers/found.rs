//! Session folders of other agents, and sessions found there.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSession {
    pub id: String,
    /// For opencode, which uses a database, the session id.
    pub path: PathBuf,
    pub title: String,
    pub updated_ms: u64,
    pub side: bool,
}

/// The folder named by `variable`, or `in_home` in the user's home.
pub fn base(variable: &str, in_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(std::env::home_dir()?.join(in_home)))
}

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
