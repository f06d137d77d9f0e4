//! Redaction: finds secrets (`rules`, `patterns`, `value`, `detector`) and replaces them with placeholders (`redactor`).

pub mod detector;
pub mod patterns;
pub mod redactor;
pub mod rules;
pub mod value;
