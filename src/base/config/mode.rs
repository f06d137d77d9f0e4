//! Work modes: what is gathered before a turn, and whether the turn may change anything.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Auto,
    Explore,
    Analyze,
    Plan,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Auto, Self::Explore, Self::Analyze, Self::Plan];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Explore => "explore",
            Self::Analyze => "analyze",
            Self::Plan => "plan",
        }
    }

    /// Whether nothing in the project may be changed, regardless of the permission level.
    pub fn only_reads(self) -> bool {
        self != Self::Auto
    }

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
