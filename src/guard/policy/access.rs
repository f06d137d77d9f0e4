//! What a call will touch, declared before it runs: plain data that tools pass to the verdict.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Absolute, lexically normalized path.
    Read(PathBuf),
    /// Absolute, lexically normalized path.
    Write(PathBuf),
    /// A path in the program's own folder inside the workspace (the notes), written by a tool just for that.
    WriteOwn(PathBuf),
    /// A command exactly as it will run, and its start folder.
    Exec { command: String, cwd: PathBuf },
    /// The command of the same call uses the network.
    Network,
    /// One of our tools reads a page from this host.
    Host(String),
    /// A tool on an MCP server; `reads` if the server says that it changes nothing.
    Remote { server: String, tool: String, reads: bool },
}

impl Access {
    /// For a command, its start folder.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::WriteOwn(path) | Self::Exec { cwd: path, .. } => {
                Some(path)
            }
            Self::Network | Self::Host(_) | Self::Remote { .. } => None,
        }
    }
}
