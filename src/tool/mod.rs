//! What the model can do. One file a tool; the list is `registry`. Knows nothing of the agent or a front end.

pub mod api;
pub mod cx;
pub mod plan;
