//! The rows of the lists that a front end lets the user choose from. Plain data.

/// A model that can be chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRow {
    pub name: String,
    /// Where it is known from: `in use`, `configured`, `on the server`.
    pub source: &'static str,
    /// Of the prompt, in tokens; `None` when it is unknown.
    pub window_tokens: Option<u64>,
    /// US dollars per million tokens read and written; `None` when the price is unknown.
    pub price: Option<(f64, f64)>,
}

/// Something that runs without a question beyond the permission level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    /// What is allowed, in words.
    pub text: String,
    /// In this project from now on; else for this session only.
    pub kept: bool,
}

/// A message of a stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewMessage {
    pub by_user: bool,
    pub text: String,
}
