//! The session as the agent holds it: log and history together, resumed, rewound, looked into.

pub mod conversation;
pub mod inspect;
pub mod item_facts;
pub mod prompts;
pub mod recall;
pub mod reopen;
pub mod review;
pub mod rewind;
pub mod usage;
