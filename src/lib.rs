//! MyCodeAgent (`mycode`), a terminal coding agent whose core is context engineering.
//!
//! The folders are the floors of the house. A file imports only from lower floors, or from its own
//! folder without a cycle; `tests/it/architecture.rs` enforces it and `CODE_LAW.md` states it.
//!
//! ```text
//! 0 base                                      text, paths, files, processes, clock, secrets
//! 1 model · search · config                   plain data; ignore-aware search; settings
//! 2 protocol · session · provider             what front ends know; the log; model servers
//! 2 note · evidence                           the project's notes; the right files for a task
//! 3 policy · context · tui · exec             may it run; what is sent; the two front ends
//! 4 tool                                      what the model can do
//! 5 trace                                     policies judged on recorded sessions
//! 6 agent                                     the ReAct loop and its wiring
//! 7 cli                                       arguments, subcommands, exit codes
//! ```
//!
//! The session log is the truth; history is what the agent remembers of it; the context builder is a
//! pure function from history to request and ledger; front ends see only `Op` in and `Event` out.

#![deny(unsafe_code)]

pub mod agent;
pub mod base;
pub mod cli;
pub mod config;
pub mod context;
pub mod evidence;
pub mod exec;
pub mod model;
pub mod note;
pub mod policy;
pub mod protocol;
pub mod provider;
pub mod redact;
pub mod sandbox;
pub mod search;
pub mod session;
pub mod shell;
pub mod tool;
pub mod trace;
pub mod tui;
