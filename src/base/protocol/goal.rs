//! A goal: a task that is done when the user's command, its check, exits with 0.

use serde::{Deserialize, Serialize};

use super::notice::Problem;
use crate::text::{one_line, plural};

const NAMES: usize = 5;
const LINE_CHARS: usize = 160;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    pub text: String,
    pub check: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalOutcome {
    Passed,
    Failed,
    NoProgress,
    NotRun,
}

/// A turn for the goal, and the result of its check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalRound {
    pub n: usize,
    pub outcome: GoalOutcome,
    /// Such as `exit code 1, "2 failed"`.
    pub how: String,
    pub changed: Vec<String>,
    pub cost_usd: Option<f64>,
    pub output: String,
}

impl GoalRound {
    pub fn goes_on(&self) -> bool {
        self.outcome == GoalOutcome::Failed
    }

    pub fn line(&self) -> String {
        let word = match self.outcome {
            GoalOutcome::Passed => "passed",
            GoalOutcome::Failed | GoalOutcome::NoProgress => "failed",
            GoalOutcome::NotRun => "did not run",
        };
        let mut line = format!("round {}: check {word} ({})", self.n, self.how);
        match self.changed.len() {
            0 => line.push_str("; no file changed"),
            count => {
                let named = self.changed[..count.min(NAMES)].join(", ");
                let more = if count > NAMES { format!(" and {} more", count - NAMES) } else { String::new() };
                line.push_str(&format!("; changed {named}{more}"));
            }
        }
        if let Some(cost) = self.cost_usd {
            line.push_str(&format!("; ${cost:.2}"));
        }
        line
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct GoalState {
    pub goal: Goal,
    pub rounds: Vec<GoalRound>,
}

impl GoalState {
    pub fn line(&self) -> String {
        let text = one_line(&self.goal.text, LINE_CHARS);
        format!("goal: {text} (until `{}` passes)", one_line(&self.goal.check, LINE_CHARS))
    }

    pub fn report(&self) -> String {
        let mut text = self.line();
        for round in &self.rounds {
            text.push_str(&format!("\n  {}", round.line()));
        }
        let costs: Option<Vec<f64>> = self.rounds.iter().map(|round| round.cost_usd).collect();
        let cost = costs.map_or(String::new(), |costs| format!(", ${:.2}", costs.iter().sum::<f64>()));
        let end = match self.rounds.last().map(|round| round.outcome) {
            Some(GoalOutcome::Passed) => "reached",
            Some(GoalOutcome::NoProgress) => "ended without progress",
            _ => "not reached yet",
        };
        text.push_str(&format!("\n  {end} after {}{cost}", plural(self.rounds.len(), "round")));
        text
    }
}

pub fn not_checked(check: &str, why: &str, denied: bool) -> Problem {
    let hint = match denied {
        true => "allow it (--allow 'Bash(COMMAND)', a higher --permission), then /goal go or mycode exec -c",
        false => "name a command that runs in this folder",
    };
    (format!("the check `{check}` can't be run: {why}"), hint.to_owned())
}

pub fn says_the_same(check: &str, times: usize) -> Problem {
    (format!("no progress: `{check}` printed the same output {times} times in a row"), AGAIN.to_owned())
}

pub fn unchanged(check: &str) -> Problem {
    (format!("no progress: `{check}` fails, and the last round changed no file"), AGAIN.to_owned())
}

const AGAIN: &str = "say what to try: /goal …, or mycode exec -c --until 'COMMAND' \"try …\"";

pub fn stopped(report: &str) -> String {
    format!("Stopped. {report}")
}

pub fn none_open() -> String {
    "No goal is open. /goal TEXT --check COMMAND works until the command succeeds.".to_owned()
}
