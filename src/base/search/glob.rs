//! Finding files by name pattern, newest first.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use globset::{GlobBuilder, GlobMatcher};
use parking_lot::Mutex;

use super::walk::Walk;
use crate::folder::exact;
use crate::path::composed;

const MAX_COMPILED: usize = 64;

#[derive(Debug, Default)]
pub struct GlobMatches {
    /// Absolute paths, newest first, then by name.
    pub files: Vec<PathBuf>,
    pub total: usize,
    /// Matching folders, if no file matches.
    pub folders: Vec<PathBuf>,
    pub closed: usize,
    pub incomplete: bool,
}

/// `*` stays within a name, `**` crosses folders. Without `/` it is the file name, at any depth if `anywhere`.
pub fn matcher(pattern: &str, anywhere: bool) -> Result<GlobMatcher, String> {
    let pattern = pattern.trim_start_matches("./");
    let deep = if pattern.contains('/') || !anywhere { pattern.to_owned() } else { format!("**/{pattern}") };
    GlobBuilder::new(&composed(&deep))
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

/// Keeps compiled patterns, because a rule is compared with every file of a project.
pub fn is_match(pattern: &str, anywhere: bool, path: &Path) -> bool {
    type Compiled = (String, bool, Option<GlobMatcher>);
    thread_local!(static COMPILED: RefCell<Vec<Compiled>> = const { RefCell::new(Vec::new()) });
    COMPILED.with_borrow_mut(|known| {
        let is_it = |one: &Compiled| one.0 == pattern && one.1 == anywhere;
        let at = known.iter().position(is_it).unwrap_or_else(|| {
            if known.len() == MAX_COMPILED {
                known.clear();
            }
            known.push((pattern.to_owned(), anywhere, matcher(pattern, anywhere).ok()));
            known.len() - 1
        });
        known[at].2.as_ref().is_some_and(|glob| glob.is_match(path))
    })
}

pub fn like(pattern: &str, text: &str) -> bool {
    let Some((front, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(front) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let (last, middle) = parts.split_last().unwrap_or((&"", &[]));
    for part in middle {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

/// The root must contain no link. Blocks; polls `cancelled`.
pub fn search(
    walk: &Walk,
    glob: &GlobMatcher,
    limit: usize,
    cancelled: impl Fn() -> bool + Sync,
) -> GlobMatches {
    let stop = AtomicBool::new(false);
    let files: Mutex<Vec<(SystemTime, PathBuf)>> = Mutex::default();
    let folders: Mutex<Vec<PathBuf>> = Mutex::default();
    let walked = walk.visit(&stop, |entry| {
        if cancelled() {
            stop.store(true, Ordering::Relaxed);
        }
        let relative = entry.path().strip_prefix(&walk.root).unwrap_or(entry.path());
        let name = relative.to_string_lossy();
        if entry.depth() == 0 || !(glob.is_match(relative) || glob.is_match(&*composed(&name))) {
            return;
        }
        // Skip it if a folder above was replaced by a link during the walk.
        let Ok(meta) = exact::look(entry.path()) else { return };
        if meta.is_dir() {
            let mut folders = folders.lock();
            if folders.len() < limit {
                folders.push(entry.path().to_owned());
            }
            return;
        }
        let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        files.lock().push((modified, entry.path().to_owned()));
    });
    let mut files = files.into_inner();
    let mut folders = folders.into_inner();
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    folders.sort();
    let total = files.len();
    let files = files.into_iter().take(limit).map(|(_, path)| path).collect();
    GlobMatches { files, total, folders, closed: walked.closed, incomplete: !walked.complete }
}

pub fn split_base(pattern: &str) -> (&str, &str) {
    let meta = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..meta].rfind('/') {
        Some(slash) => (&pattern[..slash.max(usize::from(slash == 0))], &pattern[slash + 1..]),
        None => ("", pattern),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let hits = |pattern: &str, path: &str| matcher(pattern, true).unwrap().is_match(path);
        assert!(hits("*.rs", "a/b.rs") && hits("*.rs", "b.rs"));
        assert!(hits("src/**/*.rs", "src/b.rs") && hits("src/**/*.rs", "src/x/y/b.rs"));
        assert!(!hits("src/*.rs", "src/x/b.rs"));
        assert!(hits("./src/*.{rs,toml}", "src/b.toml"));
        assert!(matcher("a[", true).is_err());
        assert_eq!(split_base("/w/src/**/*.rs"), ("/w/src", "**/*.rs"));
        assert_eq!(split_base("*.rs"), ("", "*.rs"));
        assert_eq!(split_base("/*.rs"), ("/", "*.rs"));
    }
}
