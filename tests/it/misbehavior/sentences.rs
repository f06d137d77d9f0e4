//! What answers say, in the languages that users write: the detectors know each sentence of the table, and stay silent where
//! they can't be sure.

use agent::turn::endings::{self, Ending};
use agent::work::claims;

const TABLE: &str = include_str!("../../fixtures/said.tsv");

/// As the table names it; `-` is nothing.
fn heard(sentence: &str) -> &'static str {
    match endings::of(sentence, true, false) {
        Some(Ending::Announced | Ending::Shown) => "step",
        Some(Ending::Question) => "question",
        None if claims::says_tests_pass(sentence) => "claim",
        None if claims::says_changed("Make it so", sentence) => "changed",
        None => "-",
    }
}

#[test]
fn what_answers_say_is_known_in_each_language() {
    let wrong: Vec<String> = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(|line| {
            let (kind, sentence) = line.split_once('\t')?;
            let found = heard(&sentence.replace("\\n", "\n"));
            (found != kind).then(|| format!("{sentence}: {kind} expected, {found} heard"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
