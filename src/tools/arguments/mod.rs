//! Converts arguments as models send them to those that the tools define.

pub mod coerce;
pub mod ignored;
pub mod normalize;
pub mod tool_names;
pub mod translate;
