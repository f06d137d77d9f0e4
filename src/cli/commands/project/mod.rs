//! Commands about this project and machine: setup, permissions, notes, sandbox.

pub mod hooks;
pub mod locate;
pub mod notes;
pub mod policy;
pub mod sandbox;
pub mod sandbox_restore;
pub mod skills;
pub mod trust;
