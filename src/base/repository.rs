//! Which git repository a folder lies in, as git itself would find it.

use std::env;
use std::path::{Path, PathBuf};

use super::file;

/// A `.git` file that names a folder is not larger, in bytes.
const MAX_POINTER_BYTES: u64 = 4 * 1024;

/// The root of the repository that `folder` lies in: the nearest folder upwards with a `.git` that is one. Like git, it does
/// not look in the folders of `GIT_CEILING_DIRECTORIES` or above them.
pub fn root(folder: &Path) -> Option<&Path> {
    let ceilings: Vec<PathBuf> =
        env::var_os("GIT_CEILING_DIRECTORIES").iter().flat_map(env::split_paths).collect();
    root_below(folder, &ceilings)
}

fn root_below<'a>(folder: &'a Path, ceilings: &[PathBuf]) -> Option<&'a Path> {
    let below = |up: &&Path| *up == folder || !ceilings.iter().any(|ceiling| ceiling == up);
    folder.ancestors().take_while(below).find(|up| is_repository(&up.join(".git")))
}

/// A folder with a HEAD, or a file that names a folder elsewhere. An empty folder is none.
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
