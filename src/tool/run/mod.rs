//! Tools that run commands, and the shell state that they share.

pub mod bash;
pub mod job;
pub mod jobs;
pub mod readable;
pub mod shell;
pub mod view;
