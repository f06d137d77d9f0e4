//! A session as a file for people and programs: Markdown, HTML, JSON, or a picture of the terminal. Made from the log alone,
//! in which secrets are redacted already.

pub mod html;
pub mod json;
pub mod markdown;
pub mod svg;
pub mod write;
