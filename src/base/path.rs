//! Resolves a typed path to the path to open, and whether it is inside the workspace. A link that leads
//! outside counts as outside even if its target doesn't exist yet.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization as _;

/// More links in one path count as a loop, as in the Linux kernel.
const MAX_LINKS: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Absolute, with `.` and `..` removed textually: the path to open and to show.
    pub absolute: PathBuf,
    /// With all links followed as far as the path exists: the path to judge and to remember.
    pub canonical: PathBuf,
    pub inside: bool,
}

/// `root` must be absolute and canonical. A leading `~/` is the home folder.
pub fn resolve(root: &Path, text: &str) -> Resolved {
    let typed = match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    definite(root, normalize(&root.join(typed)))
}

/// `absolute` must not contain `.` or `..`.
pub fn definite(root: &Path, absolute: PathBuf) -> Resolved {
    let canonical = follow(&absolute);
    let inside = canonical.starts_with(root);
    Resolved { absolute, canonical, inside }
}

pub fn normalize(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Follows links one by one, and keeps what doesn't exist. A loop ends at its link, which then can't be opened.
pub fn follow(path: &Path) -> PathBuf {
    follow_past(path, &mut HashSet::new())
}

/// Like [`follow`], but doesn't check again what is known not to be a link.
pub fn follow_past(path: &Path, no_links: &mut HashSet<OsString>) -> PathBuf {
    let start = if path.is_absolute() { Ok(PathBuf::from("/")) } else { std::env::current_dir() };
    let Ok(start) = start else { return path.to_owned() };
    let known = path.parent().filter(|parent| no_links.contains(parent.as_os_str()));
    let (mut real, mut todo) = match known.zip(path.file_name()) {
        Some((parent, name)) => (parent.to_owned(), VecDeque::from([name.to_owned()])),
        None => (start, parts(path)),
    };
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        let is_known = no_links.contains(next.as_os_str());
        match if is_known { None } else { std::fs::read_link(&next).ok() } {
            Some(_) if links == MAX_LINKS => return next,
            Some(target) => {
                links += 1;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for piece in parts(&target).into_iter().rev() {
                    todo.push_front(piece);
                }
            }
            None if is_known => real = next,
            None => {
                no_links.insert(next.clone().into());
                real = next;
            }
        }
    }
    real
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

/// For users and models: relative to `root` if inside, else absolute; invalid UTF-8 shows as `�`.
pub fn display(root: &Path, path: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    }
}

/// Whether the path exists and, with links followed, is outside `root`.
pub fn leads_out(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => !path.starts_with(root),
        _ => false,
    }
}

/// A name for a list row, with control characters escaped.
pub fn on_one_line(name: &str) -> String {
    if !name.contains(char::is_control) {
        return name.to_owned();
    }
    name.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

/// Control characters, invalid UTF-8 and composed letters can't be typed exactly. What doesn't exist stays as typed.
pub fn on_disk(absolute: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in absolute.components() {
        let next = real.join(part);
        let typed = part.as_os_str().to_string_lossy();
        let exact = typed.bytes().all(|byte| byte.is_ascii() && byte != b'\\');
        real = if exact || next.symlink_metadata().is_ok() {
            next
        } else {
            spelled_otherwise(&real, &typed).unwrap_or(next)
        };
    }
    real
}

fn spelled_otherwise(folder: &Path, typed: &str) -> Option<PathBuf> {
    let same = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        composed(&on_one_line(&name.to_string_lossy())) == composed(typed)
    };
    let mut fitting = std::fs::read_dir(folder).ok()?.flatten().filter(same);
    fitting.next().filter(|_| fitting.next().is_none()).map(|entry| entry.path())
}

/// Composes each accented letter into one character, so that equal names compare equal.
pub fn composed(name: &str) -> Cow<'_, str> {
    if name.is_ascii() { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

const FILE_ENDINGS: &str = include_str!("file_endings.txt");

pub fn is_file_ending(ending: &str) -> bool {
    FILE_ENDINGS.split_whitespace().any(|known| known == ending)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn dots_are_removed_by_text() {
        assert_eq!(normalize(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(normalize(Path::new("/../../a")), Path::new("/a"));
    }

    #[test]
    fn inside_and_outside() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        assert!(resolve(&root, "src/a.rs").inside);
        assert!(resolve(&root, "src/../../../etc/passwd").absolute.starts_with("/"));
        assert!(!resolve(&root, "../x").inside);
        assert!(!resolve(&root, "/etc/passwd").inside);
        assert!(resolve(&root, root.join("x").to_str().unwrap()).inside);
        assert_eq!(display(&root, &root.join("a/b")), "a/b");
        assert_eq!(display(&root, &root), ".");
    }

    #[test]
    fn accents_in_either_form_name_one_file() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = ("caf\u{e9}", "cafe\u{301}");
        std::fs::create_dir(root.path().join(two)).unwrap();
        std::fs::write(root.path().join(two).join("na\u{ef}ve.txt"), "").unwrap();
        let real = root.path().join(two).join("na\u{ef}ve.txt");
        assert_eq!(on_disk(&root.path().join(one).join("nai\u{308}ve.txt")), real);
        assert_eq!(on_disk(&root.path().join(one).join("new.txt")), root.path().join(two).join("new.txt"));
        // If both exist, the typed one is meant.
        std::fs::create_dir(root.path().join(one)).unwrap();
        assert_eq!(on_disk(&root.path().join(one)), root.path().join(one));
    }

    #[test]
    fn dangling_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        symlink("/etc", root.join("out")).unwrap();
        symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        symlink("loop_b", root.join("loop_a")).unwrap();
        symlink("loop_a", root.join("loop_b")).unwrap();
        symlink("real", root.join("in")).unwrap();
        assert!(!resolve(&root, "out/new.conf").inside);
        assert!(!resolve(&root, "dangling").inside);
        assert!(resolve(&root, "loop_a").inside);
        symlink("itself/../other", root.join("itself")).unwrap();
        assert_eq!(resolve(&root, "itself").canonical, root.join("itself"));
        let link = resolve(&root, "in/x");
        assert_eq!((link.canonical, link.inside), (root.join("real/x"), true));
    }
}
