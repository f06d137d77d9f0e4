//! Work modes: what is gathered before a turn, and whether the turn may change anything.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = not_a_mode)]
pub enum Mode {
    /// Shown as `normal`, because `auto` is a permission level.
    #[default]
    #[serde(alias = "normal")]
    #[strum(to_string = "normal", serialize = "auto")]
    Auto,
    Explore,
    Analyze,
    Plan,
}

fn not_a_mode(text: &str) -> String {
    format!("'{text}' is not a mode (normal, explore, analyze, plan)")
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Auto, Self::Explore, Self::Analyze, Self::Plan];

    pub fn only_reads(self) -> bool {
        self != Self::Auto
    }
}
