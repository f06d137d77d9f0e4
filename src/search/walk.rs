//! Walking the workspace the way git sees it: ignored and hidden files skipped, links not followed, work bounded.
//! Knows nothing of what is looked for.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::{WalkBuilder, WalkState};

/// More entries than this are not visited; the caller says that the answer is incomplete.
pub const MAX_ENTRIES: usize = 500_000;

/// What to walk.
#[derive(Clone, Debug)]
pub struct Walk {
    pub root: PathBuf,
    /// Also names that begin with a dot (`.git` stays out).
    pub hidden: bool,
    /// Also what .gitignore and its kin exclude.
    pub ignored: bool,
    pub max_depth: Option<usize>,
}

impl Walk {
    /// Everything under `root` that is neither hidden nor ignored.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), hidden: false, ignored: false, max_depth: None }
    }

    /// The walk with hidden names when `pattern` itself names one (`.github/**`).
    #[must_use]
    pub fn hidden_if_named(mut self, pattern: &str) -> Self {
        self.hidden |= pattern.split(['/', '{', ',']).any(|part| {
            part.starts_with('.') && part.trim_start_matches('.').starts_with(char::is_alphanumeric)
        });
        self
    }

    fn builder(&self) -> WalkBuilder {
        let mut builder = WalkBuilder::new(&self.root);
        builder
            .hidden(!self.hidden)
            .ignore(!self.ignored)
            .git_ignore(!self.ignored)
            .git_exclude(!self.ignored)
            .git_global(false)
            .parents(!self.ignored)
            .require_git(false)
            .follow_links(false)
            .max_depth(self.max_depth)
            .filter_entry(|entry| entry.file_name() != ".git" || entry.depth() == 0);
        builder
    }

    /// The entries below the root one after another, sorted by name within each folder.
    pub fn sorted(&self) -> impl Iterator<Item = ignore::DirEntry> {
        self.builder()
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .build()
            .flatten()
            .filter(|entry| entry.depth() > 0)
            .take(MAX_ENTRIES)
    }

    /// Visits the entries (the root included) on two threads in no order. Stops when `stop` is set; returns whether
    /// everything was visited.
    pub fn visit(&self, stop: &AtomicBool, visit: impl Fn(&ignore::DirEntry) + Sync) -> bool {
        let seen = AtomicUsize::new(0);
        let visit = &visit;
        let seen = &seen;
        self.builder().threads(2).build_parallel().run(|| {
            Box::new(move |entry| {
                if stop.load(Ordering::Relaxed) || seen.fetch_add(1, Ordering::Relaxed) >= MAX_ENTRIES {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry {
                    visit(&entry);
                }
                WalkState::Continue
            })
        });
        !stop.load(Ordering::Relaxed) && seen.load(Ordering::Relaxed) < MAX_ENTRIES
    }
}

/// Whether the entry is a regular file (not a link, FIFO or device).
pub fn is_file(entry: &ignore::DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
        let names: Vec<String> = Walk::new(root)
            .sorted()
            .map(|entry| entry.path().strip_prefix(root).unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["a", "a/c.rs", "a/up", "b.rs"]);
    }
}
