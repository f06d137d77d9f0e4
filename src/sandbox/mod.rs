//! Confinement of commands by the kernel: a specification in, a confined process out.

pub mod build_caches;
pub mod git_folders;
pub mod launch;
pub mod linux;
pub mod macos;
pub mod nested_repositories;
pub mod plan;
pub mod probe;
pub mod protected_paths;
pub mod secret_paths;
pub mod session;
pub mod spec;
pub mod trial;
