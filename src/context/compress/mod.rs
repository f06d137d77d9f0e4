//! Smaller forms of what happened: of one result, of one item, of many rounds.

pub mod cut;
pub mod filters;
pub mod identifiers;
pub mod mask;
pub mod tool_result;
