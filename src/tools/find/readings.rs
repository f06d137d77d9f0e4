//! Other interpretations of a pattern without matches: grep syntax (`\|` means or) or plain text.

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub pattern: String,
    pub why: &'static str,
}

const BAR: &str = r"\| is a literal bar in this syntax, | alone means or";
const BASIC: &str = r"in this syntax ( ) { } + ? | are operators as they stand and letters after a backslash";
const BRACKETS: &str = r"( ) [ ] { } are operators unless a backslash precedes them";
const LETTERS: &str = r". * + ? ^ $ and brackets are operators unless a backslash precedes them";

/// Most likely interpretation first.
pub(super) fn readings(pattern: &str) -> Vec<Reading> {
    let reading = |pattern, why| Reading { pattern, why };
    let mut readings = if has_escaped_bar(pattern) {
        vec![
            reading(rewritten(pattern, |c, escaped| escaped && c == '|'), BAR),
            reading(rewritten(pattern, |c, _| "(){}+?|".contains(c)), BASIC),
        ]
    } else {
        vec![
            reading(rewritten(pattern, |c, escaped| !escaped && "()[]{}".contains(c)), BRACKETS),
            reading(regex::escape(pattern), LETTERS),
        ]
    };
    readings.retain(|reading| reading.pattern != pattern);
    readings.dedup_by(|a, b| a.pattern == b.pattern);
    readings
}

fn has_escaped_bar(pattern: &str) -> bool {
    rewritten(pattern, |c, escaped| escaped && c == '|') != pattern
}

/// Adds or removes a backslash before the characters that `wanted` accepts.
fn rewritten(pattern: &str, wanted: impl Fn(char, bool) -> bool) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some(next)) if wanted(next, true) => out.push(next),
            ('\\', Some(next)) => out.extend(['\\', next]),
            (c, _) if wanted(c, false) => out.extend(['\\', c]),
            (c, _) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_read_otherwise() {
        let read =
            |pattern: &str| readings(pattern).into_iter().map(|found| found.pattern).collect::<Vec<_>>();
        assert_eq!(read(r"a\|b"), ["a|b"]);
        assert_eq!(read(r"f(\|g\.h("), [r"f(|g\.h(", r"f\(|g\.h\("]);
        assert_eq!(read(r"\(a\)\|b+"), [r"\(a\)|b+", r"(a)|b\+"]);
        assert_eq!(read("a[0].b(x)"), [r"a\[0\].b\(x\)", r"a\[0\]\.b\(x\)"]);
        assert_eq!(read("$x"), [r"\$x"]);
        assert_eq!(read(r"a\\|b"), [r"a\\\\\|b"], "a backslash, or b");
        assert!(read("plain").is_empty());
    }
}
