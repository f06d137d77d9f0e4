//! Picks a folder for temporary files, never inside the user's project, whatever `TMPDIR` says.

use std::path::{Path, PathBuf};
use std::{env, io};

use crate::system::os;

const SYSTEM: [&str; 2] = ["/tmp", "/var/tmp"];

pub fn folder_outside(workspace: &Path) -> io::Result<PathBuf> {
    outside([env::temp_dir()].into_iter().chain(SYSTEM.map(PathBuf::from)), workspace)
}

fn outside(folders: impl Iterator<Item = PathBuf>, workspace: &Path) -> io::Result<PathBuf> {
    let mut found: Vec<PathBuf> = folders.filter_map(|folder| folder.canonicalize().ok()).collect();
    let fits = |folder: &PathBuf| !folder.starts_with(workspace) && os::is_writable(folder);
    // If the workspace contains all of them (such as `/`), use the first.
    let at = found.iter().position(fits).unwrap_or(0);
    if found.is_empty() {
        return Err(io::Error::other("there is no folder for temporary files: set TMPDIR to one"));
    }
    Ok(found.swap_remove(at))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_the_workspace_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (inside, beside) = (root.join("work/tmp"), root.join("other"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir(&beside).unwrap();
        std::os::unix::fs::symlink(&inside, root.join("link")).unwrap();
        let folders = || [root.join("missing"), root.join("link"), beside.clone()].into_iter();
        assert_eq!(outside(folders(), &root.join("work")).unwrap(), beside);
        assert_eq!(outside(folders(), Path::new("/elsewhere")).unwrap(), inside);
        assert_eq!(outside(folders(), Path::new("/")).unwrap(), inside);
    }
}
