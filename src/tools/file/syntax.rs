//! Syntax errors in data files, told when the file is written.

use std::path::Path;

use base::text::one_line;

const SHOWN_CHARS: usize = 160;

/// Why the text can't be what its name says: `None` if it is, or if we can't tell.
pub fn problem(name: &str, text: &str) -> Option<String> {
    let (kind, error) = match Path::new(name).extension()?.to_str()? {
        "json" if !is_commented(name) => {
            ("JSON", serde_json::from_str::<serde::de::IgnoredAny>(text).err()?.to_string())
        }
        "toml" => ("TOML", text.parse::<toml::Table>().err()?.to_string()),
        "yaml" | "yml" if !text.contains("{{") && !text.contains("\n---") => {
            ("YAML", serde_saphyr::from_str::<serde::de::IgnoredAny>(text).err()?.to_string())
        }
        _ => return None,
    };
    Some(format!("it is not valid {kind}: {}", one_line(&error, SHOWN_CHARS)))
}

/// These take comments and trailing commas.
fn is_commented(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    [
        "tsconfig",
        "jsconfig",
        ".eslintrc",
        "devcontainer",
        "settings",
        "launch",
        "tasks",
        "extensions",
        "keybindings",
        "deno",
    ]
    .iter()
    .any(|start| file.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files() {
        assert!(problem("a.json", "{\"a\": 1,}").is_some_and(|why| why.starts_with("it is not valid JSON")));
        assert!(problem("a.toml", "a = ").is_some() && problem("a.yml", "a: [1").is_some());
        for (name, text) in [
            ("a.json", "{}"),
            ("tsconfig.json", "{ // c\n}"),
            ("a.toml", "a = 1"),
            ("a.yaml", "a:\n  - 1\n"),
            ("a.rs", "{"),
        ] {
            assert_eq!(problem(name, text), None, "{name}");
        }
    }
}
