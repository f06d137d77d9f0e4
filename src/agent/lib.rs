//! The agent: asks the model, runs its calls, records the results, and repeats. Front ends use it only
//! through `protocol`. Start at `turn/run.rs`; `parts.rs` lists its parts, `engine.rs` calls it.

pub mod assemble;
pub mod build;
pub mod calls;
pub mod control;
pub mod deps;
pub mod engine;
pub mod hooks;
pub mod listener;
pub mod lists;
pub mod maintainer;
pub mod parts;
pub mod qa;
pub mod quick_ops;
pub mod sampling;
pub mod session;
pub mod sub_agents;
pub mod toolset;
pub mod turn;
pub mod undo_ops;
pub mod window;
pub mod work;
