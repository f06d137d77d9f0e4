//! Smaller texts for an item: filtered on arrival, compressed, or a pointer. Pure.

pub mod cut;
pub mod failures;
pub mod lines;
pub mod pipeline;
pub mod tool_result;
