//! Modes of work: what is gathered before a turn, and whether the turn may change anything (SPEC §8).

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the agent goes about a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Does what was asked, as far as the permission level goes.
    #[default]
    Auto,
    /// Finds out how a project is built.
    Explore,
    /// Looks for what is wrong or missing.
    Analyze,
    /// Works out a plan for the user to accept.
    Plan,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Auto, Self::Explore, Self::Analyze, Self::Plan];

    /// The name used in flags, files and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Explore => "explore",
            Self::Analyze => "analyze",
            Self::Plan => "plan",
        }
    }

    /// Whether nothing of the project may be changed in it, whatever the permission level allows.
    pub fn only_reads(self) -> bool {
        self != Self::Auto
    }

    /// The one that comes next when the user goes through them.
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|mode| *mode == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| format!("'{text}' is not a mode (auto, explore, analyze, plan)"))
    }
}
