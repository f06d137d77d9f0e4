//! Checks a model-written summary against the log: a path or command that never occurred there is struck out. Errs on
//! the side of keeping words; only what looks like a name in code marks or like a path is checked.

use std::sync::LazyLock;

use regex::{Captures, Regex};

static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"`([^`\n]{2,200})`|((?:[\w.@-]+/)+[\w.@-]*\w|\b[\w-]+\.(?:rs|py|js|ts|tsx|jsx|go|java|c|h|cc|cpp|hpp|rb|md|toml|json|ya?ml|sh|txt|cfg|ini|lock|html|css|sql)\b)").ok()
});

/// What a struck-out name is replaced by.
pub const STRUCK: &str = "[struck out: not in the log]";

/// `summary` with every name that `known` does not recognise struck out, and how many were.
pub fn strike_unknown(summary: &str, known: impl Fn(&str) -> bool) -> (String, usize) {
    let Some(names) = NAMES.as_ref() else { return (summary.to_owned(), 0) };
    let mut struck = 0;
    let clean = names.replace_all(summary, |found: &Captures<'_>| {
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        let name = found.get(1).or_else(|| found.get(2)).map_or("", |name| name.as_str());
        let bare = name
            .split_once(':')
            .map_or(name, |(path, _)| path)
            .trim_start_matches("./")
            .trim_matches(['/', '.']);
        if known(name) || (bare.len() > 1 && known(bare)) {
            return whole.to_owned();
        }
        struck += 1;
        STRUCK.to_owned()
    });
    (clean.into_owned(), struck)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_log_survive() {
        let log = "Read src/a.rs\ncargo test --lib\nfn parse_all()";
        let (clean, struck) = strike_unknown(
            "Edited `src/a.rs:10` and src/ghost.rs, ran `cargo test --lib`, not `cargo fly`; see parse_all and and/or.",
            |name| log.contains(name) || name == "and/or",
        );
        assert_eq!(
            clean,
            format!(
                "Edited `src/a.rs:10` and {STRUCK}, ran `cargo test --lib`, not {STRUCK}; see parse_all and and/or."
            )
        );
        assert_eq!(struck, 2);
    }
}
