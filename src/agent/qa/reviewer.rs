//! The reviewer: a sub-agent with a window of its own that sees what was wanted, the changes, and what the project's checks
//! say. Its verdict is never read from prose.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use super::checks::{self, CheckOutcome, CheckRunner};
use crate::calls::dispatcher::Dispatcher;
use base::model::usage::Usage;
use base::process::task;
use base::protocol::review::{ReviewFinding, ReviewOutcome};
use base::text;
use tools::cx::{SubAgents, ToolCx};
use tools::sub_agent::SubTask;

const ROLE: &str = "qa_reviewer";
/// Of the diff, in bytes: about 8k tokens. The files of the rest are named.
const DIFF_BYTES: usize = 24_000;

pub struct ChangeReviewer<'a> {
    pub dispatcher: &'a Dispatcher,
    pub agents: &'a dyn SubAgents,
    pub window_tokens: u64,
    pub cx: ToolCx,
    pub at_most: Option<(u32, u64)>,
}

impl ChangeReviewer<'_> {
    /// `wanted` and `changes` are sections. The error says why there is no outcome; `spent` takes what it cost in any case.
    pub async fn review(
        &self,
        wanted: (&str, &str),
        changes: (&str, &str),
        spent: &mut Vec<(Arc<str>, Usage)>,
    ) -> Result<ReviewOutcome, String> {
        let (dispatcher, cancel) = (self.dispatcher, self.cx.cancel.clone());
        let root = Arc::clone(&self.cx.root);
        let known = task::blocking(move || checks::of_project(&root, &[])).await;
        let runner = CheckRunner { dispatcher, window_tokens: self.window_tokens, cancel };
        let mut results = Vec::new();
        for check in &known.map_err(|error| error.to_string())? {
            results.push(runner.run(check).await.ok_or("it was interrupted")?);
        }
        let prompt = review_prompt(wanted, changes, &checks::text(&results));
        let of_role = SubTask { kind: ROLE.to_owned(), at_most: self.at_most, ..SubTask::default() };
        let mut task = SubTask { prompt, ..of_role.clone() };
        let mut why = String::new();
        for _ in 0..2 {
            let report = self.agents.run(task, &self.cx).await?;
            spent.push((Arc::clone(&report.model), report.usage));
            match ReviewVerdict::read(&report.answer) {
                Ok(verdict) => {
                    let failed = results.iter().filter(|result| result.outcome == CheckOutcome::Failed);
                    let failed: Vec<String> = failed.map(|result| result.line()).collect();
                    return Ok(ReviewOutcome {
                        passed: verdict.passes() && failed.is_empty(),
                        findings: verdict.findings,
                        failed,
                        checks: results.iter().map(|result| result.line()).collect(),
                        usage: Usage::default(),
                    });
                }
                Err(unread) => why = unread,
            }
            let prompt = asked_again(&why);
            task = SubTask { prompt, resume: Some(report.id), ..of_role.clone() };
        }
        Err(format!("the reviewer's verdict can't be read ({why})"))
    }
}

/// Limit of a section, in bytes; the rest can be read in its file.
const PART_BYTES: usize = 24_000;

pub fn prompt(parts: &[(&str, &str)]) -> String {
    let parts = parts.iter().filter(|(_, text)| !text.trim().is_empty());
    let parts: Vec<String> = parts
        .map(|(name, text)| {
            let end = text.floor_char_boundary(PART_BYTES);
            let cut = if end < text.len() { "\n[cut: read the file]" } else { "" };
            format!("## {name}\n{}{cut}", text[..end].trim())
        })
        .collect();
    parts.join("\n\n")
}

pub fn review_prompt(wanted: (&str, &str), changes: (&str, &str), checks: &str) -> String {
    prompt(&[wanted, changes, ("The project's own checks, run by the program just now", checks)])
}

/// The parts of a diff that fit, each with its file's name, and the names of the others.
pub fn fitting<'a>(files: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut shown = String::new();
    let mut more = Vec::new();
    for (name, part) in files {
        if shown.len() + part.len() > DIFF_BYTES {
            more.push(name);
        } else {
            shown.push_str(&part);
        }
    }
    if !more.is_empty() {
        shown.push_str(&format!("Not shown, read them: {}\n", text::one_line(&more.join(", "), 2_000)));
    }
    shown
}

