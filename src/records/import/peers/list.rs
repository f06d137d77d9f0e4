//! The list of agents: one line each.

use std::io;
use std::path::Path;

use super::found::Found;
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

/// The agent of that name.
pub fn peer(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    PEERS.iter().map(|peer| peer.name).collect()
}
