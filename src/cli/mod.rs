//! The command line: arguments in, exit code out. The only floor that knows both the agent and the front ends.

pub mod args;
pub mod ask_trust;
pub mod chat;
pub mod commands;
pub mod context;
pub mod demo;
pub mod doctor;
pub mod exec;
pub mod greeting;
pub mod locate;
pub mod main;
pub mod notes;
pub mod notes_args;
pub mod open;
pub mod policy;
pub mod replay;
pub mod replay_session;
pub mod report;
pub mod rewind;
pub mod sandbox;
pub mod sessions;
pub mod tool;
pub mod trust;
