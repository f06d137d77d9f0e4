//! The specification of a sandbox; the agent sends it to the helper as JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::format::path_text;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// As in the user's own terminal.
    #[default]
    Free,
    /// Like `Free`, but without the files that the user's rules deny.
    Masked,
    Confined {
        level: SandboxLevel,
        network: bool,
        /// Protected paths that it may change; the user was asked about each.
        opened: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Only the private temporary folder is writable.
    #[default]
    ReadOnly,
    /// The workspace is writable too, except its protected paths.
    Workspace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    pub namespaces: bool,
    pub user_namespace: bool,
    pub fresh_proc: bool,
    pub landlock: bool,
    pub seccomp: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    pub level: SandboxLevel,
    pub network: bool,
    pub layers: Layers,
    pub cwd: RawPath,
    pub workspace: RawPath,
    /// The session's folder: its `tmp` is the command's `/tmp`, and its `cache` gets cache writes.
    pub private: RawPath,
    /// Folder in the state folder for what is moved away from protected paths.
    pub kept: Option<RawPath>,
    /// The workspace and its git folders; empty if read-only.
    pub writable: Vec<RawPath>,
    /// Appear empty: secrets, and where the system keeps sockets.
    pub hidden_folders: Vec<RawPath>,
    pub hidden_files: Vec<RawPath>,
    /// Visible although inside a hidden folder.
    pub visible: Vec<RawPath>,
    pub temporary: Vec<RawPath>,
    /// Look writable, but writes go to the private `cache`.
    pub caches: Vec<RawPath>,
    /// Must not change, whether they exist or not; in writable folders.
    pub protected: Vec<RawPath>,
    /// Those in the workspace are also in the lists above. Without mounts, calls that reach them are refused.
    pub masks: Masks,
    /// Protected files that this command may change.
    pub opened: Vec<RawPath>,
    /// `.git` of repositories, worktrees and submodules below the workspace.
    pub nested: Vec<RawPath>,
    /// Rules files in these folders must not change, whatever their case.
    pub rules_folders: Vec<RawPath>,
    pub environment: Vec<(String, Option<String>)>,
    /// Root works in another user's folder and keeps the capability for it.
    pub foreign_owner: bool,
    /// A user's own call, which signals such as Ctrl-C end; otherwise the lifeline does.
    pub foreground: bool,
    /// Creating protected paths is refused at once instead of undone at the end.
    pub is_server: bool,
    /// The process whose network namespace the command joins, if it has no other network.
    pub shared_network: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchMode {
    Confined(Box<SandboxSpec>),
    Unconfined {
        /// Leftover processes end with it, otherwise with the agent.
        alone: bool,
        masks: Masks,
    },
}

/// What the user's rules deny to commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Masks {
    pub hidden: Vec<RawPath>,
    pub read_only: Vec<RawPath>,
    /// For unconfined commands; not needed for root.
    pub user_namespace: bool,
    pub workspace: RawPath,
    /// Path patterns of what may not be read from a repository's history.
    pub unread: Vec<String>,
    /// Patterns of programs with arguments that may not be started.
    pub programs: Vec<String>,
}

impl Masks {
    pub fn has_files(&self) -> bool {
        !self.hidden.is_empty() || !self.read_only.is_empty()
    }

    /// Whether programs must be checked when they start.
    pub fn judges_starts(&self) -> bool {
        !self.programs.is_empty() || !self.unread.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RawPath(#[serde(with = "path_text")] pub PathBuf);

impl AsRef<Path> for RawPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl std::ops::Deref for RawPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl<P: Into<PathBuf>> From<P> for RawPath {
    fn from(path: P) -> Self {
        Self(path.into())
    }
}
