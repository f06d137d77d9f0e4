//! What the next request contains: its size, compaction, the user's edits of the context.

pub mod compactor;
pub mod context_window;
pub mod fixed_prompt;
pub mod request;
pub mod summary_task;
