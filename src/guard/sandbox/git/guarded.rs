//! Which paths commands may not change: the sandbox's list, minus what the user opened for one command.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sandbox::git_folders;
use crate::sandbox::protected_paths;
use crate::sandbox::spec::{Masks, RawPath};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedPaths {
    pub workspace: RawPath,
    /// Writable folders; nothing outside them can be changed.
    pub writable: Vec<RawPath>,
    pub protected: Vec<RawPath>,
    pub opened: Vec<RawPath>,
    pub masks: Masks,
}

impl GuardedPaths {
    /// Whether a change of this path (absolute, its parent canonical) is refused.
    pub fn hold(&self, path: &Path) -> bool {
        self.is_outside(path) || self.is_protected(path) && !self.opened.iter().any(|open| open.0 == path)
    }

    pub fn is_outside(&self, path: &Path) -> bool {
        !self.writable.iter().any(|folder| path.starts_with(&folder.0))
    }

    /// For a canonical workspace and a user with this home.
    pub fn of_workspace(workspace: &Path, home: Option<&Path>) -> Self {
        let homes: Vec<PathBuf> = home.iter().map(|home| home.to_path_buf()).collect();
        let git = git_folders::find(workspace);
        let writable = std::iter::once(workspace.to_owned()).chain(git.outside);
        let protected = protected_paths::paths(workspace, &homes).into_iter().chain(git.protected);
        Self {
            workspace: workspace.into(),
            writable: writable.map(RawPath).collect(),
            protected: protected.map(RawPath).collect(),
            opened: Vec::new(),
            masks: Masks::default(),
        }
    }

    fn is_protected(&self, path: &Path) -> bool {
        // In a git folder only the list counts, because a command may have created the repository itself.
        let in_git = path.components().any(|part| part.as_os_str() == ".git");
        !in_git && path.strip_prefix(&self.workspace.0).is_ok_and(protected_paths::steers)
            || self.protected.iter().any(|protected| path.starts_with(&protected.0))
    }

    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace.0).unwrap_or(path).display().to_string()
    }

    /// Such as `a, which is`; `a and b, which are`; `a, b and 3 more, which are`.
    pub fn clause(&self, paths: &[PathBuf]) -> String {
        let shown: Vec<String> = paths.iter().map(|path| self.shown(path)).collect();
        let list = match &shown[..] {
            [one] => format!("{one}, which is"),
            [one, two] => format!("{one} and {two}, which are"),
            [one, two, rest @ ..] => format!("{one}, {two} and {} more, which are", rest.len()),
            [] => String::new(),
        };
        let outside = paths.iter().any(|path| self.is_outside(path));
        format!("{list} {}", if outside { "outside the workspace" } else { "protected" })
    }
}
