//! One turn: the ReAct loop, one reply of the model, the user's message, and what ends a turn early.

pub mod error;
pub mod input;
pub mod notes;
pub mod reply;
pub mod run;
