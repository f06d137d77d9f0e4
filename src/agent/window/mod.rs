//! What the next request holds: exact sizes, compaction, the user's edits of the context.

pub mod compactor;
pub mod context_window;
pub mod exact_counts;
pub mod fixed_prompt;
pub mod request;
pub mod sizes;
pub mod summary_task;
pub mod token_counter;
pub mod user_edits;
