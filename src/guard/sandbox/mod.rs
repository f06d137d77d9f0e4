//! The sandbox: the kernel confines a command to what a specification allows. Decisions are made above; this room knows no policy.
//!
//! The way from a specification to a confined process:
//! 1. `probe` finds out which layers this machine has, by a trial of each in the helper (`linux/trial`).
//! 2. `session::Sandbox` holds what lasts for a session: the workspace, the `private_folder`, the `nested_repositories`.
//! 3. `plan` makes a `spec::SandboxSpec` for one command: what it may write, what it finds empty (`secret_paths`,
//!    `home_folders`), what must not change (`protected_paths`, `git_folders`), which caches it writes to a copy of (`build_caches`).
//! 4. `launch` starts our own program as the helper in the command's place, with the specification on a descriptor.
//!    On macOS there is no helper: `macos/seatbelt` turns the specification into a profile for `sandbox-exec`.
//! 5. The helper (`linux/enter`) takes a snapshot of protected paths (`linux/guard`), forks into fresh namespaces, and waits.
//! 6. Its child builds the file tree (`linux/mounts`, with `linux/sockets` hidden), gives up its capabilities, puts on Landlock
//!    (`linux/landlock`) and system call filters (`linux/seccomp`), and becomes the command.
//! 7. When the command ends, or the agent does, the helper kills what is left, restores what mounts could not protect, and ends
//!    as the command did.
//!
//! Where namespaces cannot be made, Landlock and seccomp work alone and the guard compares contents. Commands without a sandbox
//! also run under the helper (`linux/supervisor`), so that what they start does not outlive the agent.

pub mod build_caches;
pub mod git;
pub mod git_folders;
pub mod home_folders;
pub mod launch;
pub mod linux;
pub mod macos;
pub mod nested_repositories;
pub mod plan;
pub mod private_folder;
pub mod probe;
pub mod protected_paths;
pub mod secret_paths;
pub mod session;
pub mod spec;
