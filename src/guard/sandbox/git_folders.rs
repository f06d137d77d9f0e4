//! A workspace's git folders, so that local commits work, including in a subfolder, worktree or submodule. A
//! folder outside counts only if it points back, because a checkout could name any repository.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::protected_paths::{IN_GIT, SKIPPED};
use base::file;
use base::system::os;

/// Limit for a pointer file, a list of submodules or a configuration.
pub const MAX_BYTES: u64 = 256 * 1024;
const MAX_MODULES: usize = 256;
const MAX_MODULE_DEPTH: usize = 6;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFolders {
    /// Outside the workspace; commits write there.
    pub outside: Vec<PathBuf>,
    pub protected: Vec<PathBuf>,
}

pub fn find(workspace: &Path) -> GitFolders {
    let mut found = GitFolders::default();
    // Protect it even if it doesn't exist yet.
    protect(&workspace.join(".git"), &mut found.protected);
    let Some(dot_git) = workspace.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())
    else {
        return found;
    };
    let Some(top) = dot_git.parent().map(Path::to_owned) else { return found };
    let Ok(kind) = fs::symlink_metadata(&dot_git) else { return found };
    if kind.is_dir() {
        if top != workspace {
            // A repository of the entire home folder or disk doesn't belong to the project.
            if top.components().count() <= 2 || std::env::home_dir().is_some_and(|home| home == top) {
                return found;
            }
            found.outside.push(dot_git.clone());
        }
        whole(&dot_git, &top, workspace, &mut found);
        return found;
    }
    found.protected.push(dot_git.clone());
    let Some((own, common)) = kind.is_file().then(|| worktree(&dot_git)).flatten() else { return found };
    // It contains the worktree's own folder.
    if !common.starts_with(workspace) {
        found.outside.push(common.clone());
    }
    protect(&own, &mut found.protected);
    if common != own {
        whole(&common, &top, workspace, &mut found);
    }
    found
}

/// The git folder of a linked worktree or submodule, and the shared one. `None` if they don't point back.
fn worktree(dot_git: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = read(dot_git)?;
    let named = text.strip_prefix("gitdir:")?.trim();
    let own = dot_git.parent()?.join(named).canonicalize().ok()?;
    if let Some(common) = read(&own.join("commondir")) {
        let common = own.join(common.trim()).canonicalize().ok()?;
        let back = PathBuf::from(read(&own.join("gitdir"))?.trim()).canonicalize().ok()?;
        let listed = own.parent()? == common.join("worktrees");
        return (listed && back == dot_git.canonicalize().ok()?).then_some((own, common));
    }
    // A submodule's git folder is inside that of an outer repository, and its configuration points back.
    let inside_repository = dot_git.parent()?.ancestors().skip(1).any(|folder| {
        folder.join(".git").canonicalize().is_ok_and(|git| own.starts_with(git.join("modules")))
    });
    let config = read(&own.join("config"))?;
    let back = config.lines().find_map(|line| setting(line, "worktree"))?;
    let back = own.join(back).canonicalize().ok()?;
    (inside_repository && back == dot_git.parent()?.canonicalize().ok()?).then(|| (own.clone(), own))
}

/// The main git folder, its submodules and worktrees, and the configured hooks folder.
fn whole(git: &Path, top: &Path, workspace: &Path, found: &mut GitFolders) {
    let hooks = read(&git.join("config"))
        .and_then(|text| text.lines().find_map(|line| setting(line, "hookspath").map(str::to_owned)));
    if let Some(hooks) = hooks {
        let folder = top.join(hooks);
        if folder.starts_with(workspace) && folder != workspace {
            found.protected.push(folder);
        }
    }
    with_modules(git).iter().for_each(|git| protect(git, &mut found.protected));
    worktrees(git).take(MAX_MODULES).for_each(|git| protect(&git, &mut found.protected));
}

pub fn worktrees(git: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// A git folder and those of its submodules.
pub fn with_modules(git: &Path) -> Vec<PathBuf> {
    let mut found = vec![git.to_owned()];
    modules(&git.join("modules"), MAX_MODULE_DEPTH, &mut found);
    found
}

fn modules(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if depth == 0 || found.len() > MAX_MODULES || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        if path.join("HEAD").is_file() {
            found.push(path.clone());
            modules(&path.join("modules"), depth - 1, found);
        } else {
            // A module's name may contain slashes.
            modules(&path, depth - 1, found);
        }
    }
}

fn protect(git: &Path, protected: &mut Vec<PathBuf>) {
    protected.extend(IN_GIT.iter().map(|name| git.join(name)));
}

fn setting<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = line.split_once('=')?;
    key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
}

pub fn read(path: &Path) -> Option<String> {
    file::small_text(path, MAX_BYTES)
}

/// Limit for the search, which begins near the workspace.
const MAX_FOLDERS: usize = 2_000;
/// Each one costs several mounts per command.
const MAX_FOUND: usize = 64;

/// Repositories that existed at the session's start; protected even if moved. Commands may change new ones.
#[derive(Debug)]
pub struct NestedRepositories(Vec<(PathBuf, u64)>);

impl NestedRepositories {
    pub fn find(workspace: &Path) -> Self {
        Self(search(workspace).into_iter().filter_map(|git| Some((git.clone(), number(&git)?))).collect())
    }

    /// Their current paths. Searches again only if one has moved.
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

/// The inode, which doesn't change when a file is moved.
fn number(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|meta| os::facts(&meta).id.1)
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

/// Repositories in git's own lists, at any depth.
fn listed(workspace: &Path) -> Vec<PathBuf> {
    let modules = read(&workspace.join(".gitmodules")).unwrap_or_default();
    let modules = modules.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "path").then(|| workspace.join(value.trim().trim_matches('"')).join(".git"))
    });
    let trees = worktrees(&workspace.join(".git"));
    let trees = trees.filter_map(|tree| Some(PathBuf::from(read(&tree.join("gitdir"))?.trim())));
    modules
        .chain(trees)
        // A list may name anything: accept only what is really below, and no links.
        .filter(|git| fs::symlink_metadata(git).is_ok_and(|meta| !meta.is_symlink()))
        .filter(|git| git.canonicalize().is_ok_and(|real| real == *git))
        .filter(|git| git.starts_with(workspace) && *git != workspace.join(".git"))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        (dir, path)
    }

    #[test]
    fn worktrees_must_point_back() {
        let (_dir, root) = folder();
        let (main, tree) = (root.join("main"), root.join("tree"));
        let own = main.join(".git/worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        assert_eq!(find(&tree).outside, Vec::<PathBuf>::new());
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        let found = find(&tree);
        assert_eq!(found.outside, [main.join(".git")]);
        for name in ["config", "hooks", "worktrees/tree/commondir", "worktrees/tree/config.worktree"] {
            assert!(found.protected.contains(&main.join(".git").join(name)), "{name}");
        }
        // A checkout that points to another repository gets no access.
        fs::create_dir(root.join("evil")).unwrap();
        fs::write(root.join("evil/.git"), format!("gitdir: {}\n", main.join(".git").display())).unwrap();
        assert!(find(&root.join("evil")).outside.is_empty());
    }

    #[test]
    fn subfolder_of_a_repository() {
        let (_dir, root) = folder();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join("repo/packages/one")).unwrap();
        fs::write(root.join("repo/.git/config"), "[core]\n\thooksPath = packages/one/githooks\n").unwrap();
        let found = find(&root.join("repo/packages/one"));
        assert_eq!(found.outside, [root.join("repo/.git")]);
        assert!(found.protected.contains(&root.join("repo/packages/one/githooks")));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod nested_tests {
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
