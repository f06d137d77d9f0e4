//! The configuration files: their shape, how they are merged with where each value is from, the administrator's locks.

pub mod admin;
pub mod load;
pub mod raw;
pub mod source;
