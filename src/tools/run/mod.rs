//! Tools that run commands, and the shell state they share.

pub mod bash;
pub mod decode;
pub mod file_view;
pub mod job;
pub mod jobs;
pub mod line_filter;
pub mod network_note;
pub mod shell;
pub mod visible_output;
