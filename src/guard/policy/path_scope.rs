//! Where a command works, and whether a word of it can name something that it must not touch. Links are followed on
//! the disk, as the program will follow them.

use std::path::{Path, PathBuf};

use crate::sandbox::protected_paths;
use crate::sandbox::secret_paths;
use crate::shell::interpret::call::Arg;
use crate::shell::interpret::wrappers::{BELOW, BELOW_OR_LINK};
use base::path;

/// Patterns that match more than this are not looked through.
const MAX_MATCHES: usize = 5_000;
/// Of a larger tree, not every link is followed.
const MAX_WALKED: usize = 20_000;
/// Of an argument longer than this, not every part is looked at.
const MAX_OPTION_BYTES: usize = 256;

/// Folders that hold the whole machine or parts that all of it needs.
const SYSTEM: &str = "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /usr/bin /usr/lib \
    /usr/local /var /Users /System /Library /Applications";

/// The workspace, what else may be read by the tools, and what is secret.
#[derive(Clone, Debug)]
pub struct PathScope {
    pub workspace: PathBuf,
    readable: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
    pub home: Option<PathBuf>,
}

/// What reading a word means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadRisk {
    Free,
    Secret(String),
    Unknown,
}

/// What changing a word means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteRisk {
    /// Below the workspace.
    Inside,
    /// A device that keeps nothing.
    Nothing,
    /// The workspace as a whole, or what steers other programs in it.
    Guarded(String),
    Outside(String),
    /// Everything of the machine or of the user.
    Everything(String),
    Unknown,
}

impl PathScope {
    /// `own` are the program's folders; nothing in them is for a command's eyes but what is `readable`.
    pub fn new(workspace: &Path, readable: &[&Path], own: &[&Path]) -> Self {
        Self::at_home(workspace, readable, own, std::env::home_dir().filter(|home| home.is_absolute()))
    }

    pub fn at_home(workspace: &Path, readable: &[&Path], own: &[&Path], home: Option<PathBuf>) -> Self {
        let secrets =
            secret_paths::places(home.as_deref(), own).iter().map(|place| path::follow(place)).collect();
        Self {
            workspace: path::follow(workspace),
            readable: readable.iter().map(|folder| folder.to_path_buf()).collect(),
            secrets,
            home: home.map(|home| path::follow(&home)),
        }
    }

    /// What reading the word means. `deep`: everything below it is read as well.
    pub fn reading(&self, arg: &Arg, folders: &[PathBuf], deep: bool) -> ReadRisk {
        // The name of any file below a folder.
        let root_of = |end| arg.certain().and_then(|text| text.strip_suffix(end));
        let whole = |root: &str| Arg::known(if root.is_empty() { "/" } else { root });
        if let Some(root) = root_of(BELOW_OR_LINK) {
            return self.reading_through_links(&whole(root), folders);
        }
        if let Some(root) = root_of(BELOW) {
            return self.reading(&whole(root), folders, true);
        }
        if arg.open_at.is_some() {
            let process = arg.text.starts_with("/proc/");
            return if process { ReadRisk::Secret(arg.text.clone()) } else { ReadRisk::Unknown };
        }
        if is_stream(&arg.text) {
            return ReadRisk::Free;
        }
        if arg.glob_at.is_some()
            && let Some(secret) = self.secret_by_pattern(&arg.text, folders)
        {
            return ReadRisk::Secret(secret);
        }
        let Some(texts) = paths_in(&arg.text) else { return ReadRisk::Unknown };
        for text in texts {
            match self.resolved(text, arg.glob_at.is_some() && text == arg.text, folders) {
                None => return ReadRisk::Unknown,
                Some(paths) => {
                    if let Some(secret) = paths.iter().find(|path| self.is_secret(path, deep)) {
                        return ReadRisk::Secret(secret.display().to_string());
                    }
                }
            }
        }
        ReadRisk::Free
    }

    /// What reading everything below the word means for a program that goes where links lead.
    pub fn reading_through_links(&self, arg: &Arg, folders: &[PathBuf]) -> ReadRisk {
        let found = self.reading(arg, folders, true);
        if found != ReadRisk::Free || arg.certain().is_none() {
            return found;
        }
        let roots = self.resolved(&arg.text, false, folders).unwrap_or_default();
        let secret = roots.iter().find_map(|root| {
            let entries = walkdir::WalkDir::new(root).into_iter();
            let entries = entries.filter_entry(|entry| entry.file_name() != ".git").take(MAX_WALKED);
            let mut links = entries.flatten().filter(|entry| entry.path_is_symlink());
            links.find(|link| self.is_secret(&path::follow(link.path()), true))
        });
        secret.map_or(ReadRisk::Free, |link| ReadRisk::Secret(link.path().display().to_string()))
    }

