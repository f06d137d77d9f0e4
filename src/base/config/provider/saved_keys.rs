//! API keys saved with `/login` or `mycode login`, in `keys.toml` next to `config.toml`. They work as if their
//! variables were exported; exported variables take precedence.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::vendors::{VENDORS, Vendor};
use crate::config::error::{ConfigError, bad};
use crate::file::{self, FileError};
use crate::folder::update::update;
use crate::secret::Secret;

pub const FILE_NAME: &str = "keys.toml";
/// The account file of a vendor with sign-in; its path stands for the key.
pub const ACCOUNT_FILE: &str = "chatgpt.json";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendorKey {
    pub vendor: String,
    pub state: KeyState,
}

impl VendorKey {
    pub fn shown(&self) -> String {
        match &self.state {
            KeyState::Missing if Vendor::has_account(&self.vendor) => "not signed in".to_owned(),
            KeyState::Saved if Vendor::has_account(&self.vendor) => "signed in".to_owned(),
            KeyState::Missing => "no key".to_owned(),
            KeyState::Saved => "key saved".to_owned(),
            KeyState::Exported(name) => format!("{name} is exported"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    Missing,
    Saved,
    /// In this environment variable.
    Exported(String),
}

#[derive(Debug, Default)]
pub struct SavedKeys(BTreeMap<String, Secret>);

impl SavedKeys {
    pub fn read(folder: &Path) -> Result<Self, ConfigError> {
        let path = folder.join(FILE_NAME);
        let refused = |why: &dyn std::fmt::Display| {
            let what = format!("{} can't be used: {why}", path.display());
            bad(what, "correct or delete the file, then run `mycode login`")
        };
        let bytes = match file::read_own(&path) {
            Ok(bytes) => bytes,
            Err(FileError::NotFound) => Vec::new(),
            Err(error) => return Err(refused(&error)),
        };
        let mut keys = parse(&bytes).map_err(|error| refused(&error))?;
        let account = folder.join(ACCOUNT_FILE);
        let read =
            file::read_own(&account).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        if read.is_some_and(|read| read["tokens"].is_object()) {
            let vendor = VENDORS.iter().find(|vendor| !vendor.account.is_empty());
            keys.extend(
                vendor.map(|vendor| (vendor.keys[0].clone(), Secret::new(&account.to_string_lossy()))),
            );
        }
        Ok(Self(keys))
    }

    /// The value of an environment variable, or the key saved in its place.
    pub fn var(&self, name: &str) -> Option<String> {
        exported(name).or_else(|| self.0.get(name).map(|key| key.expose().to_owned()))
    }

    pub fn rows(&self) -> Vec<VendorKey> {
        let var = |name: &str| self.var(name);
        let row = |vendor: &Vendor| VendorKey {
            vendor: vendor.name().to_owned(),
            state: match vendor.key(&exported) {
                Some((name, _)) => KeyState::Exported(name.to_owned()),
                None if vendor.key(&var).is_some() => KeyState::Saved,
                None => KeyState::Missing,
            },
        };
        VENDORS.iter().map(row).collect()
    }
}

/// `None` removes the vendor's key; returns whether there was one.
pub fn save(folder: &Path, vendor: &Vendor, key: Option<&Secret>) -> io::Result<bool> {
    let mut had = false;
    update(&folder.join(FILE_NAME), |before| {
        let mut keys = parse(before.unwrap_or_default()).map_err(io::Error::other)?;
        for name in &vendor.keys {
            had |= keys.remove(name).is_some();
        }
        if let Some(key) = key {
            keys.insert(vendor.keys[0].clone(), key.clone());
        }
        // JSON strings are valid TOML.
        let line = |(name, key): (&String, &Secret)| format!("{name} = {}\n", Value::from(key.expose()));
        Ok(Some(keys.iter().map(line).collect::<String>().into_bytes()))
    })?;
    Ok(had)
}

pub fn exported(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Errors must not quote the file.
fn parse(bytes: &[u8]) -> Result<BTreeMap<String, Secret>, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8")?;
    let keys: BTreeMap<String, String> = toml::from_str(text)
        .map_err(|_| "each line must be a variable and its key, such as OPENAI_API_KEY = \"…\"")?;
    Ok(keys.into_iter().map(|(name, key)| (name, Secret::new(&key))).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_user_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let vendor = VENDORS.iter().find(|vendor| vendor.is_called("zai")).unwrap();
        save(folder.path(), vendor, Some(&Secret::new("k \"1\"\n"))).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(SavedKeys::read(folder.path()).unwrap().var("ZAI_API_KEY").as_deref(), Some("k \"1\""));
        assert!(save(folder.path(), vendor, None).unwrap() && !save(folder.path(), vendor, None).unwrap());
        assert_eq!(SavedKeys::read(folder.path()).unwrap().var("ZAI_API_KEY"), None);
        std::fs::write(&path, "ZAI_API_KEY = secret").unwrap();
        let error = SavedKeys::read(folder.path()).unwrap_err();
        assert!(!error.what.contains("secret") && save(folder.path(), vendor, None).is_err(), "{error}");
    }
}
