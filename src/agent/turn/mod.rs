//! One turn: the ReAct loop, one reply of the model, the user's message, and what ends a turn early.

pub mod asked;
pub mod attachments;
pub mod begin;
pub mod error;
pub mod images;
pub mod input;
pub mod news;
pub mod notes;
pub mod plan_file;
pub mod reply;
pub mod results;
pub mod run;
pub mod skills;
pub mod steering;
pub mod survey;
pub mod user_command;
pub mod waiting;