    /// A secret place that the pattern would match if it were there.
    fn secret_by_pattern(&self, pattern: &str, folders: &[PathBuf]) -> Option<String> {
        let fits = |pattern: &Path, secret: &Path| {
            let mut wanted = pattern.components();
            secret.components().all(|part| {
                let Some(own) = wanted.next() else { return false };
                let (own, part) = (own.as_os_str().to_string_lossy(), part.as_os_str().to_string_lossy());
                match (own.find(['*', '?', '[']), own.rfind(['*', '?', ']'])) {
                    (Some(first), Some(last)) => {
                        // A pattern matches hidden names only where it says so.
                        (!part.starts_with('.') || own.starts_with('.'))
                            && part.starts_with(&own[..first])
                            && part.ends_with(&own[last + 1..])
                    }
                    _ => own == part,
                }
            })
        };
        let starts = if pattern.starts_with('/') { &[][..] } else { folders };
        let whole =
            std::iter::once(PathBuf::from(pattern)).chain(starts.iter().map(|folder| folder.join(pattern)));
        whole
            .filter(|pattern| pattern.is_absolute())
            .find(|pattern| self.secrets.iter().any(|secret| fits(pattern, secret)))
            .map(|pattern| pattern.display().to_string())
    }

    /// Whether a canonical path is secret, or with `deep`, holds something that is.
    pub fn is_secret(&self, path: &Path, deep: bool) -> bool {
        if self.readable.iter().any(|folder| path.starts_with(folder)) {
            return false;
        }
        // A workspace in a secret place is still the workspace.
        let inside = |secret: &PathBuf| {
            path.starts_with(secret)
                && !(self.workspace.starts_with(secret) && path.starts_with(&self.workspace))
        };
        secret_paths::is_process_inside(path)
            || secret_paths::is_disk(path)
            // The project's own are what its programs run with; what is shown of them is redacted.
            || (!path.starts_with(&self.workspace) && secret_paths::is_named_secret(path))
            || self.secrets.iter().any(inside)
            || (deep
                && !path.starts_with("/proc")
                && self.secrets.iter().any(|secret| secret.starts_with(path) && secret.exists()))
    }

    /// What changing the file named by the word means.
    pub fn changing(&self, arg: &Arg, folders: &[PathBuf]) -> WriteRisk {
        let mut worst = WriteRisk::Nothing;
        let Some(texts) = paths_in(&arg.text) else { return WriteRisk::Unknown };
        for text in texts {
            let one = self.changing_text(text, arg, folders);
            match (&one, &worst) {
                (WriteRisk::Everything(_), _) => return one,
                (WriteRisk::Nothing, _) => {}
                (WriteRisk::Inside, WriteRisk::Nothing)
                | (
                    WriteRisk::Guarded(_) | WriteRisk::Outside(_),
                    WriteRisk::Nothing | WriteRisk::Inside | WriteRisk::Unknown,
                )
                | (WriteRisk::Unknown, WriteRisk::Nothing | WriteRisk::Inside) => worst = one,
                _ => {}
            }
        }
        worst
    }

    fn changing_text(&self, text: &str, arg: &Arg, folders: &[PathBuf]) -> WriteRisk {
        if is_stream(text) {
            return WriteRisk::Nothing;
        }
        let glob = arg.glob_at.is_some() && text == arg.text;
        let open = arg.open_at.filter(|_| text == arg.text);
        if let Some(at) = open {
            // Only what is beyond the known front is open, but `..` may lead anywhere.
            let known = &text[..at];
            return match known.rfind('/') {
                Some(slash) if known.starts_with('/') => {
                    let front = path::follow(Path::new(&known[..=slash]));
                    if slash == 0 || !(front.starts_with(&self.workspace) || self.is_scratch(&front)) {
                        WriteRisk::Outside(text.to_owned())
                    } else {
                        WriteRisk::Unknown
                    }
                }
                _ => WriteRisk::Unknown,
            };
        }
        if let Some(everything) = self.everything(text, folders) {
            return WriteRisk::Everything(everything);
        }
        let Some(paths) = self.resolved(text, glob, folders) else { return WriteRisk::Unknown };
        for path in paths {
            if self.is_scratch(&path) {
                continue;
            }
            match path.strip_prefix(&self.workspace) {
                Err(_) => return WriteRisk::Outside(text.to_owned()),
                Ok(rest)
                    if rest.as_os_str().is_empty()
                        || protected_paths::steers(rest)
                        || self.steers_logins(&path) =>
                {
                    return WriteRisk::Guarded(text.to_owned());
                }
                Ok(_) => {}
            }
        }
        WriteRisk::Inside
    }

    /// A workspace may hold its owner's home.
    fn steers_logins(&self, path: &Path) -> bool {
        let home = self.home.as_deref().filter(|home| home.starts_with(&self.workspace));
        home.and_then(|home| path.strip_prefix(home).ok()).is_some_and(protected_paths::steers_logins)
    }

