//! Commands about this project and machine: setup, permissions, notes, sandbox.

pub mod fetch;
pub mod hooks;
pub mod locate;
pub mod notes;
pub mod plugin;
pub mod policy;
pub mod sandbox;
pub mod skills;
pub mod trust;
