//! The command line: arguments in, exit code out. Only this layer knows both the agent and the front ends.

pub mod args;
pub mod command_line;
pub mod commands;
pub mod each;
pub mod foreign;
pub mod main;
pub mod report;
pub mod runs;
pub mod setup;
