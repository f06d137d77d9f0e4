//! Writes a choice of the user into their `config.toml` and leaves the rest unchanged, so that choices made
//! on the screen can't contradict the file.

use std::io;
use std::path::Path;

use super::raw::Raw;
use crate::folder::update::update;

/// Creates the file if missing. The error is the end of a sentence for the user.
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

/// The text with the key's line; keys must precede the first table.
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
mod tests {
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
