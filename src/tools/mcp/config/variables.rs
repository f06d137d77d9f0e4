//! `${VARIABLE}` and `${VARIABLE:-default}` in a server's configuration, as in Claude Code's `.mcp.json`.

pub fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (name, default, after))) =
        rest.find("${").and_then(|at| Some((&rest[..at], reference(&rest[at + 2..])?)))
    {
        out.push_str(before);
        match value(name).or_else(|| default.map(str::to_owned)) {
            Some(value) => out.push_str(&value),
            None => return Err(name.to_owned()),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The name, the default and the rest.
fn reference(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let (inside, after) = text.split_once('}')?;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    is_name(name).then_some((name, default, after))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Converts opencode's `{env:NAME}` and Gemini CLI's `$NAME`.
pub fn in_our_form(text: &str) -> String {
    let text = text.replace("{env:", "${");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 && !rest.starts_with(|c: char| c.is_ascii_digit()) {
            out.push_str(&format!("{{{}}}", &rest[..end]));
            rest = &rest[end..];
        }
    }
    out + rest
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
