//! What servers offered the last time, kept in the user's state: so the model can be told names without any server being asked.
//! A server whose configuration has changed is unknown again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::catalog::RemoteTool;
use crate::base::file;
use crate::base::folder::atomic_write::{self, Expect};

/// A tool, as far as it is told in advance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedTool {
    pub name: String,
    /// The server says that it changes nothing.
    pub reads: bool,
}

/// By the hash of a server's configuration.
type All = BTreeMap<String, Vec<LearnedTool>>;

/// The file.
#[derive(Clone, Debug)]
pub struct Learned(PathBuf);

impl Learned {
    /// In the folder for servers of the user's state.
    pub fn new(state: &Path) -> Self {
        Self(state.join("learned.json"))
    }

    /// All that is known. Blocks.
    pub fn read(&self) -> All {
        let bytes = file::read_own(&self.0).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Remembers what the server with this hash offers. Blocks.
    ///
    /// # Errors
    /// The state folder cannot be written.
    pub fn write(&self, hash: &str, tools: &[LearnedTool]) -> io::Result<()> {
        let mut all = self.read();
        if all.get(hash).is_some_and(|known| known == tools) {
            return Ok(());
        }
        all.insert(hash.to_owned(), tools.to_vec());
        if let Some(folder) = self.0.parent() {
            file::create_private_folder(folder)?;
        }
        let bytes = serde_json::to_vec(&all)?;
        atomic_write::write_private(&self.0, &bytes, Expect::Anything).map_err(io::Error::other)
    }
}

/// What is kept of these tools.
pub fn of_tools(tools: &[RemoteTool]) -> Vec<LearnedTool> {
    tools.iter().map(|tool| LearnedTool { name: tool.name.clone(), reads: tool.reads() }).collect()
}
