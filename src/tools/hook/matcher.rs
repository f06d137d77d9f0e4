//! Matchers: which cases of an event a group of hooks runs for.

use fancy_regex::{Regex, RegexBuilder};

/// A pattern that backtracks more counts as not matching.
const MAX_BACKTRACKS: usize = 100_000;

#[derive(Clone, Debug)]
pub enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Box<Regex>),
}

impl Matcher {
    /// Letters, digits, `_`, `-`, spaces, `,` and `|` form a list of names; anything else is a pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        if matches!(text.trim(), "" | "*") {
            return Ok(Self::All);
        }
        if text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|')) {
            let names = text.split(['|', ',']).map(|name| name.trim().to_owned());
            return Ok(Self::Names(names.filter(|name| !name.is_empty()).collect()));
        }
        let built = RegexBuilder::new(text).backtrack_limit(MAX_BACKTRACKS).build();
        built.map(|regex| Self::Pattern(Box::new(regex))).map_err(|error| error.to_string())
    }

    pub fn is_for(&self, names: &[&str]) -> bool {
        match self {
            Self::All => true,
            Self::Names(wanted) => wanted.iter().any(|wanted| names.contains(&wanted.as_str())),
            Self::Pattern(regex) => names.iter().any(|name| regex.is_match(name).unwrap_or(false)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_lists_and_patterns() {
        let is_for = |matcher: &str, name: &str| Matcher::parse(matcher).unwrap().is_for(&[name]);
        for (matcher, name) in [
            ("", "Bash"),
            ("*", "Bash"),
            ("Edit|Write", "Write"),
            ("Edit, Write", "Edit"),
            ("code-reviewer", "code-reviewer"),
            ("^Notebook", "NotebookEdit"),
            ("Edit.*", "NotebookEdit"),
            ("mcp__memory__.*", "mcp__memory__add"),
            ("^(?!Bash$).*", "Read"),
        ] {
            assert!(is_for(matcher, name), "{matcher} {name}");
        }
        for (matcher, name) in [
            ("Edit", "MultiEdit"),
            ("mcp__memory", "mcp__memory__add"),
            ("^Edit$", "Edits"),
            ("bash", "Bash"),
            ("^(?!Bash$).*", "Bash"),
        ] {
            assert!(!is_for(matcher, name), "{matcher} {name}");
        }
        assert!(Matcher::parse("(").is_err());
    }
}
