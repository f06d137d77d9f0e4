//! The command line: arguments in, exit code out. The only floor that knows both the agent and the front ends.

pub mod args;
pub mod context;
pub mod demo;
pub mod doctor;
pub mod exec;
pub mod main;
pub mod open;
pub mod policy;
pub mod replay;
pub mod report;
pub mod sessions;
pub mod tool;
pub mod trust;
