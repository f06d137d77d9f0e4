//! Tools that cost no tokens until they are used.

pub mod more_tools;
pub mod toolbox;
