//! The front ends: a screen (`tui`), one task without a screen (`exec`), an editor (`acp`). Each knows the agent only as `Op` in
//! and `Event` out.

pub mod acp;
pub mod exec;
pub mod tui;
