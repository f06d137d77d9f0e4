//! One turn: the ReAct loop, the model's reply, the user's message, and what ends a turn early.

pub mod additions;
pub mod error;
pub mod input;
pub mod plan_file;
pub mod reply;
pub mod results;
pub mod run;
