//! Watches, backs up and restores what commands must not change but mounts can't protect.

pub mod as_seen;
pub mod backup;
pub mod handles;
pub mod protected_files;
pub mod repositories;
pub mod set_aside;
pub mod starts;
pub mod witness;
