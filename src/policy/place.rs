//! Where a command works, and whether a word of it can name something elsewhere. Links are followed on the disk, as the
//! program will follow them. Knows no program.

use std::path::{Path, PathBuf};

use super::shell::Word;
use crate::base::path;

/// Folders inside the workspace that steer programs rather than being worked on: changing them asks even where other
/// changes don't.
const STEERING: &[&str] = &[".git", ".mycode"];
/// Patterns that match more than this are not looked through.
const MAX_MATCHES: usize = 5_000;
/// Of an argument longer than this, not every part is looked at.
const MAX_OPTION_BYTES: usize = 256;
/// Folders in which one line can find itself after several `cd`.
const MAX_FOLDERS: usize = 16;

/// The workspace, what else may be read, and the folders in which a command can find itself.
#[derive(Clone)]
pub struct Place<'a> {
    workspace: &'a Path,
    readable: &'a [&'a Path],
    folders: Vec<PathBuf>,
}

impl<'a> Place<'a> {
    pub fn new(workspace: &'a Path, readable: &'a [&'a Path], cwd: &Path) -> Self {
        Self { workspace, readable, folders: vec![path::follow(cwd)] }
    }

    pub fn starts_inside(&self) -> bool {
        self.folders.iter().all(|folder| folder.starts_with(self.workspace))
    }

    /// After `cd`: whether it happens can hang on what went before, so the old folders stay possible. False when
    /// that leads outside.
    pub fn enter(&mut self, folder: &str) -> bool {
        let mut more = Vec::new();
        for from in &self.folders {
            let to = from.join(folder);
            // The shell takes `..` by text, programs by the disk.
            more.push(path::follow(&path::normalize(&to)));
            more.push(path::follow(&to));
        }
        more.retain(|folder| !self.folders.contains(folder));
        more.dedup();
        self.folders.extend(more);
        !folder.starts_with('~') && self.folders.len() <= MAX_FOLDERS && self.starts_inside()
    }

    /// Whether whatever the word names may be read without a question.
    pub fn may_read(&self, word: &Word) -> bool {
        let inside = |path: &Path| {
            path.starts_with(self.workspace) || self.readable.iter().any(|folder| path.starts_with(folder))
        };
        let fine = |text: &str| text == "/dev/null" || self.all(text, inside);
        paths_in(&word.text).is_some_and(|paths| paths.into_iter().all(fine))
            && (word.glob_at.is_none()
                || self.folders.iter().all(|folder| matches_stay(folder, &word.text, &inside)))
    }

    /// Whether whatever the word names may be changed in `auto`.
    pub fn may_change(&self, word: &Word) -> bool {
        let inside = |path: &Path| path.strip_prefix(self.workspace).is_ok_and(|rest| !steers(rest));
        let fine = |text: &str| is_scratch(text) || self.all(text, inside);
        paths_in(&word.text).is_some_and(|paths| paths.into_iter().all(fine))
            && (word.glob_at.is_none()
                || is_scratch(&word.text)
                || self.folders.iter().all(|folder| matches_stay(folder, &word.text, &inside)))
    }

    fn all(&self, text: &str, inside: impl Fn(&Path) -> bool) -> bool {
        !text.starts_with('~') && self.folders.iter().all(|folder| inside(&path::follow(&folder.join(text))))
    }
}

/// Whether a path relative to the workspace is one of those that steer programs.
pub fn steers(inside: &Path) -> bool {
    inside.components().next().is_some_and(|first| STEERING.iter().any(|name| first.as_os_str() == *name))
}

/// Devices that keep nothing, and things below the folder for temporary files (not that folder itself).
pub fn is_scratch(text: &str) -> bool {
    if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") {
        return true;
    }
    let named = text.strip_prefix("/tmp/").is_some_and(|rest| {
        let first = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
        !matches!(first, "" | ".")
            && !first.starts_with(['*', '?', '['])
            && !rest.split('/').any(|part| part == "..")
    });
    named && path::follow(Path::new(text)).starts_with(path::follow(Path::new("/tmp")))
}

