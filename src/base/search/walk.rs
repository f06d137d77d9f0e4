//! Walks the workspace the way git sees it: skips ignored and hidden files, doesn't follow links, limits the
//! work, and never waits for an ignore file that is a FIFO, a device or huge.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::{WalkBuilder, WalkState};

use crate::system::os;
use crate::{file, repository};

/// Further entries aren't visited; the caller reports an incomplete result.
const MAX_ENTRIES: usize = 500_000;

/// If `/` is the workspace: views of the kernel, with thousands of files.
const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];
const MAX_RULES_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visited {
    pub complete: bool,
    pub closed: usize,
}

#[derive(Clone, Debug)]
pub struct Walk {
    pub root: PathBuf,
    /// Include names that begin with a dot (except `.git`).
    pub hidden: bool,
    pub ignored: bool,
    pub max_depth: Option<usize>,
    pub most: usize,
}

impl Walk {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), hidden: false, ignored: false, max_depth: None, most: MAX_ENTRIES }
    }

    /// Includes hidden names if `pattern` itself has one (`.github/**`).
    #[must_use]
    pub fn hidden_if_named(mut self, pattern: &str) -> Self {
        self.hidden |= pattern.split(['/', '{', ',']).any(|part| {
            part.starts_with('.') && part.trim_start_matches('.').starts_with(char::is_alphanumeric)
        });
        self
    }

    fn builder(&self, closed: &Arc<AtomicUsize>) -> WalkBuilder {
        let mut unsafe_rules = UnsafeRules::default();
        if !self.ignored {
            for folder in self.root.canonicalize().unwrap_or_else(|_| self.root.clone()).ancestors() {
                unsafe_rules.look_at(folder);
            }
        }
        let (all, closed) = (self.ignored, Arc::clone(closed));
        let mut builder = WalkBuilder::new(&self.root);
        builder
            .hidden(!self.hidden)
            .ignore(!all && !unsafe_rules.ignore)
            .git_ignore(!all && !unsafe_rules.git_ignore)
            .git_exclude(!all && !unsafe_rules.git_exclude)
            .git_global(false)
            .parents(!all)
            // Rules above a repository don't apply to it: a task's worktree is in a folder that ignores it.
            .require_git(repository::root(&self.root).is_some())
            .follow_links(false)
            .max_depth(self.max_depth)
            .filter_entry(move |entry| {
                let is_git = entry.file_name() == ".git" && entry.depth() > 0;
                if is_git
                    || entry.depth() == 1
                        && KERNEL_FOLDERS.iter().any(|folder| entry.path() == Path::new(folder))
                {
                    return false;
                }
                // Further down, a single kind of rules can't be disabled, so skip such a folder.
                let shut = !all
                    && entry.depth() > 0
                    && entry.file_type().is_some_and(|kind| kind.is_dir())
                    && UnsafeRules::default().look_at(entry.path());
                closed.fetch_add(usize::from(shut), Ordering::Relaxed);
                !shut
            });
        builder
    }

    /// The entries below the root, sorted by name within each folder.
    pub fn sorted(&self) -> impl Iterator<Item = ignore::DirEntry> {
        self.builder(&Arc::default())
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .build()
            .flatten()
            .filter(|entry| entry.depth() > 0)
            .take(self.most)
    }

    /// Visits the entries (including the root) on two threads, in any order. Stops when `stop` is set.
    pub fn visit(&self, stop: &AtomicBool, visit: impl Fn(&ignore::DirEntry) + Sync) -> Visited {
        let seen = AtomicUsize::new(0);
        let closed = Arc::new(AtomicUsize::new(0));
        let visit = &visit;
        let (seen, shut) = (&seen, &*closed);
        self.builder(&closed).threads(2).build_parallel().run(|| {
            Box::new(move |entry| {
                if stop.load(Ordering::Relaxed) || seen.fetch_add(1, Ordering::Relaxed) >= self.most {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => visit(&entry),
                    Err(error) if error.io_error().is_some_and(|e| e.kind() == ErrorKind::NotFound) => {}
                    Err(_) => drop(shut.fetch_add(1, Ordering::Relaxed)),
                }
                WalkState::Continue
            })
        });
        Visited {
            complete: !stop.load(Ordering::Relaxed) && seen.load(Ordering::Relaxed) < self.most,
            closed: closed.load(Ordering::Relaxed),
        }
    }
}

