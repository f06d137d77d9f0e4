//! The user's server list, `mcp_servers.json`. Changes keep everything else in the file. Methods block.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::entry::Entry;
use base::file;
use base::folder::atomic_write::{self, Expect};

const NAME: &str = "mcp_servers.json";

#[derive(Debug)]
pub struct UserFile {
    pub path: PathBuf,
}

impl UserFile {
    pub fn new(config: &Path) -> Self {
        Self { path: config.join(NAME) }
    }

    pub fn add(&self, entries: &[(String, Entry)]) -> io::Result<()> {
        let mut config = self.read()?;
        for (name, entry) in entries {
            config["mcpServers"][name] = serde_json::to_value(entry)?;
        }
        self.write(&config)
    }

    /// Returns whether it existed. Blocks.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let mut config = self.read()?;
        let servers = config["mcpServers"].as_object_mut();
        let was_there = servers.is_some_and(|servers| servers.shift_remove(name).is_some());
        if was_there {
            self.write(&config)?;
        }
        Ok(was_there)
    }

    pub fn has(&self, name: &str) -> io::Result<bool> {
        Ok(self.read()?["mcpServers"].get(name).is_some())
    }

    fn read(&self) -> io::Result<Value> {
        if self.path.symlink_metadata().is_err() {
            return Ok(json!({"mcpServers": {}}));
        }
        let bytes = file::read_own(&self.path).map_err(io::Error::other)?;
        let config: Value = serde_json::from_slice(&bytes).map_err(|error| {
            io::Error::other(format!("{} is not valid JSON: {error}", self.path.display()))
        })?;
        let in_form = config.is_object() && config.get("mcpServers").is_none_or(Value::is_object);
        in_form
            .then_some(config)
            .ok_or_else(|| io::Error::other(format!("{} has no object \"mcpServers\"", self.path.display())))
    }

    fn write(&self, config: &Value) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            file::create_private_folder(folder)?;
        }
        let mut text = serde_json::to_string_pretty(config)?;
        text.push('\n');
        atomic_write::write_private(&self.path, text.as_bytes(), Expect::Anything).map_err(io::Error::other)
    }
}
