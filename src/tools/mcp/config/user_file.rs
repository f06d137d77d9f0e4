//! The user's own list of servers, `mcp_servers.json` in the configuration folder: read and changed as a whole, and what
//! else stands in it stays.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::entry::Entry;
use base::file;
use base::folder::atomic_write::{self, Expect};

const NAME: &str = "mcp_servers.json";

/// The file.
#[derive(Debug)]
pub struct UserFile {
    pub path: PathBuf,
}

impl UserFile {
    /// In the user's configuration folder.
    pub fn new(config: &Path) -> Self {
        Self { path: config.join(NAME) }
    }

    /// Adds servers, or changes those that are there. Blocks.
    pub fn add(&self, entries: &[(String, Entry)]) -> io::Result<()> {
        let mut config = self.read()?;
        for (name, entry) in entries {
            config["mcpServers"][name] = serde_json::to_value(entry)?;
        }
        self.write(&config)
    }

    /// Removes a server; whether it was there. Blocks.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let mut config = self.read()?;
        let servers = config["mcpServers"].as_object_mut();
        let was_there = servers.is_some_and(|servers| servers.shift_remove(name).is_some());
        if was_there {
            self.write(&config)?;
        }
        Ok(was_there)
    }

    /// Whether it has this server. Blocks.
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
