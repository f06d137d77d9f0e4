//! What a call will access, declared before it runs; the verdict is based on it.

use std::path::{Path, PathBuf};

use crate::shell::syntax::lexer::OPEN_QUOTE;
use crate::shell::syntax::parser;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Absolute, lexically normalized path.
    Read(PathBuf),
    /// Absolute, lexically normalized path.
    Write(PathBuf),
    /// A path in our own folder inside the workspace (the notes), written by the tool meant for it.
    WriteOwn(PathBuf),
    /// A command exactly as it will run, and its working folder.
    Exec { command: String, cwd: PathBuf },
    /// The call's command uses the network.
    Network,
    /// One of our tools fetches a page from this host.
    Host(String),
    /// A tool on an MCP server; `reads` if the server says that it is read-only.
    Remote { server: String, tool: String, reads: bool },
}

impl Access {
    /// Fails if no shell would run the command.
    pub fn exec(command: &str, cwd: PathBuf) -> Result<Self, String> {
        if parser::parse(command).is_err_and(|error| error.0 == OPEN_QUOTE) {
            return Err(format!("the command has a syntax error: {OPEN_QUOTE}. Nothing was run"));
        }
        Ok(Self::Exec { command: command.to_owned(), cwd })
    }

    /// For a command, its working folder.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::WriteOwn(path) | Self::Exec { cwd: path, .. } => {
                Some(path)
            }
            Self::Network | Self::Host(_) | Self::Remote { .. } => None,
        }
    }
}
