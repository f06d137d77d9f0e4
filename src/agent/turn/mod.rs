//! One turn: the ReAct loop, one reply of the model, the user's message, and what ends a turn early.

pub mod error;
pub mod note_hints;
pub mod record_reply;
pub mod repetition_guard;
pub mod restore_prompt;
pub mod run;
pub mod sampler;
pub mod stream_accumulator;
pub mod task_context;
pub mod user_message;
