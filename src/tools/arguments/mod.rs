//! Arguments as models send them, turned into those that the tools define.

pub mod coerce;
pub mod ignored;
pub mod normalize;
pub mod tool_names;
pub mod translate;
