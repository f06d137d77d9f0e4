//! How many tokens things take, and when rewriting the past pays.

pub mod cache_model;
pub mod ceiling;
pub mod profile;
pub mod size;
pub mod tokenizer;
pub mod tokens;
pub mod truncation;