/// Every part of an argument that a program may take for a path: the whole, the value after `=`, and what may be glued
/// to a one-letter option. `None` when it is too long to tell.
fn paths_in(arg: &str) -> Option<Vec<&str>> {
    let mut paths = vec![arg];
    // In an address or a sentence, `=` does not join a name with a path.
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    paths.extend(arg.split_once('=').filter(|(name, _)| is_name(name)).map(|(_, value)| value));
    if arg.starts_with('-') && !arg.starts_with("--") {
        if arg.len() > MAX_OPTION_BYTES {
            return None;
        }
        paths.extend(arg.char_indices().skip(2).map(|(at, _)| &arg[at..]));
    }
    Some(paths)
}

/// Whether everything that the pattern can match lies inside. Matches too much rather than too little.
fn matches_stay(folder: &Path, pattern: &str, inside: &dyn Fn(&Path) -> bool) -> bool {
    let start = if pattern.starts_with('/') { PathBuf::from("/") } else { folder.to_owned() };
    let mut found = vec![start];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let (Some(first), Some(last)) = (part.find(['*', '?', '[']), part.rfind(['*', '?', '[', ']'])) else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let (front, back) = (&part[..first], &part[last + 1..]);
        if matches!(front, "." | "..") {
            // Older shells let `.*` match the folder above.
            return false;
        }
        let mut matched = Vec::new();
        for entry in found.iter().filter_map(|path| std::fs::read_dir(path).ok()).flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(front) && name.ends_with(back) {
                matched.push(entry.path());
            }
            if matched.len() > MAX_MATCHES {
                return false;
            }
        }
        found = matched;
    }
    found.iter().all(|path| inside(&path::follow(path)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::policy::shell::split;
    use std::os::unix::fs::symlink;

    #[test]
    fn words_that_stay_and_words_that_leave() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(root.join("sub/a.rs"), "").unwrap();
        symlink("/etc", root.join("link")).unwrap();
        symlink("/etc", root.join("sub/out")).unwrap();
        let readable = [Path::new("/spill")];
        let may = |cwd: &str, text: &str| {
            let place = Place::new(&root, &readable, &root.join(cwd));
            let word = split(&format!("x {text}")).unwrap()[0].words[1].clone();
            (place.may_read(&word), place.may_change(&word))
        };
        for (cwd, text, read, change) in [
            ("", "a", true, true),
            ("", "../a", false, false),
            ("sub", "../a", true, true),
            ("", "link/hostname", false, false),
            ("", "sub/../link/x", false, false),
            // The disk goes from /etc to its parent, whatever the text looks like.
            ("", "link/../a", false, false),
            ("", "/spill/1", true, false),
            ("", "/dev/null", true, true),
            ("", "/tmp/mycode-x", false, true),
            ("", "/tmp", false, false),
            ("", "'/tmp/*'", false, false),
            ("", "/tmp/../etc/x", false, false),
            ("", "~/x", false, false),
            ("", "HEAD~1", true, true),
            ("", "main..topic", true, true),
            ("", "-f/etc/x", false, false),
            ("", "-f../x", false, false),
            ("", "-flink/x", false, false),
            ("", "--file=/etc/x", false, false),
            ("", "--file=sub/x", true, true),
            ("", "of=/etc/x", false, false),
            ("", "sub/*.rs", true, true),
            ("", "sub/*", false, false),
            ("", "l*/hostname", false, false),
            ("", ".*", false, false),
            ("", ".git/hooks/x", true, false),
        ] {
            assert_eq!(may(cwd, text), (read, change), "{cwd} {text}");
        }
        let mut place = Place::new(&root, &[], &root.join("sub/deep"));
        assert!(place.enter("../.."));
        assert!(!place.may_change(&Word { text: "../x".to_owned(), glob_at: None }));
        assert!(!place.enter("link"));
    }
}
