//! The `[keys]` table of the user's own file: key bindings for the screen. Knows only its shape; actions are
//! defined in `tui/terminal/key_table.rs`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// One line of the table, such as `history-search = ["ctrl-r", "alt-s"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBinding {
    pub action: String,
    /// As written; empty to unbind the action.
    pub keys: Vec<String>,
    pub line: usize,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    keys: BTreeMap<Spanned<String>, toml::Value>,
}

pub fn read(text: &str) -> Result<Vec<KeyBinding>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut bindings = Vec::new();
    for (action, value) in file.keys {
        let line = text[..action.span().start].matches('\n').count() + 1;
        let action = action.into_inner();
        let keys = names(&value).ok_or_else(|| {
            format!(
                "line {line}: `keys.{action}` isn't a key. Write \"ctrl-r\", a list of such names, or \"none\"."
            )
        })?;
        bindings.push(KeyBinding { action, keys, line });
    }
    bindings.sort_by_key(|binding| binding.line);
    Ok(bindings)
}

fn names(value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::String(name) if name == "none" => Some(Vec::new()),
        toml::Value::String(name) => Some(vec![name.clone()]),
        toml::Value::Array(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_forms() {
        let text = "max_steps = 3\n[keys]\nundo = \"ctrl-z\"\nsend = []\neditor = [\"ctrl-g\", \"f4\"]\nredo = \"none\"";
        let read = read(text).unwrap();
        let binding = |action: &str, keys: &[&str], line| KeyBinding {
            action: action.to_owned(),
            keys: keys.iter().map(ToString::to_string).collect(),
            line,
        };
        let expected = [
            binding("undo", &["ctrl-z"], 3),
            binding("send", &[], 4),
            binding("editor", &["ctrl-g", "f4"], 5),
            binding("redo", &[], 6),
        ];
        assert_eq!(read, expected);
        assert!(super::read("[keys]\nundo = 3").unwrap_err().starts_with("line 2: `keys.undo`"));
    }
}
