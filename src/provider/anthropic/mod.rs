//! The Anthropic Messages dialect.

pub mod answer;
pub mod body;
pub mod provider;
