//! What a command was seen to create: evidence of who made a file at a protected path, the command or the user.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use super::handles::Identity;

#[derive(Debug)]
pub enum Evidence {
    /// Nobody watched.
    Unknown,
    Seen(Created),
}

#[derive(Debug, Default)]
pub struct Created {
    /// By folder and name in lower case; whether the name brought its contents along (rename, link).
    names: BTreeMap<(Identity, String), bool>,
    /// Created in a folder that could not be found out.
    anywhere: BTreeSet<String>,
}

impl Created {
    pub fn add(&mut self, folder: Option<Identity>, name: &OsStr, with_contents: bool) {
        let name = lower(name);
        match folder {
            Some(folder) => *self.names.entry((folder, name)).or_default() |= with_contents,
            None => _ = self.anywhere.insert(name),
        }
    }
}

impl Evidence {
    /// Whether the command may have made `name` in this folder.
    pub fn made(&self, folder: Identity, name: &OsStr) -> bool {
        match self {
            Self::Unknown => true,
            Self::Seen(seen) => {
                let name = lower(name);
                seen.anywhere.contains(&name) || seen.names.contains_key(&(folder, name))
            }
        }
    }

    /// The same of what is in `name`, when it came with it.
    pub fn brought(&self, folder: Identity, name: &OsStr) -> bool {
        match self {
            Self::Unknown => true,
            Self::Seen(seen) => {
                let name = lower(name);
                seen.anywhere.contains(&name) || seen.names.get(&(folder, name)) == Some(&true)
            }
        }
    }
}

pub fn lower(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}
