//! Secrets in text: found, and replaced by placeholders before a provider, the log or the screen sees them.

pub mod detector;
pub mod redactor;
