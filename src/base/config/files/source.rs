//! One configuration file: reads it, tells where a setting comes from, and writes a user's choice into it, so that choices
//! made on the screen can't contradict the file. Also reads the rules from the user's answers.

use std::io;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

use super::answers;
use super::raw::Raw;
use crate::config::error::{ConfigError, bad};
use crate::config::keys::{self, KeyBinding};
use crate::config::permission_rules::RuleSource;
use crate::file::{self, FileError};
use crate::folder::update::update;
use crate::system::os;
use crate::text::one_line;

const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_SHOWN: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingSource {
    pub key: String,
    pub value: String,
    pub place: String,
}

/// The settings of these sources; the first one wins. Values of headers may be keys, so they aren't shown.
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

/// The user's own file, the only one with key bindings.
pub fn user(path: &Path) -> Result<(Raw, Vec<KeyBinding>), ConfigError> {
    let Some(text) = text(path)? else { return Ok((Raw::default(), Vec::new())) };
    Raw::parse(&text).and_then(|raw| Ok((raw, keys::read(&text)?))).map_err(|what| unparsable(path, &what))
}

pub fn answers(project_state: &Path) -> Result<Option<RuleSource>, ConfigError> {
    let path = answers::path(project_state);
    // If moving fails, the user is just asked again.
    let _ = answers::move_old(&path);
    let text = text(&path);
    // A sandbox around this run may hide the state of all projects.
    if text.is_err() && is_hidden(&path) {
        return Ok(None);
    }
    let Some(text) = text? else { return Ok(None) };
    let lists = answers::parse(&text).map_err(|what| unparsable(&path, &what))?;
    Ok(Some(RuleSource { place: path.display().to_string(), lists, ..RuleSource::default() }))
}

/// Refused although the file's mode allows it (Landlock), or invisible (a closed folder).
fn is_hidden(path: &Path) -> bool {
    path.metadata().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        || os::is_readable(path) && matches!(file::read(path, MAX_FILE_BYTES), Err(FileError::Denied(_)))
}

pub fn text(path: &Path) -> Result<Option<String>, ConfigError> {
    let refused = |why: &str| {
        bad(
            format!("{} can't be read ({why})", path.display()),
            "make the file readable UTF-8 text, or move it away",
        )
    };
    // A checkout may contain a link to a device, so read only a regular file of limited size.
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

/// Sets a key, creating the file if needed. The error completes a sentence for the user.
pub fn choose(config: &Path, key: &str, value: &str) -> Result<(), String> {
    let changed = update(config, |before| {
        let text =
            std::str::from_utf8(before.unwrap_or_default()).map_err(|_| io::Error::other("is not UTF-8"))?;
        let text = with(text, key, value);
        Raw::parse(&text).map_err(|error| io::Error::other(format!("has a mistake: {error}")))?;
        Ok(Some(text.into_bytes()))
    });
    changed.map_err(|error| format!("{} {error}", config.display()))
}

/// The text with the key set; keys must precede the first table.
fn with(text: &str, key: &str, value: &str) -> String {
    let line = format!("{key} = \"{value}\"");
    let is_key = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let top = text.lines().take_while(|line| !line.trim_start().starts_with('['));
    let mut lines: Vec<&str> = text.lines().collect();
    match top.into_iter().position(is_key) {
        Some(at) => lines[at] = &line,
        None => lines.insert(0, &line),
    }
    format!("{}\n", lines.join("\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod remember_tests {
    use super::*;

    #[test]
    fn one_line_changes() {
        assert_eq!(with("", "theme", "dark"), "theme = \"dark\"\n");
        let file = "# mine\nmodel = \"m\"\n theme=\"light\"\n\n[headers]\ntheme = \"x\"\n";
        let changed = "# mine\nmodel = \"m\"\ntheme = \"dark\"\n\n[headers]\ntheme = \"x\"\n";
        assert_eq!(with(file, "theme", "dark"), changed);
        assert!(with("[headers]\na = \"b\"\n", "theme", "dark").starts_with("theme = \"dark\"\n[headers]"));
    }

    #[test]
    fn a_broken_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        choose(&path, "theme", "dark").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theme = \"dark\"\n");
        std::fs::write(&path, "model = \n").unwrap();
        assert!(choose(&path, "theme", "light").unwrap_err().contains("has a mistake"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "model = \n");
    }
}