    /// Below the folders for temporary files. Where the workspace lies there itself, its neighbors are not.
    fn is_scratch(&self, path: &Path) -> bool {
        ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"].iter().any(|folder| {
            let folder = path::follow(Path::new(folder));
            let first = |path: &Path| {
                path.strip_prefix(&folder)
                    .ok()
                    .and_then(|rest| rest.components().next().map(|part| part.as_os_str().to_owned()))
            };
            first(path).is_some_and(|name| first(&self.workspace) != Some(name))
        })
    }

    /// Names for the whole machine or all of a user's files.
    fn everything(&self, text: &str, folders: &[PathBuf]) -> Option<String> {
        let trimmed = text.trim_end_matches(['*', '.']).trim_end_matches('/');
        let globbed = text.ends_with('*');
        let starts: Vec<PathBuf> = match folders {
            [] if text.starts_with('/') => vec![PathBuf::from("/")],
            folders => folders.to_vec(),
        };
        let whole = starts.iter().any(|folder| {
            let path = match (text.starts_with('/'), globbed) {
                (true, _) => path::follow(Path::new(if trimmed.is_empty() { "/" } else { trimmed })),
                (false, true) => path::follow(&folder.join(trimmed)),
                (false, false) => path::follow(&folder.join(text)),
            };
            let is_system = SYSTEM.split(' ').any(|name| path == Path::new(name));
            let is_home = self.home.as_deref() == Some(path.as_path());
            let holds_us = self.workspace.starts_with(&path) && path != self.workspace;
            let is_ours = path == self.workspace;
            (is_system
                || is_home
                || (holds_us && self.home.as_deref().is_some_and(|home| home.starts_with(&path))))
                && !is_ours
        });
        whole.then(|| text.to_owned())
    }

    /// The canonical paths that the word may name; `None` when that is not known.
    fn resolved(&self, text: &str, glob: bool, folders: &[PathBuf]) -> Option<Vec<PathBuf>> {
        if folders.is_empty() && !text.starts_with('/') {
            return None;
        }
        let start = [PathBuf::from("/")];
        let folders = if text.starts_with('/') { &start[..] } else { folders };
        let mut all = Vec::new();
        for folder in folders {
            if glob {
                all.extend(matches(folder, text)?);
            } else {
                all.push(path::follow(&folder.join(text)));
            }
        }
        Some(all)
    }

    /// Whether the word certainly names something below the workspace.
    pub fn is_inside(&self, arg: &Arg, folders: &[PathBuf]) -> bool {
        arg.open_at.is_none()
            && self
                .resolved(&arg.text, arg.glob_at.is_some(), folders)
                .is_some_and(|paths| paths.iter().all(|path| path.starts_with(&self.workspace)))
    }

    /// Whether a pattern may turn into an option: a file's name can look like one.
    pub fn may_be_option(&self, arg: &Arg, folders: &[PathBuf]) -> bool {
        match arg.glob_at {
            None => false,
            Some(at) if at > 0 && !arg.text.starts_with('-') => false,
            Some(_) if arg.text.starts_with('-') => true,
            Some(_) => {
                folders.is_empty()
                    || folders.iter().any(|folder| {
                        std::fs::read_dir(folder).is_ok_and(|entries| {
                            entries
                                .flatten()
                                .any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"-"))
                        })
                    })
            }
        }
    }
}

/// What stands for an open stream, and devices that keep nothing.
fn is_stream(text: &str) -> bool {
    matches!(text, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "-")
        || text.strip_prefix("/dev/fd/").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Every part of an argument that a program may take for a path: the whole, the value after `=`, and what may be glued
/// to a one-letter option. `None` when it is too long to tell.
fn paths_in(arg: &str) -> Option<Vec<&str>> {
    let mut paths = vec![arg];
    // In an address or a sentence, `=` does not join a name with a path.
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    paths.extend(arg.split_once('=').filter(|(name, _)| is_name(name)).map(|(_, value)| value));
    paths.extend(arg.strip_prefix('@'));
    if arg.starts_with('-') && !arg.starts_with("--") {
        if arg.len() > MAX_OPTION_BYTES {
            return None;
        }
        paths.extend(arg.char_indices().skip(2).map(|(at, _)| &arg[at..]).filter(|rest| rest.contains('/')));
    }
    paths.retain(|path| !path.is_empty());
    Some(paths)
}

/// Everything that the pattern can match, links followed. Matches too much rather than too little; `None` when it is
/// too much to tell.
fn matches(folder: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
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
            return None;
        }
        let mut matched = Vec::new();
        for entry in found.iter().filter_map(|path| std::fs::read_dir(path).ok()).flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(front) && name.ends_with(back) {
                matched.push(entry.path());
            }
            if matched.len() > MAX_MATCHES {
                return None;
            }
        }
        found = matched;
    }
    Some(found.iter().map(|path| path::follow(path)).collect())
}
