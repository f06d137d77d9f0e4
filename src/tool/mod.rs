//! What the model can do. One file a tool; the list is `registry`.

pub mod api;
pub mod cx;
pub mod file;
pub mod find;
pub mod output;
pub mod paths;
pub mod plan;
pub mod registry;
pub mod run;
