//! Tools that run commands, and the shell state they share.

pub mod bash;
pub mod decode;
pub mod file_view;
pub mod foreground;
pub mod hints;
pub mod job;
pub mod jobs;
pub mod keep;
pub mod report;
pub mod services;
pub mod shell;
pub mod visible_output;
