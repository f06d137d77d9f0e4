//! Classifies lines of output: errors, by words common to all tools; neighbors that are equal or only count up, which are
//! folded; successes, which are only counted. Measurements (a loss, a duration) stay because they are often the point. Pure.

use std::collections::HashSet;

use base::pattern::Pattern;

/// Also matches `AssertionError`, `assertion … failed`, pytest's `E   assert`, `--- FAIL:` and the marks of JavaScript runners.
static ERROR: Pattern = Pattern::new(include_str!("error.regex"));

/// Longer lines, in bytes, are data and aren't examined.
const LINE_BYTES: usize = 1_000;

pub fn is_error(line: &str) -> bool {
    line.len() <= LINE_BYTES && !is_place(line) && ERROR.is_match(line)
}

/// A location as rustc gives it: the file's name may contain any word.
fn is_place(line: &str) -> bool {
    line.trim_start().starts_with("--> ")
}

/// Whether a line is likely to matter later; wider than [`is_error`].
pub fn may_be_error(line: &str) -> bool {
    const SIGNS: &str = "error,fail,panic,exception,traceback,assert,fatal,undefined,cannot,not found";
    let line = line.to_ascii_lowercase();
    !is_place(&line) && SIGNS.split(',').any(|sign| line.contains(sign))
}

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

const REPEATS_FROM: usize = 4;

pub fn fold_repeats(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let shapes: Vec<(String, Vec<Number>)> = lines.iter().map(|line| shape(line)).collect();
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut folded = false;
    let mut at = 0;
    while at < lines.len() {
        let mut end = at + 1;
        // Text without letters (a table of numbers) may be exactly what was asked for.
        let foldable = shapes[at].0.bytes().any(|b| b.is_ascii_alphabetic());
        // Numbers in errors may be locations, so only identical lines are folded.
        let places = foldable && is_error(lines[at]);
        while foldable
            && end < lines.len()
            && (lines[end] == lines[at] || !places && counts_up(&shapes[end - 1], &shapes[end]))
        {
            end += 1;
        }
        if end - at < REPEATS_FROM {
            out.extend(lines[at..end].iter().map(|line| (*line).to_owned()));
        } else {
            folded = true;
            out.push(lines[at].to_owned());
            if lines[at] == lines[end - 1] {
                out.push(format!("[the same line {} times]", end - at));
            } else {
                out.push(format!("[… {} lines like these …]", end - at - 2));
                out.push(lines[end - 1].to_owned());
            }
        }
        at = end;
    }
    folded.then(|| out.join("\n"))
}

/// A run of digits, and whether it is part of a decimal number.
type Number<'a> = (&'a str, bool);

