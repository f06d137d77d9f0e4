//! git and protected paths: predicts a command's changes, so that it makes all of them or none.

pub mod arguments;
pub mod changes;
pub mod contents;
pub mod guarded;
pub mod preview;
pub mod question;
pub mod settings;
pub mod wrapper;
