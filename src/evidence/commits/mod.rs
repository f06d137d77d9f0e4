//! The project's commits as evidence: similar messages, files that change together.

pub mod cache;
pub mod git;
pub mod history;
pub mod similar;
