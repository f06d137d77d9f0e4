//! The agent's session: log and history, resuming, rewinding, inspecting.

pub mod conversation;
pub mod inspect;
pub mod item_facts;
pub mod journal;
pub mod prompts;
pub mod recall;
pub mod reopen;
pub mod review;
pub mod rewind;
pub mod usage;