// The reviewer's verdict: a JSON object, never read from prose. In doubt there is no verdict.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Judgment {
    #[serde(alias = "PASS", alias = "Pass")]
    Pass,
    #[serde(alias = "FAIL", alias = "Fail")]
    Fail,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ReviewVerdict {
    #[serde(alias = "Verdict", alias = "VERDICT")]
    verdict: Judgment,
    #[serde(default, alias = "Findings", alias = "FINDINGS")]
    pub findings: Vec<ReviewFinding>,
    #[serde(default, alias = "Summary", alias = "SUMMARY")]
    summary: String,
}

pub fn asked_again(why: &str) -> String {
    format!("Your verdict can't be read: {why}. Answer again with only the JSON object, in the given form.")
}

impl ReviewVerdict {
    /// The error says what is wrong with the answer, as the end of a sentence.
    pub fn read(answer: &str) -> Result<Self, String> {
        let mut found: Vec<Value> = objects(answer);
        found.dedup();
        let verdict = match found.as_slice() {
            [] => return Err("there is no JSON object with `verdict`".to_owned()),
            [one] => Self::deserialize(one).map_err(|error| error.to_string())?,
            _ => return Err("there is more than one verdict".to_owned()),
        };
        match (verdict.verdict, verdict.findings.is_empty()) {
            (Judgment::Pass, false) => Err("`pass` must have no findings, but there are some".to_owned()),
            (Judgment::Fail, true) => Err("`fail` needs at least one finding".to_owned()),
            _ => Ok(verdict),
        }
    }

    pub fn passes(&self) -> bool {
        self.verdict == Judgment::Pass
    }

    /// As Markdown, for people and for the fixer.
    pub fn text(&self) -> String {
        let mut out = format!("Verdict: {}\n", if self.passes() { "pass" } else { "fail" });
        if !self.summary.trim().is_empty() {
            out.push_str(&format!("\n{}\n", self.summary.trim()));
        }
        for finding in &self.findings {
            out.push_str(&format!("\n- [ ] {}", finding.line()));
        }
        out
    }

    pub fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = self.findings.iter().map(|finding| finding.path.clone()).collect();
        files.sort();
        files.dedup();
        files
    }
}

/// The outermost objects with a verdict, also in code blocks and between prose.
fn objects(answer: &str) -> Vec<Value> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = answer[at..].find('{').map(|start| at + start) {
        let mut values = Deserializer::from_str(&answer[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                let is_one =
                    |all: &Map<String, Value>| all.keys().any(|key| key.eq_ignore_ascii_case("verdict"));
                found.extend(value.as_object().is_some_and(is_one).then_some(value));
            }
            _ => at = start + 1,
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FAILS: &str = r#"{"verdict": "fail", "findings": [{"path": "a.rs", "line": 3, "problem": "wrong", "evidence": "x {"}]}"#;

    #[test]
    fn verdicts_come_from_the_object_only() {
        for answer in [
            "{\"verdict\": \"pass\"}",
            "{\"Verdict\": \"PASS\", \"Findings\": []}",
            "All read.\n```json\n{\"verdict\":\"pass\",\"findings\":[]}\n```\nPASS",
        ] {
            assert!(ReviewVerdict::read(answer).unwrap().passes(), "{answer}");
        }
        let fails = ReviewVerdict::read(&format!("PASS {{really}}:\n{FAILS}")).unwrap();
        assert!(!fails.passes());
        assert_eq!(fails.text(), "Verdict: fail\n\n- [ ] a.rs:3 wrong (x {)");
        assert_eq!(fails.files(), ["a.rs"]);
    }

    #[test]
    fn what_is_in_doubt_is_no_verdict() {
        for answer in [
            "",
            "PASS",
            "Passing tests were my first question. They do not pass.\nFAIL",
            r#"{"verdict": "mostly"}"#,
            r#"{"verdict": "pass", "VERDICT": "fail"}"#,
            r#"{"verdict": "fail"}"#,
            r#"{"verdict": "fail", "findings": ["a.rs"]}"#,
            r#"{"verdict": "pass", "findings": [{"path": "a.rs", "problem": "wrong"}]}"#,
            r#"{"verdict": "pass""#,
            &format!(r#"{{"verdict": "pass"}} or rather {FAILS}"#),
        ] {
            assert!(ReviewVerdict::read(answer).is_err(), "{answer}");
        }
    }
}