fn shape(line: &str) -> (String, Vec<Number<'_>>) {
    let line = line.trim_end();
    let mut shape = String::with_capacity(line.len());
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(from) = line[at..].find(|c: char| c.is_ascii_digit()).map(|from| at + from) {
        let end = line[from..].find(|c: char| !c.is_ascii_digit()).map_or(line.len(), |len| from + len);
        let digit_beyond =
            |rest: Option<&str>| rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let before =
            line[..from].strip_suffix('.').is_some_and(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
        shape.push_str(&line[at..from]);
        shape.push('0');
        numbers.push((&line[from..end], before || digit_beyond(line[end..].strip_prefix('.'))));
        at = end;
    }
    shape.push_str(&line[at..]);
    (shape, numbers)
}

fn counts_up(before: &(String, Vec<Number>), now: &(String, Vec<Number>)) -> bool {
    let value =
        |digits: &str| (digits.trim_start_matches('0').len(), digits.trim_start_matches('0').to_owned());
    before.0 == now.0
        && before
            .1
            .iter()
            .zip(&now.1)
            .all(|((old, _), (new, measured))| old == new || !measured && value(old) < value(new))
}

static FINE: Pattern = Pattern::new(include_str!("fine.regex"));

const SUCCESSES_FROM: usize = 5;

pub fn reduce_successes(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let good: Vec<bool> = lines
        .iter()
        .map(|line| line.len() < 400 && FINE.is_match(line) && (ends_well(line) || !is_error(line)))
        .collect();
    if good.iter().filter(|good| **good).count() < SUCCESSES_FROM {
        return None;
    }
    let mut out: Vec<String> = Vec::with_capacity(lines.len());
    let mut at = 0;
    let mut reduced = false;
    while at < lines.len() {
        let end = (at..lines.len()).find(|&index| !good[index]).unwrap_or(lines.len());
        if end - at >= SUCCESSES_FROM {
            reduced = true;
            out.push(lines[at].to_owned());
            out.push(format!("[… {} more lines that report success …]", end - at - 1));
            at = end;
        } else {
            let stop = end.max(at + 1);
            out.extend(lines[at..stop].iter().map(|line| (*line).to_owned()));
            at = stop;
        }
    }
    reduced.then(|| out.join("\n"))
}

/// Whether the line reports success: a passed test about errors isn't an error.
fn ends_well(line: &str) -> bool {
    let last = line.trim_end().rsplit(' ').next().unwrap_or_default().to_ascii_lowercase();
    matches!(last.as_str(), "ok" | "passed" | "pass")
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
            "not ok 3 - renders the list",
            "  location: '/w/list.test.js:3:1'",
        ] {
            assert!(is_error(line), "{line}");
        }
        for line in [
            "test result: ok. 3 passed",
            "  --> src/error.rs:29:12",
            "Compiling serde v1.0",
            "let terror = mirrored(x);",
            "asserting",
        ] {
            assert!(!is_error(line), "{line}");
        }
    }

    #[test]
    fn lines_that_differ_in_digits_fold() {
        let text =
            "begin\nstep 1 of 90\nstep 2 of 90\nstep 3 of 90\nstep 4 of 90\nstep 15 of 90\nend\nx\nx\nx\nx";
        insta::assert_snapshot!(fold_repeats(text).unwrap_or_default(), @r"
        begin
        step 1 of 90
        [… 3 lines like these …]
        step 15 of 90
        end
        x
        [the same line 4 times]
        ");
        let losses: String = (0..40).map(|n| format!("epoch {n} loss 0.{}\n", 9344 - n * 7)).collect();
        assert_eq!(fold_repeats(&losses), None, "measurements stay");
        assert_eq!(fold_repeats(&losses.replace("0.", "")), None, "so does what falls");
        assert_eq!(fold_repeats("1\n2\n3\n4\n5\n6"), None);
        assert_eq!(fold_repeats("a\nb\na\nb"), None);
    }

    #[test]
    fn failures_and_totals_stay() {
        let passed: String = (0..20).map(|n| format!("test module::case_{n} ... ok\n")).collect();
        let text = format!(
            "running 21 tests\n{passed}test module::broken ... FAILED\n\nassertion failed: left == right\n  at src/a.rs:3\ntest result: FAILED. 20 passed; 1 failed"
        );
        insta::assert_snapshot!(reduce_successes(&text).unwrap_or_default(), @r"
        running 21 tests
        test module::case_0 ... ok
        [… 19 more lines that report success …]
        test module::broken ... FAILED

        assertion failed: left == right
          at src/a.rs:3
        test result: FAILED. 20 passed; 1 failed
        ");
        assert_eq!(reduce_successes("one\ntwo\nthree"), None);
        let passed = |n: u32| {
            format!(
                "# Subtest: adds {n}\nok {n} - adds {n}\n  ---\n  duration_ms: 0.{n}\n  type: 'test'\n  ...\n"
            )
        };
        let failed =
            "# Subtest: bad\nnot ok 4 - bad\n  ---\n  location: '/w/a.js:3:1'\n  error: 'x'\n  ...\n";
        let text =
            format!("TAP version 13\n{}{}{}{failed}{}1..5", passed(1), passed(2), passed(3), passed(5));
        insta::assert_snapshot!(reduce_successes(&text).unwrap_or_default(), @r"
        TAP version 13
        # Subtest: adds 1
        [… 18 more lines that report success …]
        not ok 4 - bad
          ---
          location: '/w/a.js:3:1'
          error: 'x'
          ...
        [… 6 more lines that report success …]
        1..5
        ");
    }
}
