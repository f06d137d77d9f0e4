//! Commands about this project and this machine: what is set up, allowed, known and confined.

pub mod doctor;
pub mod hooks;
pub mod locate;
pub mod look_args;
pub mod notes;
pub mod notes_args;
pub mod policy;
pub mod sandbox;
pub mod sandbox_restore;
pub mod skills;
pub mod trust;
