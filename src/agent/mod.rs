//! The agent: a loop that asks the model, runs its calls and records what happened. Front ends reach it through
//! `protocol` only. Start reading at `turn/run.rs`.

pub mod build;
pub mod calls;
pub mod control;
pub mod core;
pub mod engine;
pub mod model_switch;
pub mod quick_ops;
pub mod session;
pub mod turn;
pub mod window;