/// Ignore files that can't be read safely, because opening them would block or they never end.
#[derive(Default)]
struct UnsafeRules {
    ignore: bool,
    git_ignore: bool,
    git_exclude: bool,
}

impl UnsafeRules {
    /// Adds those in one folder; returns whether it has any.
    fn look_at(&mut self, folder: &Path) -> bool {
        let bad = |path: PathBuf| {
            std::fs::metadata(path).is_ok_and(|meta| {
                os::special_kind(&meta).is_some() || meta.is_file() && meta.len() > MAX_RULES_BYTES
            })
        };
        let found = [
            bad(folder.join(".ignore")),
            bad(folder.join(".gitignore")),
            bad(folder.join(".git/info/exclude")) || has_bad_worktree(&folder.join(".git"), bad),
        ];
        self.ignore |= found[0];
        self.git_ignore |= found[1];
        self.git_exclude |= found[2];
        found.contains(&true)
    }
}

fn has_bad_worktree(git: &Path, bad: impl Fn(PathBuf) -> bool) -> bool {
    if !git.is_file() {
        return false;
    }
    let line = |path: &Path| {
        let text = file::read(path, MAX_RULES_BYTES).ok()?.0;
        String::from_utf8_lossy(&text).lines().next().map(str::to_owned)
    };
    let Some(first) = line(git) else { return true };
    // The walker resolves a relative path against the current directory, so do the same.
    let Some(folder) = first.strip_prefix("gitdir: ").map(PathBuf::from) else { return false };
    let common = folder.join("commondir");
    bad(common.clone()) || line(&common).is_some_and(|common| bad(folder.join(common).join("info/exclude")))
}

/// Whether git ignores exactly this path; ignored parent folders aren't considered.
pub fn is_ignored(path: &Path) -> bool {
    let Some(folder) = path.parent() else { return false };
    let mut walk = Walk::new(folder);
    (walk.hidden, walk.max_depth) = (true, Some(1));
    !walk.sorted().any(|entry| entry.path() == path)
}

pub fn is_file(entry: &ignore::DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_folders_are_left_out_of_the_root() {
        let walk = Walk { max_depth: Some(1), ..Walk::new(Path::new("/")) };
        let found: Vec<PathBuf> = walk.sorted().map(ignore::DirEntry::into_path).collect();
        assert!(found.contains(&"/usr".into()) && !found.contains(&"/dev".into()), "{found:?}");
    }

    #[test]
    fn hidden_names_are_seen_only_when_asked_for() {
        let walk = || Walk::new(Path::new("/"));
        assert!(walk().hidden_if_named(".github/**/*.yml").hidden);
        assert!(walk().hidden_if_named("a/{.env,b}").hidden);
        assert!(!walk().hidden_if_named("./src/*.rs").hidden);
        assert!(!walk().hidden_if_named("../*.rs").hidden);
        assert!(!walk().hidden_if_named("**/*.rs").hidden);
    }

    #[test]
    fn ignored_files_and_loops_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("a/.git")).unwrap();
        std::fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        for name in ["x.log", "b.rs", "a/c.rs", "a/.git/config"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("..", root.join("a/up")).unwrap();
        // A worktree in a folder that its repository ignores.
        std::fs::create_dir_all(root.join("each/task")).unwrap();
        std::fs::write(root.join("each/.gitignore"), "*\n").unwrap();
        std::fs::write(root.join("each/task/.git"), "gitdir: ../../.git/worktrees/task\n").unwrap();
        std::fs::write(root.join("each/task/d.rs"), "").unwrap();
        let names = |root: &Path| -> Vec<String> {
            let walk = Walk::new(root);
            walk.sorted()
                .map(|entry| entry.path().strip_prefix(root).unwrap().display().to_string())
                .collect()
        };
        assert_eq!(names(root), ["a", "a/c.rs", "a/up", "b.rs", "each"]);
        assert_eq!(names(&root.join("each/task")), ["d.rs"]);
        let visited = |most| Walk { most, ..Walk::new(root) }.visit(&AtomicBool::new(false), |_| {}).complete;
        assert!(visited(20) && !visited(4));
    }
}
