//! What a call is going to touch, declared before it runs. Plain data between tools and the verdict.

use std::path::{Path, PathBuf};

/// One thing that a call will touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Absolute, lexically normalized path.
    Read(PathBuf),
    /// Absolute, lexically normalized path.
    Write(PathBuf),
    /// A folder inside the workspace that is the program's own (the notes), changed by a tool made for just that.
    WriteOwn(PathBuf),
    /// A shell command, exactly as it will run, and the folder in which it starts.
    Exec { command: String, cwd: PathBuf },
    /// The command of the same call reaches the network.
    Network,
    /// A tool of ours reads a page of this host.
    Host(String),
    /// A tool of another program's server; `reads` when the server says that it changes nothing.
    Remote { server: String, tool: String, reads: bool },
}

impl Access {
    /// The path that it is about: for a command, the folder in which it starts.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::WriteOwn(path) | Self::Exec { cwd: path, .. } => {
                Some(path)
            }
            Self::Network | Self::Host(_) | Self::Remote { .. } => None,
        }
    }
}
