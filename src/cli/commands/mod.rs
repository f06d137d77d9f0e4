//! One file a subcommand, and the table that lists them.

pub mod build;
pub mod chat;
pub mod context;
pub mod demo;
pub mod doctor;
pub mod exec;
pub mod export;
pub mod export_args;
pub mod locate;
pub mod maintain;
pub mod notes;
pub mod notes_args;
pub mod policy;
pub mod replay_session;
pub mod replay_traces;
pub mod report;
pub mod rewind;
pub mod sandbox;
pub mod sandbox_restore;
pub mod sessions;
pub mod table;
pub mod tool;
pub mod trust;
