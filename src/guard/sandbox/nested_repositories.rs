//! Repositories below a workspace: checkouts, submodules, linked worktrees. Their hooks and configuration run
//! programs when a user works there. A bounded search by names and git's small pointer files.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::git_folders;

/// Folders opened in the search, nearest to the workspace first.
const MAX_FOLDERS: usize = 2_000;
/// Each costs some mounts for every command.
const MAX_FOUND: usize = 64;
pub const SKIPPED: &[&str] =
    &[".git", "node_modules", "target", "__pycache__", ".venv", "venv", ".tox", ".gradle"];

/// Those that existed when the session started, protected wherever they move. Commands may change new ones.
#[derive(Debug)]
pub struct NestedRepositories(Vec<(PathBuf, u64)>);

impl NestedRepositories {
    /// `workspace` is canonical.
    pub fn find(workspace: &Path) -> Self {
        Self(search(workspace).into_iter().filter_map(|git| Some((git.clone(), number(&git)?))).collect())
    }

    /// Where they are now. Searches again only if one has moved.
    pub fn locate(&mut self, workspace: &Path) -> Vec<PathBuf> {
        let moved = |(git, known): &(PathBuf, u64)| number(git) != Some(*known);
        if self.0.iter().any(moved) {
            let numbers: BTreeSet<u64> = self.0.iter().map(|(_, number)| *number).collect();
            self.0 =
                Self::find(workspace).0.into_iter().filter(|(_, number)| numbers.contains(number)).collect();
        }
        self.0.iter().map(|(git, _)| git.clone()).collect()
    }
}

/// The inode, which a moved file keeps.
fn number(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|meta| meta.ino())
}

/// The `.git` folders and files below `workspace` (canonical), except its own.
fn search(workspace: &Path) -> Vec<PathBuf> {
    let mut found: BTreeSet<PathBuf> = listed(workspace).into_iter().collect();
    let mut waiting = VecDeque::from([workspace.to_owned()]);
    let mut left = MAX_FOLDERS;
    while let Some(folder) = waiting.pop_front() {
        if left == 0 || found.len() >= MAX_FOUND {
            break;
        }
        left -= 1;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if name == ".git" && !kind.is_symlink() && folder != workspace {
                found.insert(entry.path());
            } else if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
                waiting.push_back(entry.path());
            }
        }
    }
    found.into_iter().take(MAX_FOUND).collect()
}

/// Those that git's own lists name, at any depth.
fn listed(workspace: &Path) -> Vec<PathBuf> {
    let modules = git_folders::read(&workspace.join(".gitmodules")).unwrap_or_default();
    let modules = modules.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "path").then(|| workspace.join(value.trim().trim_matches('"')).join(".git"))
    });
    let trees = git_folders::worktrees(&workspace.join(".git"));
    let trees = trees.filter_map(|tree| Some(PathBuf::from(git_folders::read(&tree.join("gitdir"))?.trim())));
    modules
        .chain(trees)
        // A list may name anything: only what is really below counts, and no links.
        .filter(|git| fs::symlink_metadata(git).is_ok_and(|meta| !meta.is_symlink()))
        .filter(|git| git.canonicalize().is_ok_and(|real| real == *git))
        .filter(|git| git.starts_with(workspace) && *git != workspace.join(".git"))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nested_repositories_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in [".git/worktrees/w", "a/b/c/.git", "node_modules/x/.git", "lib", "node_modules/deep"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("lib/.git"), "gitdir: ../.git/modules/lib").unwrap();
        fs::write(root.join("node_modules/deep/.git"), "gitdir: x").unwrap();
        fs::write(
            root.join(".gitmodules"),
            "[submodule \"d\"]\n\tpath = node_modules/deep\n\tpath = ../..\n",
        )
        .unwrap();
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        let expected = ["a/b/c/.git", "lib/.git", "node_modules/deep/.git"].map(|name| root.join(name));
        assert_eq!(search(&root), expected);
        let mut known = NestedRepositories::find(&root);
        fs::rename(root.join("a"), root.join("moved")).unwrap();
        fs::create_dir_all(root.join("own/.git")).unwrap();
        assert_eq!(
            known.locate(&root),
            ["lib/.git", "moved/b/c/.git", "node_modules/deep/.git"].map(|n| root.join(n))
        );
    }
}
