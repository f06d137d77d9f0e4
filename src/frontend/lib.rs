//! The front ends: screen (`tui`), headless (`exec`), editor (`acp`). They use only `Op` and `Event`.

pub mod acp;
pub mod exec;
pub mod tui;
