//! What a session, or its last turn, changed in files.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::rewind::FileAction;
use crate::model::usage::Usage;
use crate::text::plural;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Of the last turn that changed something, instead of the session.
    pub turn: bool,
    pub files: Vec<ChangedFile>,
    /// Paths outside the workspace that tools changed, of which no earlier copy exists.
    pub outside: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: String,
    pub action: FileAction,
    pub plus: u32,
    pub minus: u32,
    pub differs: Option<String>,
    pub hunks: Vec<Hunk>,
    pub refused: Option<String>,
}

impl ChangedFile {
    pub fn heading(&self) -> String {
        let mut text = format!("{}  +{} -{}", self.path, self.plus, self.minus);
        let what = match self.action {
            FileAction::Delete => ", created",
            FileAction::Recreate => ", deleted",
            FileAction::Restore | FileAction::Mode => "",
        };
        text.push_str(what);
        for told in [&self.differs, &self.refused].into_iter().flatten() {
            let _ = write!(text, " · {told}");
        }
        text
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub id: HunkId,
    /// A unified diff with the file's name.
    pub diff: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkId {
    pub path: String,
    /// Hashes of the file's full content and of the hunk, so that later changes aren't affected.
    pub content: String,
    pub place: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Also used if the reviewer gives no severity.
    #[default]
    #[serde(alias = "High", alias = "critical", alias = "blocker", alias = "major")]
    High,
    #[serde(alias = "Medium", alias = "moderate")]
    Medium,
    #[serde(alias = "Low", alias = "minor", alias = "nit", alias = "info")]
    Low,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFinding {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(default)]
    pub severity: FindingSeverity,
    pub problem: String,
    #[serde(default)]
    pub evidence: String,
}

impl ReviewFinding {
    /// Such as `src/a.rs:3 wrong (how it shows)`.
    pub fn line(&self) -> String {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        let evidence = match self.evidence.trim() {
            "" => String::new(),
            evidence => format!(" ({evidence})"),
        };
        format!("{}{line} {}{evidence}", self.path, self.problem.trim())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewOutcome {
    pub passed: bool,
    pub findings: Vec<ReviewFinding>,
    #[serde(skip)]
    pub failed: Vec<String>,
    /// The project's own checks with their results, one per line.
    pub checks: Vec<String>,
    pub usage: Usage,
}

impl ReviewOutcome {
    pub fn is_grave(&self) -> bool {
        !self.failed.is_empty() || self.findings.iter().any(|found| found.severity == FindingSeverity::High)
    }

    pub fn text(&self) -> String {
        let mut lines: Vec<String> = self
            .findings
            .iter()
            .map(|found| format!("{:<6}  {}", format!("{:?}", found.severity).to_lowercase(), found.line()))
            .collect();
        lines.extend(self.failed.iter().map(|check| format!("check   {check}")));
        if lines.is_empty() {
            lines.push("No findings.".to_owned());
        }
        lines.join("\n")
    }

    pub fn short(&self) -> String {
        match self.findings.len() + self.failed.len() {
            0 => "reviewed: no findings".to_owned(),
            found => format!("reviewed: {}", plural(found, "finding")),
        }
    }
}
