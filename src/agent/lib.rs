//! The agent: a loop that asks the model, runs its calls and records what happened. Front ends reach it through
//! `protocol` only. Start reading at `turn/run.rs`; `parts.rs` lists what it works with, `engine.rs` calls it.

pub mod assemble;
pub mod build;
pub mod calls;
pub mod control;
pub mod deps;
pub mod engine;
pub mod hooks;
pub mod keep;
pub mod listener;
pub mod lists;
pub mod maintainer;
pub mod parts;
pub mod quick_ops;
pub mod sampling;
pub mod session;
pub mod sub_agents;
pub mod toolset;
pub mod turn;
pub mod undo_ops;
pub mod window;
