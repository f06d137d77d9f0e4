//! Commands that run the agent: chat, single tasks, builds, the demo, a tool by hand.

pub mod acp;
pub mod acp_editor;
pub mod branches;
pub mod build;
pub mod chat;
pub mod demo;
pub mod exec;
pub mod maintain;
pub mod review;
pub mod runs;
pub mod tool;
