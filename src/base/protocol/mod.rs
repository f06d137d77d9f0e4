//! What a front end may know about the agent: operations in, events out, and questions in between.

pub mod approval;
pub mod claude_tools;
pub mod event;
pub mod exit_code;
pub mod goal;
pub mod host;
pub mod ledger;
pub mod lists;
pub mod maintain;
pub mod notice;
pub mod op;
pub mod review;
pub mod rewind;
