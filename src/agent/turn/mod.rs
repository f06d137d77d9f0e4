//! One turn: the ReAct loop, the model's reply, the user's message, and what ends a turn early.

pub mod additions;
pub mod endings;
pub mod error;
pub mod finish;
pub mod goal;
pub mod input;
pub mod limits;
pub mod nudges;
pub mod plan_file;
pub mod repeats;
pub mod reply;
pub mod results;
pub mod review;
pub mod run;
pub mod text_calls;
