//! What commands must not leave changed, where mounts alone can't hold it: protected files are watched, backed up and put back.

pub mod backup;
pub mod handles;
pub mod protected_files;
pub mod repositories;
pub mod set_aside;
