//! Exports a session as Markdown, HTML, JSON, a trajectory, or a picture of the terminal, from the log alone (already
//! redacted).

pub mod atif;
pub mod html;
pub mod markdown;
pub mod svg;
pub mod write;
