//! Work modes: what is gathered before a turn, and whether the turn may change anything.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Shown as `normal`, since `auto` is a permission level.
    #[default]
    #[serde(alias = "normal")]
    Auto,
    Explore,
    Analyze,
    Plan,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Auto, Self::Explore, Self::Analyze, Self::Plan];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "normal",
            Self::Explore => "explore",
            Self::Analyze => "analyze",
            Self::Plan => "plan",
        }
    }

    /// Whether nothing in the project may be changed, regardless of the permission level.
    pub fn only_reads(self) -> bool {
        self != Self::Auto
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The name of older configurations.
        let text = if text == "auto" { "normal" } else { text };
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| format!("'{text}' is not a mode (normal, explore, analyze, plan)"))
    }
}
