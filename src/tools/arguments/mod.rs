//! Arguments as models send them, turned into those that the tools define.

pub mod coerce;
pub mod ignored;
pub mod names;
pub mod normalize;
pub mod translate;
