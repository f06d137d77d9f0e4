//! The specification of a sandbox: plain data that travels from the agent to the helper process as JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::format::path_text;

/// How a command runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// As in the user's own terminal.
    #[default]
    Free,
    Confined {
        level: SandboxLevel,
        /// Whether it may reach the network.
        network: bool,
        /// Protected paths that it may change all the same: the user was asked about each.
        opened: Vec<PathBuf>,
    },
}

/// What a confined command may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Nothing but its private folder for temporary files.
    ReadOnly,
    /// The workspace as well, without its protected paths.
    Workspace,
}

/// Which layers are put on; the others are missing on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// Mount, process, network and IPC namespaces of its own.
    pub namespaces: bool,
    /// The namespaces need a user namespace around them.
    pub user_namespace: bool,
    /// A fresh `/proc` can be mounted.
    pub fresh_proc: bool,
    pub landlock: bool,
    pub seccomp: bool,
}

/// Everything that the helper needs to know: what the command may see, change and reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    pub level: SandboxLevel,
    pub network: bool,
    pub layers: Layers,
    pub cwd: RawPath,
    pub workspace: RawPath,
    /// The session's own folder: `tmp` in it is what the command sees as `/tmp`, `cache` takes what it writes to caches.
    pub private: RawPath,
    /// In the program's state folder: where things go that appeared at protected paths. `None` where there is no such folder.
    pub kept: Option<RawPath>,
    /// Folders that stay writable: the workspace and the git folders that belong to it. Empty in read-only.
    pub writable: Vec<RawPath>,
    /// Folders that are seen empty: secrets, and where the system keeps its sockets.
    pub hidden_folders: Vec<RawPath>,
    /// Files that are seen empty.
    pub hidden_files: Vec<RawPath>,
    /// Folders and files that are seen although they lie in a hidden folder.
    pub visible: Vec<RawPath>,
    /// Folders in place of which the private `tmp` is seen.
    pub temporary: Vec<RawPath>,
    /// Folders that look writable, while what is written goes to the private `cache`.
    pub caches: Vec<RawPath>,
    /// Paths in writable folders that must not change, whether they exist or not.
    pub protected: Vec<RawPath>,
    /// Of those, what this command may change: no folders.
    pub opened: Vec<RawPath>,
    /// The `.git` of repositories, worktrees and submodules below the workspace.
    pub nested: Vec<RawPath>,
    /// Folders in which rules files, in any case, must not change.
    pub rules_folders: Vec<RawPath>,
    /// Environment variables to set, or to remove where there is no value.
    pub environment: Vec<(String, Option<String>)>,
    /// Root works in another user's folder, and keeps the capability to do that.
    pub foreign_owner: bool,
    /// A user's own call: signals to the helper end it, as Ctrl-C does. Else it ends by its lifeline.
    pub foreground: bool,
}

/// How the helper runs a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchMode {
    Confined(Box<SandboxSpec>),
    /// Not confined. What it leaves running ends with it.
    EndWithCommand,
    /// Not confined. What it leaves running ends with the agent.
    EndWithAgent,
}

/// A path of any bytes that travels as JSON.
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
