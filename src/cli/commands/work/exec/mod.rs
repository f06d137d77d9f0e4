//! `mycode exec`: one task without a user, and the forms in which other programs hand it over.

pub mod args;
pub mod brought;
pub mod form;
pub mod host;
pub mod piped;
pub mod run;
pub mod setup;
pub mod task;
pub mod trajectory;
pub mod worktree;
