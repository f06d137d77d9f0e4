//! The configuration files: their shape, how they are merged (with the source of each value), the administrator's locks, and
//! what the user always allows.

pub mod admin;
pub mod answers;
pub mod load;
pub mod raw;
pub mod source;
