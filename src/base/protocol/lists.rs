//! Rows of the lists that front ends offer to the user.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRow {
    pub name: String,
    /// One of `in use`, `configured`, `on the server`, `its key is set`.
    pub source: &'static str,
    pub window_tokens: Option<u64>,
    /// US dollars per million input and output tokens.
    pub price: Option<(f64, f64)>,
}

/// Something that may run without asking, in addition to the permission level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRow {
    pub text: String,
    /// In this project from now on; otherwise only in this session.
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
    pub path: String,
    pub text: String,
}
