//! The agent: a plain async loop that asks the provider, runs tools and appends to the log. Front ends reach it only
//! through the protocol's two queues.

pub mod answer;
pub mod archive_job;
pub mod archivist;
pub mod arriving;
pub mod build;
pub mod compact;
pub mod control;
pub mod conversation;
pub mod core;
pub mod counter;
pub mod counting;
pub mod dispatch;
pub mod edits;
pub mod engine;
pub mod evidence;
pub mod file_news;
pub mod looks;
pub mod message;
pub mod model_switch;
pub mod note_hints;
pub mod policy_desk;
pub mod recall;
pub mod reopen;
pub mod restore;
pub mod returned;
pub mod rewind;
pub mod rewind_ops;
pub mod standing;
pub mod stop;
pub mod turn;
pub mod unfinished;
pub mod uptake;
pub mod wiring;
