//! The list of agents: one line each.

use std::io;
use std::path::{Path, PathBuf};

use super::{claude, codex, gemini, opencode};
use crate::import::transcript::Transcript;

/// An agent whose sessions can be read.
pub struct Peer {
    /// As it is named on the command line.
    pub name: &'static str,
    /// As users know it.
    pub title: &'static str,
    /// Its sessions: those of a folder, or all of them.
    pub find: fn(Option<&Path>) -> io::Result<Vec<Found>>,
    /// What a session's file tells. Blocks.
    pub read: fn(&Path) -> io::Result<Transcript>,
}

pub const PEERS: &[Peer] = &[
    Peer { name: "claude", title: "Claude Code", find: claude::find, read: claude::read },
    Peer { name: "codex", title: "Codex CLI", find: codex::find, read: codex::read },
    Peer { name: "gemini", title: "Gemini CLI", find: gemini::find, read: gemini::read },
    Peer { name: "opencode", title: "opencode", find: opencode::find, read: opencode::read },
];

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

/// The agent of that name.
pub fn peer(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    PEERS.iter().map(|peer| peer.name).collect()
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
            (entry.into_path(), modified.map_or(0, crate::base::clock::to_ms))
        })
        .collect()
}
