//! Child processes: run with limits and timeouts, and ended together with everything they started.

pub mod git;
pub mod machine;
pub mod programs;
pub mod quiet;
pub mod reap;
pub mod run;
pub mod service;
pub mod signals;
pub mod task;
pub mod timeout;
