//! Redaction: secrets are found (`rules`, `patterns`, `value`, `detector`) and replaced by placeholders (`redactor`).

pub mod detector;
pub mod patterns;
pub mod redactor;
pub mod rules;
pub mod value;
