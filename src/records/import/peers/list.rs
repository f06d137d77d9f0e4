//! The list of agents: one line each.

use std::io;
use std::path::Path;

use super::found::PeerSession;
use super::{claude, codex, gemini, opencode};
use crate::import::transcript::Transcript;

pub struct Peer {
    pub name: &'static str,
    pub title: &'static str,
    pub find: fn(Option<&Path>) -> io::Result<Vec<PeerSession>>,
    pub read: fn(&Path) -> io::Result<Transcript>,
}

pub const PEERS: &[Peer] = &[
    Peer { name: "claude", title: "Claude Code", find: claude::find, read: claude::read },
    Peer { name: "codex", title: "Codex CLI", find: codex::find, read: codex::read },
    Peer { name: "gemini", title: "Gemini CLI", find: gemini::find, read: gemini::read },
    Peer { name: "opencode", title: "opencode", find: opencode::find, read: opencode::read },
];

pub fn peer(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

pub fn names() -> Vec<&'static str> {
    PEERS.iter().map(|peer| peer.name).collect()
}
