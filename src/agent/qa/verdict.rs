//! The reviewer's verdict: a JSON object, never read from prose. If in doubt, there is none.

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use base::protocol::review::ReviewFinding;

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
    /// The error says what is wrong with the answer; it completes a sentence.
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

    /// The verdict as Markdown, for people and for the fixer.
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

/// The outermost objects with a verdict, including those in code blocks or between prose.
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
        for (written, meant) in
            [("dire", None), ("major", Some("high")), ("moderate", Some("medium")), ("nit", Some("low"))]
        {
            let read = ReviewVerdict::read(
                &FAILS.replace("\"line\"", &format!("\"severity\": \"{written}\", \"line\"")),
            );
            let severity =
                read.ok().map(|verdict| serde_json::to_value(verdict.findings[0].severity).unwrap());
            assert_eq!(severity, meant.map(Value::from), "{written}");
        }
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
