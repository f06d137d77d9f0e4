//! Settings of other agents and editors: TOML, or JSON with comments and trailing commas.

use std::path::Path;

use serde_json::Value;

use crate::pattern::Pattern;

/// Matches a string, which is kept, or a comment, which is removed.
static COMMENT: Pattern = Pattern::new(r#"(?s)("(?:\\.|[^"\\])*"?)|//[^\n]*|/\*.*?(?:\*/|\z)"#);
static TRAILING_COMMA: Pattern = Pattern::new(r#"(?s)("(?:\\.|[^"\\])*"?)|,(\s*[}\]])"#);

pub fn parse(path: &Path, text: &str) -> Result<Value, String> {
    if path.extension().is_some_and(|extension| extension == "toml") && !text.starts_with('{') {
        return toml::from_str(text).map_err(|error| error.message().to_owned());
    }
    let plain = COMMENT.replace_all(text, "$1");
    serde_json::from_str(&TRAILING_COMMA.replace_all(&plain, "$1$2")).map_err(|error| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_commas() {
        let json = |text: &str| parse(Path::new("a.json"), text);
        let text = "{ // a\n \"u\": \"http://x/*y*/\\\"\", /* b\n */ \"l\": [1, 2, /* c */ ],\n}";
        assert_eq!(json(text).unwrap(), serde_json::json!({"u": "http://x/*y*/\"", "l": [1, 2]}));
        for broken in ["\"", "/*", "//", "\"\\"] {
            json(broken).unwrap_err();
        }
    }
}
