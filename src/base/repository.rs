//! Finds the git repository of a folder, like git does.

use std::env;
use std::path::{Path, PathBuf};

use super::file;

const MAX_POINTER_BYTES: u64 = 4 * 1024;

/// The nearest folder upward with a valid `.git`, ignoring those in or above `GIT_CEILING_DIRECTORIES`.
pub fn root(folder: &Path) -> Option<&Path> {
    let ceilings: Vec<PathBuf> =
        env::var_os("GIT_CEILING_DIRECTORIES").iter().flat_map(env::split_paths).collect();
    root_below(folder, &ceilings)
}

/// The branch checked out at `folder`; `None` without a repository or branch.
pub fn branch(folder: &Path) -> Option<String> {
    let head = file::small_text(&git_folder(root(folder)?)?.join("HEAD"), MAX_POINTER_BYTES)?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// `.git`, or the folder that a `.git` file points to (worktrees, submodules).
pub fn git_folder(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    match file::small_text(&git, MAX_POINTER_BYTES) {
        Some(pointer) => Some(top.join(pointer.strip_prefix("gitdir:")?.trim())),
        None => Some(git),
    }
}

fn root_below<'a>(folder: &'a Path, ceilings: &[PathBuf]) -> Option<&'a Path> {
    let below = |up: &&Path| *up == folder || !ceilings.iter().any(|ceiling| ceiling == up);
    folder.ancestors().take_while(below).find(|up| is_repository(&up.join(".git")))
}

fn is_repository(git: &Path) -> bool {
    git.join("HEAD").symlink_metadata().is_ok()
        || file::small_text(git, MAX_POINTER_BYTES).is_some_and(|text| text.starts_with("gitdir:"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_empty_git_folder_is_no_repository() {
        let dir = tempfile::tempdir().unwrap();
        let (top, inner) = (dir.path().join("top"), dir.path().join("top/a/b"));
        fs::create_dir_all(&inner).unwrap();
        let ceilings = [dir.path().to_owned()];
        let found = || root_below(&inner, &ceilings);
        assert_eq!(found(), None);
        fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(found(), None);
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(found(), Some(top.as_path()));
        assert_eq!(root_below(&inner, std::slice::from_ref(&top)), None, "at a ceiling the search ends");
        assert_eq!(
            root_below(&top, std::slice::from_ref(&top)),
            Some(top.as_path()),
            "but the folder itself counts"
        );
        fs::write(top.join("a/.git"), "gitdir: ../.git/worktrees/a\n").unwrap();
        assert_eq!(found(), Some(top.join("a").as_path()));
    }
}
