//! From a task text to ranked files. Independent of tools and requests.

pub mod chance;
pub mod companions;
pub mod fields;
pub mod gather;
pub mod links;
pub mod locate;
pub mod names;
pub mod query;
pub mod signals;
pub mod verbatim;
