//! The helper on Linux: namespaces, Landlock, seccomp.

pub mod enter;
pub mod guard;
pub mod landlock;
pub mod mounts;
pub mod seccomp;
pub mod supervisor;
pub mod system;
pub mod trial;
