//! The agent: a plain async loop that asks the provider, runs tools and appends to the log. Front ends reach it only
//! through the protocol's two queues.

pub mod answer;
pub mod build;
pub mod compact;
pub mod control;
pub mod conversation;
pub mod core;
pub mod dispatch;
pub mod engine;
pub mod policy_desk;
pub mod recall;
pub mod restore;
pub mod turn;
pub mod wiring;
