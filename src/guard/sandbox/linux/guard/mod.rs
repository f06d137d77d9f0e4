//! What commands must not leave changed but mounts can't protect: watched, backed up and restored.

pub mod as_seen;
pub mod backup;
pub mod handles;
pub mod protected_files;
pub mod repositories;
pub mod set_aside;
pub mod starts;
pub mod witness;
