//! The compared policies: ours under each profile, and the unchanged history.

use std::str::FromStr;

use base::config::settings::Profile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Raw,
    Ours(Profile),
}

pub const ALL: [Policy; 4] =
    [Policy::Raw, Policy::Ours(Profile::Eco), Policy::Ours(Profile::Default), Policy::Ours(Profile::High)];

impl Policy {
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
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
