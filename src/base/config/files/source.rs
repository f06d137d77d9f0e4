//! Reads one configuration file, and tells where a setting came from.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

use super::raw::Raw;
use crate::config::error::{ConfigError, bad};
use crate::config::keys::{self, KeyBinding};
use crate::file::{self, FileError};
use crate::text::one_line;

const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_SHOWN: usize = 100;

/// A setting that some source set, as users read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingSource {
    pub key: String,
    pub value: String,
    pub place: String,
}

/// The settings of these sources, of which the first wins. Headers may hold keys, so their values aren't told.
pub fn settings(sources: &[(String, Raw)]) -> Vec<SettingSource> {
    let mut all: Vec<SettingSource> = Vec::new();
    for (place, raw) in sources {
        let Ok(Value::Object(values)) = serde_json::to_value(raw) else { continue };
        for (key, value) in values {
            let told = value.is_null() || matches!(&*key, "permissions" | "keys");
            if told || all.iter().any(|setting| setting.key == key) {
                continue;
            }
            let value = match value {
                Value::Object(_) => "set".to_owned(),
                value => one_line(&value.to_string(), MAX_SHOWN),
            };
            all.push(SettingSource { key, value, place: place.clone() });
        }
    }
    all
}

/// The user's own file, the only one with keys.
pub fn user(path: &Path) -> Result<(Raw, Vec<KeyBinding>), ConfigError> {
    let Some(text) = text(path)? else { return Ok((Raw::default(), Vec::new())) };
    Raw::parse(&text).and_then(|raw| Ok((raw, keys::read(&text)?))).map_err(|what| unparsable(path, &what))
}

pub fn text(path: &Path) -> Result<Option<String>, ConfigError> {
    let refused = |why: &str| {
        bad(
            format!("{} can't be read ({why})", path.display()),
            "make the file readable UTF-8 text, or move it away",
        )
    };
    // A checkout may have a link to a device under this name: the size is limited, and only a file is read.
    match file::read(path, MAX_FILE_BYTES) {
        Ok((bytes, _)) => String::from_utf8(bytes).map(Some).map_err(|_| refused("not UTF-8 text")),
        Err(FileError::NotFound) => Ok(None),
        Err(_) if path.metadata().is_err_and(|error| error.kind() == ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(refused(&error.to_string())),
    }
}

pub fn unparsable(path: &Path, what: &str) -> ConfigError {
    bad(
        format!("{} is not a valid configuration:\n{what}", path.display()),
        "`mycode doctor --config` prints an annotated example",
    )
}
