//! Exports a session as Markdown, HTML, JSON or a trajectory, from the log alone (already redacted).

pub mod atif;
pub mod html;
pub mod json;
pub mod markdown;
pub mod write;
