//! Commands about sessions of other agents.

pub mod import;
