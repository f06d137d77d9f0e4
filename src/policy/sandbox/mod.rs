//! The sandbox: what a command may see and change, held by the kernel. Plans are plain data made here by the agent's side
//! (`plan`, `caches`, `git`); the child's side (`enter`, `mounts`, `landlock`, `seccomp`) carries
//! them out in a process of its own; `probe` says what this machine can hold. Knows no tool and no front end.

pub mod caches;
pub mod enter;
pub mod git;
pub mod guard;
pub mod keeper;
pub mod landlock;
pub mod launch;
pub mod linger;
pub mod mounts;
pub mod nested;
pub mod plan;
pub mod probe;
pub mod seatbelt;
pub mod seccomp;
pub mod session;
pub mod sockets;
pub mod spec;
pub mod system;
pub mod trial;
