//! How test runners and compilers report success or failure in their last lines. In a pipe, the exit code doesn't tell.

use base::pattern::Pattern;
use base::text::one_line;

const SHOWN_CHARS: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunnerVerdict {
    Passed,
    Failed(String),
}

static FAILS: Pattern = Pattern::new(include_str!("fails.regex"));

static PASSES: Pattern = Pattern::new(include_str!("passes.regex"));

pub fn verdict(output: &str) -> Option<RunnerVerdict> {
    if let Some(line) = output.lines().rfind(|line| FAILS.is_match(line)) {
        let line = line.trim().trim_matches('=').trim();
        return Some(RunnerVerdict::Failed(one_line(line, SHOWN_CHARS)));
    }
    PASSES.is_match(output).then_some(RunnerVerdict::Passed)
}

/// Whether tests ran; `None` if the output doesn't say.
pub fn ran_tests(output: &str) -> Option<bool> {
    static SOME: Pattern = Pattern::new(include_str!("ran_some.regex"));
    static NONE: Pattern = Pattern::new(include_str!("ran_none.regex"));
    if SOME.is_match(output) { Some(true) } else { NONE.is_match(output).then_some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_say_how_it_ended() {
        for failed in [
            "==== 2 failed, 3 passed in 0.12s ====",
            "1 failed in 0.05s",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored",
            "error: could not compile `x` (lib) due to 2 previous errors",
            "--- FAIL: TestA (0.00s)",
            "FAIL\texample/a\t0.01s",
            "Tests:       1 failed, 3 passed, 4 total",
            " Tests  1 failed | 3 passed (4)",
            "  2 failing",
            "# fail 1",
            "FAILED (failures=1)",
            "[INFO] BUILD FAILURE",
            "67% tests passed, 1 tests failed out of 3",
            "5 examples, 1 failure",
            "Found 3 errors in the same file, starting at: a.ts:1",
            "make: *** [Makefile:2: all] Error 1",
            "Result: FAIL",
        ] {
            assert!(matches!(verdict(failed), Some(RunnerVerdict::Failed(_))), "{failed}");
        }
        for passed in [
            "==== 5 passed in 0.12s ====",
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            "ok  \texample/a\t0.01s",
            "Tests:       4 passed, 4 total",
            "  3 passing (5ms)",
            "OK",
            "5 examples, 0 failures",
            "100% tests passed, 0 tests failed out of 3",
            "ℹ fail 0",
            "Result: PASS",
        ] {
            assert_eq!(verdict(passed), Some(RunnerVerdict::Passed), "{passed}");
        }
        assert_eq!(verdict("total 4\na.py"), None);
        for (output, ran) in [
            ("test result: ok. 3 passed; 0 failed; 0 ignored", Some(true)),
            ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored", Some(false)),
            ("no tests ran in 0.01s", Some(false)),
            ("Ran 0 tests in 0.000s\n\nOK", Some(false)),
            ("Ran 2 tests in 0.000s\n\nFAILED (failures=1)", Some(true)),
            ("?   \texample/a\t[no test files]", Some(false)),
            ("ok  \texample/a\t0.01s [no tests to run]", Some(false)),
            ("ok  \texample/a\t0.01s", Some(true)),
            ("running 1 test\n\ntest result: ok. 0 passed; 0 failed; 1 ignored", Some(false)),
            ("==== 2 skipped, 1 warning in 0.01s ====", Some(false)),
            ("==== 1 passed, 2 skipped in 0.01s ====", Some(true)),
            ("Tests:       3 skipped, 3 total", Some(false)),
            ("Tests:       3 skipped, 1 passed, 4 total", Some(true)),
            ("      Tests  3 skipped (3)", Some(false)),
            ("all fine", None),
        ] {
            assert_eq!(ran_tests(output), ran, "{output}");
        }
        let mixed = "test result: ok. 1 passed\ntest result: FAILED. 0 passed; 1 failed\n";
        assert_eq!(
            verdict(mixed),
            Some(RunnerVerdict::Failed("test result: FAILED. 0 passed; 1 failed".to_owned()))
        );
    }
}
