//! Commands about stored sessions: list, report, export, replay, rewind.

pub mod context;
pub mod export;
pub mod list;
pub mod replay_args;
pub mod replay_session;
pub mod replay_traces;
pub mod report;
pub mod rewind;
