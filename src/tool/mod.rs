//! What the model can do. One file a tool; the list is `registry`. Knows nothing of the agent or a front end.

pub mod api;
pub mod cx;
pub mod file;
pub mod find;
pub mod paths;
pub mod plan;
pub mod registry;
pub mod run;
