//! What servers offered last time, so that the model can be shown names without starting servers. A server
//! whose configuration has changed is unknown again. Methods block.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rmcp::model::{Prompt, Tool};
use serde::{Deserialize, Serialize};

use super::catalog::{self, Catalog};
use base::file;
use base::folder::update::update;
use base::text::one_line;

const HELP_CHARS: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedTool {
    pub name: String,
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
        update(&self.0, |old| {
            let mut all: All = old.and_then(|old| serde_json::from_slice(old).ok()).unwrap_or_default();
            let before = all.insert(hash.to_owned(), offers.clone());
            if before.as_ref() == Some(offers) { Ok(None) } else { Ok(Some(serde_json::to_vec(&all)?)) }
        })
    }
}

pub fn of_catalog(offered: &Catalog) -> LearnedServer {
    let tool = |tool: &Tool| LearnedTool { name: tool.name.to_string(), reads: catalog::reads(tool) };
    let prompt = |prompt: &Prompt| {
        let args = prompt.arguments.iter().flatten().map(|argument| format!("[{}]", argument.name));
        LearnedPrompt {
            name: prompt.name.clone(),
            args: args.collect::<Vec<_>>().join(" "),
            help: one_line(prompt.description.as_deref().unwrap_or_default(), HELP_CHARS),
        }
    };
    LearnedServer {
        tools: offered.tools.iter().map(tool).collect(),
        prompts: offered.prompts.iter().map(prompt).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_learn_at_once_keep_each_others_entries() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for session in 0..4 {
                let learned = Learned::new(dir.path());
                scope.spawn(move || {
                    for server in 0..10 {
                        learned.write(&format!("{session}-{server}"), &LearnedServer::default()).unwrap();
                    }
                });
            }
        });
        assert_eq!(Learned::new(dir.path()).read().len(), 40);
    }
}
