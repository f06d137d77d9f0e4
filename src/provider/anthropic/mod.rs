//! The Anthropic Messages dialect.

pub mod body;
pub mod decoder;
pub mod provider;
