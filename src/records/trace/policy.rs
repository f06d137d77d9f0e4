//! The policies that are compared: ours under each profile, and three simple ones as yardsticks.

use std::str::FromStr;

use base::config::settings::Profile;

/// A context policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Everything stays as it came.
    Raw,
    /// Only the last five observations stay; the others become a line, at every step.
    LastFive,
    /// The first design of this product: at every turn end all results take their history form.
    Seed,
    /// The live agent's policy under a profile.
    Ours(Profile),
}

/// All, in the order of the table.
pub const ALL: [Policy; 6] = [
    Policy::Raw,
    Policy::LastFive,
    Policy::Seed,
    Policy::Ours(Profile::Eco),
    Policy::Ours(Profile::Default),
    Policy::Ours(Profile::High),
];

impl Policy {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::LastFive => "last5",
            Self::Seed => "seed",
            Self::Ours(Profile::Eco) => "eco",
            Self::Ours(Profile::Default) => "default",
            Self::Ours(Profile::High) => "high",
        }
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        ALL.into_iter().find(|policy| policy.name() == text).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|policy| policy.name()).collect();
            format!("'{text}' is not a policy ({}, all)", names.join(", "))
        })
    }
}
