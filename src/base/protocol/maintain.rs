//! Maintenance (`/maintain`, `mycode maintain`): its phases, how they are asked for, and what is reported at the end. Plain
//! data.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::mode::Mode;
use crate::text::{human_tokens, one_line, plural};

/// What is looked after where the user names nothing.
const WHOLE_PROJECT: &str = "the project as a whole";
/// What a phase's message begins with: so a resumed session knows where it was.
const TITLE: &str = "Maintain";
/// Files that are named one by one.
const LISTED: usize = 20;

/// One phase; each is a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Explore,
    Analyze,
    Plan,
    Do,
}

impl Phase {
    /// In their order.
    pub const ALL: [Self; 4] = [Self::Explore, Self::Analyze, Self::Plan, Self::Do];

    /// The name used in flags and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Analyze => "analyze",
            Self::Plan => "plan",
            Self::Do => "do",
        }
    }

    /// The mode that its turn runs in.
    pub fn mode(self) -> Mode {
        match self {
            Self::Explore => Mode::Explore,
            Self::Analyze => Mode::Analyze,
            Self::Plan => Mode::Plan,
            Self::Do => Mode::Auto,
        }
    }

    /// This phase and those behind it.
    pub fn and_later(self) -> Vec<Self> {
        Self::ALL.into_iter().skip_while(|phase| *phase != self).collect()
    }
}

impl FromStr for Phase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|phase| phase.as_str() == text);
        found.ok_or_else(|| format!("'{text}' is not a phase (explore, analyze, plan, do)"))
    }
}

/// What shall be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintain {
    pub task: String,
    /// What is left, in order.
    pub phases: Vec<Phase>,
}

impl Maintain {
    /// An empty `task` means all of the project.
    pub fn new(task: &str, phases: Vec<Phase>) -> Self {
        let task = match task.trim() {
            "" => WHOLE_PROJECT,
            task => task,
        };
        Self { task: task.to_owned(), phases }
    }

    /// What stands behind `/maintain`: `[--phase NAME] [TASK]`.
    pub fn parse(args: &str) -> Result<Self, String> {
        let Some(rest) = args.trim().strip_prefix("--phase") else {
            return Ok(Self::new(args, Phase::ALL.to_vec()));
        };
        let rest = rest.trim_start_matches('=').trim_start();
        let (name, task) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        Ok(Self::new(task, vec![name.parse()?]))
    }

    /// The command for one phase of it.
    pub fn command(&self, phase: Phase) -> String {
        format!("/maintain --phase {} {}", phase.as_str(), self.task)
    }

    /// The message that begins a phase.
    pub fn title(&self, phase: Phase) -> String {
        format!("{TITLE} ({}): {}", phase.as_str(), self.task)
    }
}

/// The phase and the task that a message begins.
pub fn of_title(text: &str) -> Option<(Phase, String)> {
    let (phase, task) = text.strip_prefix(TITLE)?.strip_prefix(" (")?.split_once("): ")?;
    Some((phase.parse().ok()?, task.to_owned()))
}

/// What came of it; notes as the rows of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MaintainReport {
    /// Those that came to their end.
    pub phases: Vec<Phase>,
    pub new: Vec<String>,
    pub changed: Vec<String>,
    /// Blockers that are none any more.
    pub resolved: Vec<String>,
    /// Relative to the workspace, sorted.
    pub files: Vec<String>,
    pub tokens: u64,
    /// Of the whole session, in US dollars, when the model's price is known.
    pub cost_usd: Option<f64>,
}

impl MaintainReport {
    /// For users; without an end of line.
    pub fn text(&self) -> String {
        let phases: Vec<&str> = self.phases.iter().map(|phase| phase.as_str()).collect();
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
