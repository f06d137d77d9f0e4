//! `${VARIABLE}` and `${VARIABLE:-default}` in a server's configuration, as in Claude Code's `.mcp.json`.

use base::pattern::Pattern;
use regex::Captures;

static REFERENCE: Pattern = Pattern::new(r"\$\{([A-Za-z0-9_]+)(?::-([^}]*))?\}");
static GEMINI: Pattern = Pattern::new(r"\$([A-Za-z_][A-Za-z0-9_]*)");

/// The error is the name of a variable without a value.
pub fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut missing = None;
    let expanded = REFERENCE.replace_all(text, |found: &Captures| {
        let default = found.get(2).map(|default| default.as_str().to_owned());
        value(&found[1]).or(default).unwrap_or_else(|| {
            missing.get_or_insert_with(|| found[1].to_owned());
            String::new()
        })
    });
    let expanded = expanded.into_owned();
    missing.map_or(Ok(expanded), Err)
}

/// Converts opencode's `{env:NAME}` and Gemini CLI's `$NAME`.
pub fn in_our_form(text: &str) -> String {
    GEMINI.replace_all(&text.replace("{env:", "${"), "$${${1}}").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_defaults() {
        let value = |name: &str| (name == "A").then(|| "1".to_owned());
        let expand = |text: &str| expand(text, &value);
        assert_eq!(expand("x${A}y${B:-2}z$A ${no name} ${"), Ok("x1y2z$A ${no name} ${".into()));
        assert_eq!(expand("${B}"), Err("B".into()));
        assert_eq!(expand("${A:-2}${B:-}"), Ok("1".into()));
    }

    #[test]
    fn other_agents_variables() {
        assert_eq!(in_our_form("Bearer {env:KEY}"), "Bearer ${KEY}");
        assert_eq!(in_our_form("$KEY/${KEY}/$5/a$"), "${KEY}/${KEY}/$5/a$");
    }
}
