//! The helper on Linux: namespaces, Landlock, seccomp.

pub mod backup;
pub mod enter;
pub mod guard;
pub mod handles;
pub mod landlock;
pub mod mounts;
pub mod reaper;
pub mod repositories;
pub mod seccomp;
pub mod set_aside;
pub mod sockets;
pub mod supervisor;
pub mod system;
pub mod trial;
