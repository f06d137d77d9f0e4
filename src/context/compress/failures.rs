//! Repeated failures of one output are shown once, with their count; the others keep only their headings. Failures are
//! the same if they differ only in the test's own name and in line numbers. Pure.

use std::collections::HashMap;

use base::pattern::Pattern;

/// The line above one failure, as pytest, unittest, cargo and go write it.
static HEADING: Pattern = Pattern::new(include_str!("failures_heading.regex"));
static BEHIND: Pattern = Pattern::new(include_str!("failures_behind.regex"));
static NAME: Pattern = Pattern::new(r"[\w./-]{4,}");
static PLACE: Pattern = Pattern::new(r"(:|\bline )\d+");
const TRACEBACK: &str = "Traceback (most recent call last):";
const LEAST_LINES: usize = 4;

struct Failure {
    /// The first line after the heading, and the end.
    body: usize,
    end: usize,
    key: String,
}

pub fn fold_equal(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let failures = failures(&lines);
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for failure in &failures {
        *counts.entry(&failure.key).or_default() += 1;
    }
    if counts.values().all(|count| *count < 2) {
        return None;
    }
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut at = 0;
    for failure in &failures {
        let Some(count) = counts.get_mut(&*failure.key).filter(|count| **count != 1) else { continue };
        let is_first = *count > 0;
        let until = if is_first { failure.end } else { failure.body };
        out.extend(lines[at..until].iter().map(|line| (*line).to_owned()));
        if is_first {
            out.push(format!("[the same failure {count} times]"));
        }
        *count = 0;
        at = failure.end;
    }
    out.extend(lines[at..].iter().map(|line| (*line).to_owned()));
    Some(out.join("\n"))
}

fn failures(lines: &[&str]) -> Vec<Failure> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let has_heading = HEADING.is_match(lines[at]);
        if !has_heading && lines[at] != TRACEBACK {
            at += 1;
            continue;
        }
        let ends = |line: &&str| match has_heading {
            true => HEADING.is_match(line) || BEHIND.is_match(line),
            false => !line.starts_with([' ', '\t']),
        };
        let body = if has_heading { at + 1 } else { at };
        let next = lines[at + 1..].iter().position(ends).map_or(lines.len(), |n| at + 1 + n);
        // A traceback without a heading ends with its error line.
        let end = if has_heading { next } else { (next + 1).min(lines.len()) };
        if end - body >= LEAST_LINES {
            found.push(Failure { body, end, key: key(lines[at], &lines[body..end]) });
        }
        at = end;
    }
    found
}

fn key(heading: &str, body: &[&str]) -> String {
    let mut text = PLACE.replace_all(&body.join("\n"), "$1").into_owned();
    if HEADING.is_match(heading) {
        for name in NAME.find_iter(heading) {
            text = text.replace(name.as_str(), "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_failures_are_told_once() {
        let section = |name: &str, error: &str| {
            format!(
                "____ ERROR collecting tests/{name}.py ____\nImportError while importing '/w/tests/{name}.py'.\ntests/{name}.py:8: in <module>\n    import humanize\nE   {error}\n"
            )
        };
        let missing = "ModuleNotFoundError: No module named 'humanize'";
        let text = format!(
            "{}{}{}{}===== short test summary info =====\nERROR tests/test_a.py",
            section("test_a", missing),
            section("test_b", "SyntaxError: invalid syntax"),
            section("test_c", missing),
            section("test_d", missing),
        );
        let told = format!(
            "{}[the same failure 3 times]\n{}____ ERROR collecting tests/test_c.py ____\n____ ERROR collecting tests/test_d.py ____\n===== short test summary info =====\nERROR tests/test_a.py",
            section("test_a", missing),
            section("test_b", "SyntaxError: invalid syntax"),
        );
        assert_eq!(fold_equal(&text), Some(told));
    }

    #[test]
    fn values_count_and_lines_do_not() {
        let traceback = |line: u32, value: u32| {
            format!(
                "Traceback (most recent call last):\n  File \"a.py\", line {line}, in f\n    g()\n  File \"a.py\", line 9, in g\nValueError: {value}\n"
            )
        };
        let equal = fold_equal(&format!("{}next\n{}", traceback(3, 1), traceback(4, 1))).unwrap_or_default();
        assert!(equal.ends_with("ValueError: 1\n[the same failure 2 times]\nnext\n"), "{equal}");
        assert_eq!(fold_equal(&format!("{}{}", traceback(3, 1), traceback(3, 2))), None);
    }
}
