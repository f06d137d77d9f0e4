//! The sandbox: the kernel confines a command according to its specification. This module knows no policy.
//! 1. `probe` finds out which layers this machine has, by trying each in the helper (`linux/trial`).
//! 2. `session::Sandbox` has a session's workspace, `private_folder` and nested repositories (`git_folders`).
//! 3. `plan` makes a command's `spec::SandboxSpec`: what it may write, what is hidden (`secret_paths`; names in
//!    `places.txt`), protected (`protected_paths`, `git_folders`) or written to a copy (build caches).
//! 4. `launch` starts our program as the helper in the command's place (on macOS, `macos/seatbelt` instead).
//! 5. The helper (`linux/enter`) records protected paths (`linux/guard`) and forks into new namespaces.
//! 6. Its child builds the file tree (`linux/mounts`), drops its capabilities, applies `linux/landlock` and
//!    `linux/seccomp`, and becomes the command.
//! 7. When the command or agent ends, the helper kills leftover processes and restores what mounts can't protect.
//!
//! Without namespaces, Landlock and seccomp work alone and the guard compares contents. Unsandboxed commands
//! also run under the helper (`linux/supervisor`), so that what they start doesn't outlive the agent.

pub mod denied_starts;
pub mod git;
pub mod git_folders;
pub mod launch;
pub mod linux;
pub mod macos;
pub mod places;
pub mod plan;
pub mod private_folder;
pub mod probe;
pub mod protected_paths;
pub mod rule_pattern;
pub mod secret_paths;
pub mod session;
pub mod spec;
