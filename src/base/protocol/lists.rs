//! Rows of the lists that a front end lets the user choose from. Plain data.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRow {
    pub name: String,
    /// One of `in use`, `configured`, `on the server`, `its key is set`.
    pub source: &'static str,
    pub window_tokens: Option<u64>,
    /// US dollars per million input and output tokens.
    pub price: Option<(f64, f64)>,
}

/// Something that runs without asking, beyond the permission level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    pub text: String,
    /// In this project from now on; else for this session only.
    pub kept: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewMessage {
    pub by_user: bool,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteRow {
    pub id: String,
    pub title: String,
    pub kind: &'static str,
    /// Relative to the workspace.
    pub path: String,
    pub text: String,
}
