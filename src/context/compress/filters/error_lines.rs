//! Which lines of output report a problem, by words common to all tools. A strict test for lines that must
//! stay if there is any room, and a wider guess that only ranks. Pure.

use std::collections::HashSet;

use base::pattern::Pattern;

static ERROR: Pattern = Pattern::new(concat!(
    r"(?:\b(?i:error|failed|failure|failures|fatal|panic|panicked|exception|traceback|aborted)\b",
    // AssertionError, assertion `left == right` failed, E   assert x == y, --- FAIL:, ✗ and ✖ of JavaScript runners
    r"|\b[A-Za-z]*(?:Error|Exception|Failure)\b|\b(?i:assert(?:ion)?)\b|\bFAIL\b|[✗✖✘×]\s)",
));

/// The longest line that is examined, in bytes: longer ones are data.
const LINE_BYTES: usize = 1_000;

pub fn is_error(line: &str) -> bool {
    line.len() <= LINE_BYTES && ERROR.is_match(line)
}

/// Whether a line is likely to matter later; wider than [`is_error`].
pub fn may_be_error(line: &str) -> bool {
    const SIGNS: &str = "error,fail,panic,exception,traceback,assert,fatal,undefined,cannot,not found";
    let line = line.to_ascii_lowercase();
    SIGNS.split(',').any(|sign| line.contains(sign))
}

/// Indices of the error lines: the first of each kind, then the others.
pub fn errors_first_of_each_kind<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<usize> {
    let mut kinds: HashSet<String> = HashSet::new();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for (index, line) in lines.filter(|(_, line)| is_error(line)) {
        let kind: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
        if kinds.insert(kind) { first.push(index) } else { others.push(index) }
    }
    first.append(&mut others);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_every_tool_and_nothing_else() {
        for line in [
            "error[E0308]: mismatched types",
            "src/a.c:3:7: error: expected ';'",
            "FAILED tests/test_a.py::test_b - AssertionError: 1 != 2",
            "E       assert 3 == 4",
            "--- FAIL: TestSum (0.00s)",
            "thread 'main' panicked at src/main.rs:2:5:",
            "assertion `left == right` failed",
            "src/a.ts(3,5): error TS2322: Type 'string' is not assignable",
            "make: *** [Makefile:3: all] Error 1",
            "[ERROR] COMPILATION ERROR :",
            "Traceback (most recent call last):",
            "java.lang.NullPointerException: x",
            "  ✖ renders the list",
        ] {
            assert!(is_error(line), "{line}");
        }
        for line in
            ["test result: ok. 3 passed", "Compiling serde v1.0", "let terror = mirrored(x);", "asserting"]
        {
            assert!(!is_error(line), "{line}");
        }
    }
}
