//! What an answer claims about failures and tests. Nothing is assumed for unknown languages.

use base::pattern::{Pattern, PhrasePattern};

static ASKS_CHANGE: PhrasePattern = PhrasePattern::new(include_str!("words/asks_change.regex"));
static DENIED: Pattern = Pattern::new(include_str!("words/denied.regex"));

pub fn is_silent(answer: &str) -> bool {
    static ADMITS: PhrasePattern = PhrasePattern::new(include_str!("words/admits.regex"));
    is_english(answer) && !names(&ADMITS, answer)
}

/// Whether an answer mentions a failure; tests that it says passed are then the others.
pub fn names_failure(answer: &str) -> bool {
    static FAILURE: PhrasePattern = PhrasePattern::new(include_str!("words/names_failure.regex"));
    names(&FAILURE, answer)
}

fn names(what: &PhrasePattern, answer: &str) -> bool {
    what.is_match(answer) && what.is_match(&DENIED.replace_all(answer, ""))
}

pub fn says_tests_pass(answer: &str) -> bool {
    static CLAIM: PhrasePattern = PhrasePattern::new(include_str!("words/claim.regex"));
    static PLANNED: PhrasePattern = PhrasePattern::new(include_str!("words/planned.regex"));
    static ABOUT_TESTS: PhrasePattern = PhrasePattern::new(include_str!("words/about_tests.regex"));
    static CLAIM_ELSEWHERE: PhrasePattern = PhrasePattern::new(include_str!("words/claim_elsewhere.regex"));
    static PLANNED_ELSEWHERE: PhrasePattern =
        PhrasePattern::new(include_str!("words/planned_elsewhere.regex"));
    let claims = |sentence: &str| {
        CLAIM.is_match(sentence) && ABOUT_TESTS.is_match(sentence) && !PLANNED.is_match(sentence)
    };
    let elsewhere =
        |sentence: &str| CLAIM_ELSEWHERE.is_match(sentence) && !PLANNED_ELSEWHERE.is_match(sentence);
    sentences(answer).any(claims) || !is_english(answer) && sentences(&answer.to_lowercase()).any(elsewhere)
}

pub fn says_tests_ran(answer: &str) -> bool {
    static RAN: PhrasePattern = PhrasePattern::new(include_str!("words/says_ran.regex"));
    RAN.is_match(answer)
}

/// Whether an answer says that it changed a file. In a language other than English, not if the task is a question.
pub fn says_changed(task: &str, answer: &str) -> bool {
    static CHANGED: PhrasePattern = PhrasePattern::new(include_str!("words/changed.regex"));
    static ELSEWHERE: PhrasePattern = PhrasePattern::new(include_str!("words/changed_elsewhere.regex"));
    CHANGED.is_match(answer)
        || !is_english(answer) && !asks_something(task) && ELSEWHERE.is_match(&answer.to_lowercase())
}

/// Whether a task is a question, whose answer may end with an offer.
pub fn asks_something(task: &str) -> bool {
    static QUESTION: PhrasePattern = PhrasePattern::new(include_str!("words/asks_something.regex"));
    static COMMAND: PhrasePattern = PhrasePattern::new(include_str!("words/asks_command.regex"));
    COMMAND.is_match(task) || QUESTION.is_match(task.trim()) && !ASKS_CHANGE.is_match(task.trim())
}

/// Whether a task asks for a change and the answer only shows a file or describes the change.
pub fn shows_file(task: &str, answer: &str) -> bool {
    static SHOWN: PhrasePattern = PhrasePattern::new(include_str!("words/shown_file.regex"));
    SHOWN.is_match(answer) && asks_change(task, &ASKS_CHANGE)
}

/// Whether a task asks for a change of code and an English answer doesn't say why there is none.
pub fn leaves_undone(task: &str, answer: &str) -> bool {
    static OF_CODE: PhrasePattern = PhrasePattern::new(include_str!("words/asks_code_change.regex"));
    static EXPLAINS: PhrasePattern = PhrasePattern::new(include_str!("words/explains.regex"));
    is_silent(answer) && !EXPLAINS.is_match(answer) && asks_change(task, &OF_CODE)
}

fn asks_change(task: &str, what: &PhrasePattern) -> bool {
    let asks = |sentence: &str| what.is_match(sentence.trim_start_matches([' ', '-', '*']));
    !task.contains('?') && !asks_something(task) && sentences(task).any(asks)
}

/// Whether a task that is no question gets the answer that tests pass.
pub fn claims_pass(task: &str, answer: &str) -> bool {
    says_tests_pass(answer) && asks_change(task, &ASKS_CHANGE)
}

pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    static END: Pattern = Pattern::new(r"[.!?](?-u:\s)|\n|。|！|？");
    END.split(text)
}

/// Whether it has common English words and hardly any letters of other scripts; `OK` could be in any language.
pub fn is_english(text: &str) -> bool {
    const FEW_WORDS: usize = 2;
    if text.is_ascii() && text.split_whitespace().count() <= FEW_WORDS {
        return true;
    }
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let foreign = text.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count();
    static SMALL: PhrasePattern = PhrasePattern::new(include_str!("words/english.regex"));
    foreign * 10 < letters.max(1) && SMALL.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_an_answer_claims() {
        for text in [
            "I've fixed the parser.",
            "Done! I updated `a.py` so that f returns 2.",
            "The bug has been fixed.",
            "I have now added the flag.",
        ] {
            assert!(says_changed("Fix f", text), "{text}");
        }
        for text in [
            "f returns 1.",
            "The commit fixed the parser.",
            "I would have fixed it.",
            "If you want it changed, tell me.",
            "It is fixed in 2.0.",
        ] {
            assert!(!says_changed("Fix f", text), "{text}");
        }
        for undone in
            ["Done.", "The rounding happens in `total`.", "Replace line 1 of `app.py` with:\n```\nx = 2\n```"]
        {
            assert!(leaves_undone("Fix the bug in app.py", undone), "{undone}");
            for task in ["What is the bug in app.py?", "Add 2 and 3", "Review app.py", "Arregla app.py"] {
                assert!(!leaves_undone(task, undone), "{task}");
            }
        }
        for explained in [
            "It already does.",
            "There is no such bug: total rounds once.",
            "I couldn't find it.",
            "Which of the two?",
            "Ich habe nichts gefunden.",
        ] {
            assert!(!leaves_undone("Fix the bug in app.py", explained), "{explained}");
        }
        let shown = "```python\n# a.py\ndef f():\n    return 2\n```";
        assert!(shows_file("Make f return 2", shown));
        assert!(shows_file("please fix f", "**src/a.py**\n\n```python\ndef f():\n    return 2\n```"));
        assert!(shows_file("Fix f", "Here it is:\n```python a.py\nx\n```"));
        let fixed =
            "Here is the fixed code for a.py:\n\n```python\ndef f():\n    return 2\n```\nNow it is 2.";
        assert!(shows_file("f returns 1 where 2 is right. Fix it and add a test.", fixed));
        assert!(!shows_file("Explain f. Make it short.", fixed));
        assert!(!shows_file("How can I make f return 2?", shown) && !shows_file("Explain f", shown));
        assert!(!shows_file("Fix f", "Run this:\n```sh\npytest\n```"));
    }

    #[test]
    fn claims_and_plans() {
        for claim in [
            "Fixed the parser. All tests pass.",
            "All 12 tests pass now.",
            "The test suite passes.",
            "Done, 14 passed.",
            "Everything is green: all tests are passing.",
            "The tests now pass.",
        ] {
            assert!(says_tests_pass(claim), "{claim}");
        }
        for other in [
            "Run the tests; they should pass.",
            "I could not run the tests.",
            "The tests will pass once the database is there.",
            "I passed the flag to the function.",
            "Make sure that the tests pass.",
            "The value passes through the filter.",
            "All new state fields passed as props.",
            "All pre-commit hooks passed (tests, lint).",
            "Vitest scripts all pass -> run status = passed",
        ] {
            assert!(!says_tests_pass(other), "{other}");
        }
    }

    #[test]
    fn questions_and_failures() {
        for task in
            ["What does f return?", "explain f", "テストは通りますか。", "Write a one-liner that counts"]
        {
            assert!(asks_something(task), "{task}");
        }
        for task in ["Can you fix f?", "Fix f. Why does it fail? See the log.", "When f is called, log it"] {
            assert!(!asks_something(task), "{task}");
        }
        assert!(names_failure("All 37 tests pass. The pre-existing failure in b is unrelated."));
        assert!(!names_failure("Fixed the failing test. All tests pass, 0 failed."));
    }

    #[test]
    fn silence() {
        for silent in
            ["The parser is fixed.", "Done. There are no errors.", "Added error handling to the parser."]
        {
            assert!(is_silent(silent), "{silent}");
        }
        for told in [
            "One test still fails: test_a.",
            "I couldn't run the tests.",
            "Die Tests schlagen noch fehl.",
            "测试失败了。",
            "Two tests were failing before my change (pre-existing).",
        ] {
            assert!(!is_silent(told), "{told}");
        }
    }
}
