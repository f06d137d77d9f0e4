//! Commands about what was done: lists, reports, exports, replays, and going back.

pub mod context;
pub mod export;
pub mod export_args;
pub mod list;
pub mod replay_args;
pub mod replay_session;
pub mod replay_traces;
pub mod report;
pub mod rewind;
