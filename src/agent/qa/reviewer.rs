//! The reviewer: a sub-agent with its own window that sees the task, the changes, and the results of the project's
//! checks. Its verdict is never read from prose.

use std::sync::Arc;

use super::checks::{self, CheckOutcome, CheckRunner};
use super::verdict::{self, ReviewVerdict};
use crate::calls::dispatcher::Dispatcher;
use crate::control::Questions;
use base::model::usage::Usage;
use base::process::task;
use base::protocol::review::{ChangedFile, Changes, ReviewOutcome};
use base::text;
use tools::cx::{SubAgents, ToolCx};
use tools::sub_agent::SubTask;

const ROLE: &str = "qa_reviewer";
/// Bytes of the diff shown, about 8k tokens; other files are only named.
const DIFF_BYTES: usize = 24_000;

pub struct ChangeReviewer<'a> {
    pub dispatcher: &'a Dispatcher,
    pub agents: &'a dyn SubAgents,
    pub window_tokens: u64,
    pub cx: ToolCx,
    pub at_most: Option<(u32, u64)>,
    pub questions: Option<&'a Arc<Questions>>,
}

impl ChangeReviewer<'_> {
    /// `wanted` and `changes` are titled sections. The error says why there is no outcome; `spent` gets the usage in any case.
    pub async fn review(
        &self,
        wanted: (&str, &str),
        changes: (&str, &str),
        spent: &mut Vec<(Arc<str>, Usage)>,
    ) -> Result<ReviewOutcome, String> {
        let (dispatcher, cancel) = (self.dispatcher, self.cx.cancel.clone());
        let root = Arc::clone(&self.cx.root);
        let known = task::blocking(move || checks::of_project(&root, &[])).await;
        let runner =
            CheckRunner { dispatcher, window_tokens: self.window_tokens, cancel, questions: self.questions };
        let mut results = Vec::new();
        for check in &known.map_err(|error| error.to_string())? {
            results.push(runner.run(check).await.ok_or("it was interrupted")?);
        }
        let prompt = review_prompt(&[wanted], changes, &checks::text(&results));
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
            let prompt = verdict::asked_again(&why);
            task = SubTask { prompt, resume: Some(report.id), ..of_role.clone() };
        }
        Err(format!("the reviewer's verdict can't be read ({why})"))
    }
}

/// Bytes of a section; the rest can be read from its file.
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

pub fn review_prompt(wanted: &[(&str, &str)], changes: (&str, &str), checks: &str) -> String {
    let checks = ("The project's own checks, run by the program just now", checks);
    prompt(&[wanted, &[changes, checks]].concat())
}

pub fn diff(changes: &Changes) -> String {
    let part = |file: &ChangedFile| {
        let hunks: String = file.hunks.iter().map(|hunk| format!("{}\n", hunk.diff.trim_end())).collect();
        format!("### {}\n{hunks}\n", file.heading())
    };
    fitting(changes.files.iter().map(|file| (file.path.as_str(), part(file))))
}

/// The file diffs that fit, and the names of the others.
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
