//! Maintenance (`/maintain`, `mycode maintain`): its phases, how they are requested, and the report.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use crate::config::mode::Mode;
use crate::folder::own;
use crate::text::{human_tokens, one_line, plural};

const WHOLE_PROJECT: &str = "the project as a whole";
/// Prefix of a phase's message, by which a resumed session recognizes it.
const TITLE: &str = "Maintain";
const LISTED: usize = 20;

/// One phase; each is a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = not_a_phase)]
pub enum MaintainPhase {
    Explore,
    Analyze,
    Plan,
    Do,
}

fn not_a_phase(text: &str) -> String {
    format!("'{text}' is not a phase (explore, analyze, plan, do)")
}

impl MaintainPhase {
    pub const ALL: [Self; 4] = [Self::Explore, Self::Analyze, Self::Plan, Self::Do];

    pub fn mode(self) -> Mode {
        match self {
            Self::Explore => Mode::Explore,
            Self::Analyze => Mode::Analyze,
            Self::Plan => Mode::Plan,
            Self::Do => Mode::Auto,
        }
    }

    pub fn section(self, answer: &str) -> String {
        format!("\n## {}\n\n{}\n", self.into_str(), answer.trim())
    }
}

/// One report per session; a resumed session appends to it.
const FOLDER: &str = ".mycode/maintenance";

/// Saves a report with the answers of the phases; returns its file. Writes to the disk.
pub fn keep(root: &Path, session: &str, task: &str, report: &str, answers: &str) -> io::Result<String> {
    let name = format!("{session}.md");
    own::append(root, FOLDER, &name, &format!("# {task}\n\n{report}\n{answers}\n"))?;
    Ok(format!("{FOLDER}/{name}"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintain {
    pub task: String,
    pub phases: Vec<MaintainPhase>,
}

impl Maintain {
    /// An empty `task` means the whole project.
    pub fn new(task: &str, phases: Vec<MaintainPhase>) -> Self {
        let task = match task.trim() {
            "" => WHOLE_PROJECT,
            task => task,
        };
        Self { task: task.to_owned(), phases }
    }

    /// Parses the arguments of `/maintain`: `[--phase NAME] [TASK]`.
    pub fn parse(args: &str) -> Result<Self, String> {
        let Some(rest) = args.trim().strip_prefix("--phase") else {
            return Ok(Self::new(args, MaintainPhase::ALL.to_vec()));
        };
        let rest = rest.trim_start_matches('=').trim_start();
        let (name, task) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        Ok(Self::new(task, vec![name.parse()?]))
    }

    pub fn command(&self, phase: MaintainPhase) -> String {
        format!("/maintain --phase {} {}", phase.into_str(), self.task)
    }

    pub fn title(&self, phase: MaintainPhase) -> String {
        format!("{TITLE} ({}): {}", phase.into_str(), self.task)
    }
}

pub fn of_title(text: &str) -> Option<(MaintainPhase, String)> {
    let (phase, task) = text.strip_prefix(TITLE)?.strip_prefix(" (")?.split_once("): ")?;
    Some((phase.parse().ok()?, task.to_owned()))
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MaintainReport {
    pub phases: Vec<MaintainPhase>,
    pub new: Vec<String>,
    pub changed: Vec<String>,
    pub resolved: Vec<String>,
    pub files: Vec<String>,
    pub facts: Vec<String>,
    pub tokens: u64,
    /// For the whole session, in US dollars, if the model's price is known.
    pub cost_usd: Option<f64>,
}

impl MaintainReport {
    pub fn text(&self) -> String {
        let phases: Vec<&str> = self.phases.iter().map(|phase| phase.into_str()).collect();
        let phases = if phases.is_empty() { "no phase".to_owned() } else { phases.join(", ") };
        let mut out = format!("Maintenance: {phases} done; {} tokens", human_tokens(self.tokens));
        if let Some(cost) = self.cost_usd {
            out.push_str(&format!(", session ${cost:.4}"));
        }
        for (what, rows) in [("New", &self.new), ("Changed", &self.changed), ("Resolved", &self.resolved)] {
            if !rows.is_empty() {
                out.push_str(&format!("\n{what} notes:"));
            }
            rows.iter().for_each(|row| out.push_str(&format!("\n  {}", one_line(row, 160))));
        }
        if self.new.is_empty() && self.changed.is_empty() && self.resolved.is_empty() {
            out.push_str("\nNo notes were changed.");
        }
        self.facts.iter().for_each(|fact| out.push_str(&format!("\nNeeds you: {fact}")));
        if !self.files.is_empty() {
            let named: Vec<&str> = self.files.iter().take(LISTED).map(String::as_str).collect();
            let more = self.files.len().saturating_sub(LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            out.push_str(&format!(
                "\n{} changed: {}{more}",
                plural(self.files.len(), "file"),
                named.join(", ")
            ));
        }
        out
    }
}
