//! What servers offered last time, so that the model can be shown names without starting servers. A server
//! whose configuration has changed is unknown again. Methods block.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::catalog::{Catalog, RemotePrompt, RemoteTool};
use base::file;
use base::folder::atomic_write::{self, Expect};
use base::text::one_line;

const HELP_CHARS: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedTool {
    pub name: String,
    /// The server declares it read-only.
    pub reads: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedPrompt {
    pub name: String,
    pub args: String,
    pub help: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedServer {
    pub tools: Vec<LearnedTool>,
    pub prompts: Vec<LearnedPrompt>,
}

/// By the hash of a server's configuration.
type All = BTreeMap<String, LearnedServer>;

#[derive(Clone, Debug)]
pub struct Learned(PathBuf);

impl Learned {
    pub fn new(state: &Path) -> Self {
        Self(state.join("learned.json"))
    }

    pub fn read(&self) -> All {
        let bytes = file::read_own(&self.0).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub fn write(&self, hash: &str, offers: &LearnedServer) -> io::Result<()> {
        let mut all = self.read();
        if all.get(hash).is_some_and(|known| known == offers) {
            return Ok(());
        }
        all.insert(hash.to_owned(), offers.clone());
        if let Some(folder) = self.0.parent() {
            file::create_private_folder(folder)?;
        }
        let bytes = serde_json::to_vec(&all)?;
        atomic_write::write_private(&self.0, &bytes, Expect::Anything).map_err(io::Error::other)
    }
}

pub fn of_catalog(catalog: &Catalog) -> LearnedServer {
    let tool = |tool: &RemoteTool| LearnedTool { name: tool.name.clone(), reads: tool.reads() };
    let prompt = |prompt: &RemotePrompt| LearnedPrompt {
        name: prompt.name.clone(),
        args: prompt
            .arguments
            .iter()
            .map(|argument| format!("[{}]", argument.name))
            .collect::<Vec<_>>()
            .join(" "),
        help: one_line(&prompt.description, HELP_CHARS),
    };
    LearnedServer {
        tools: catalog.tools.iter().map(tool).collect(),
        prompts: catalog.prompts.iter().map(prompt).collect(),
    }
}
