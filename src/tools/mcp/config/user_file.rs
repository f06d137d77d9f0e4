//! The user's server list, `mcp_servers.json`. Changes preserve everything else in the file. Methods block.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::entry::Entry;
use base::folder::update::update;

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
        self.change(|servers| {
            for (name, entry) in entries {
                servers.insert(name.clone(), serde_json::to_value(entry)?);
            }
            Ok(())
        })
    }

    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let mut was_there = false;
        self.change(|servers| {
            was_there = servers.shift_remove(name).is_some();
            Ok(())
        })?;
        Ok(was_there)
    }

    pub fn has(&self, name: &str) -> io::Result<bool> {
        let mut has = false;
        self.change(|servers| {
            has = servers.contains_key(name);
            Ok(())
        })?;
        Ok(has)
    }

    fn change(&self, mut change: impl FnMut(&mut Map<String, Value>) -> io::Result<()>) -> io::Result<()> {
        let path = self.path.display();
        update(&self.path, |old| {
            let mut config = match old {
                None => json!({}),
                Some(old) => serde_json::from_slice(old)
                    .map_err(|error| io::Error::other(format!("{path} is not valid JSON: {error}")))?,
            };
            let servers =
                config.as_object_mut().map(|config| config.entry("mcpServers").or_insert(json!({})));
            let Some(Value::Object(servers)) = servers else {
                return Err(io::Error::other(format!("{path} has no object \"mcpServers\"")));
            };
            let before = servers.clone();
            change(servers)?;
            let unchanged = *servers == before;
            Ok(if unchanged { None } else { Some(format!("{config:#}\n").into_bytes()) })
        })
    }
}
