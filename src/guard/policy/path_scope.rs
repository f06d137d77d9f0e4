//! What a word in a command can refer to on disk, following links, and what reading or changing that means.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::sandbox::private_folder;
use crate::sandbox::protected_paths;
use crate::sandbox::secret_paths;
use crate::shell::interpret::call::Arg;
use crate::shell::interpret::wrappers::{BELOW, BELOW_OR_LINK};
use base::file;
use base::path;
use base::pattern::Pattern;
use base::repository;

/// Patterns with more matches aren't resolved.
const MAX_MATCHES: usize = 5_000;
/// In a larger tree, not all links are followed.
const MAX_WALKED: usize = 20_000;
const MAX_OPTION_BYTES: usize = 256;
const TEMPORARY: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"];
const MAX_MANIFEST_BYTES: u64 = 256 * 1024;

/// Folders without which the machine doesn't work.
const SYSTEM: &str = "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /usr/bin /usr/lib \
    /usr/local /var /Users /System /Library /Applications";

#[derive(Clone, Debug)]
pub struct PathScope {
    pub workspace: PathBuf,
    /// Other folders (canonical) whose files may be changed like the workspace's.
    added: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    own: Vec<PathBuf>,
    /// Resolving hundreds of names takes a millisecond, so it is done on first use.
    secrets: OnceLock<Vec<PathBuf>>,
    /// The repository around the workspace, and packages to which its manifests refer by path.
    around: Vec<PathBuf>,
    homes: Vec<PathBuf>,
    /// The `/tmp` of confined commands.
    temporary: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadRisk {
    Free,
    /// Outside the project and the system.
    Elsewhere(PathBuf),
    Secret(String),
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteRisk {
    Inside,
    Nothing,
    /// The workspace folder itself, or a file in it that controls other programs.
    Guarded(String),
    Outside(String),
    Everything(String),
    Unknown,
}

impl PathScope {
    /// `own` are our folders: in them, commands may see only what is `readable`.
    pub fn new(workspace: &Path, readable: &[&Path], own: &[&Path]) -> Self {
        Self::at_home(workspace, readable, own, std::env::home_dir().filter(|home| home.is_absolute()))
    }

    pub fn at_home(workspace: &Path, readable: &[&Path], own: &[&Path], home: Option<PathBuf>) -> Self {
        let homes = secret_paths::homes(home.as_deref()).into_iter().chain(home.clone());
        let mut around = path_dependencies(workspace);
        around.extend(repository::root(workspace).map(path::follow));
        Self {
            workspace: path::follow(workspace),
            around,
            temporary: own.last().map(|state| path::follow(&state.join(private_folder::IN_STATE))),
            homes: homes.map(|home| path::follow(&home)).collect(),
            added: Vec::new(),
            readable: readable.iter().map(|folder| folder.to_path_buf()).collect(),
            own: own.iter().map(|folder| folder.to_path_buf()).collect(),
            secrets: OnceLock::new(),
            home: home.map(|home| path::follow(&home)),
        }
    }

    #[must_use]
    pub fn with(self, added: &[PathBuf]) -> Self {
        Self { added: added.to_vec(), ..self }
    }

    fn secrets(&self) -> &[PathBuf] {
        self.secrets.get_or_init(|| {
            let mut no_links = HashSet::new();
            let places = secret_paths::places(self.home.as_deref(), &self.own);
            places.iter().map(|place| path::follow_past(place, &mut no_links)).collect()
        })
    }

    pub fn inside<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let mut folders = std::iter::once(&self.workspace).chain(&self.added);
        folders.find_map(|folder| path.strip_prefix(folder).ok())
    }

    pub fn is_temporary(&self, path: &Path) -> bool {
        self.temporary.as_ref().is_some_and(|folder| path.starts_with(folder))
    }

    /// In a home folder, only the project and tool chains are free. Secrets are checked separately.
    pub fn reads_freely(&self, path: &Path) -> bool {
        let in_home = self.homes.iter().find_map(|home| path.strip_prefix(home).ok());
        self.is_ours(path) || in_home.is_none_or(secret_paths::is_shown_in_home)
    }

    /// The same for a tool. Commands have their own `/tmp`, so for tools the shared folders for temporary files aren't free.
    pub fn tool_reads_freely(&self, path: &Path) -> bool {
        let is_shared = || TEMPORARY.iter().any(|folder| path.starts_with(path::follow(Path::new(folder))));
        self.is_ours(path) || self.reads_freely(path) && !is_shared()
    }

    fn is_ours(&self, path: &Path) -> bool {
        let mut around = self.around.iter().chain(&self.readable);
        self.inside(path).is_some() || around.any(|folder| path.starts_with(folder))
    }

    /// `deep`: it also reads everything below.
    pub fn reading(&self, arg: &Arg, folders: &[PathBuf], deep: bool) -> ReadRisk {
        // Placeholders for any file below a folder.
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
        let mut elsewhere = None;
        for text in texts {
            match self.resolved(text, arg.glob_at.is_some() && text == arg.text, folders) {
                None => return ReadRisk::Unknown,
                Some(paths) => {
                    if let Some(secret) = paths.iter().find(|path| self.is_secret(path, deep)) {
                        return ReadRisk::Secret(secret.display().to_string());
                    }
                    let is_there = |path: &PathBuf| !self.reads_freely(path) && path.exists();
                    elsewhere = elsewhere.or_else(|| paths.into_iter().find(is_there));
                }
            }
        }
        elsewhere.map_or(ReadRisk::Free, ReadRisk::Elsewhere)
    }

    /// Like a deep [`Self::reading`], for a program that follows links.
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

    /// A secret path that the pattern would match, if it existed.
    fn secret_by_pattern(&self, pattern: &str, folders: &[PathBuf]) -> Option<String> {
        let fits = |pattern: &Path, secret: &Path| {
            let mut wanted = pattern.components();
            secret.components().all(|part| {
                let Some(own) = wanted.next() else { return false };
                let (own, part) = (own.as_os_str().to_string_lossy(), part.as_os_str().to_string_lossy());
                match (own.find(['*', '?', '[']), own.rfind(['*', '?', ']'])) {
                    (Some(first), Some(last)) => {
                        // Patterns match hidden names only if they begin with a dot.
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
            .find(|pattern| self.secrets().iter().any(|secret| fits(pattern, secret)))
            .map(|pattern| pattern.display().to_string())
    }

    /// `path` is canonical. With `deep`, also whether it contains a secret.
    pub fn is_secret(&self, path: &Path, deep: bool) -> bool {
        if self.readable.iter().any(|folder| path.starts_with(folder)) {
            return false;
        }
        // A workspace inside a secret place is still the workspace.
        let inside = |secret: &PathBuf| {
            path.starts_with(secret)
                && !(self.workspace.starts_with(secret) && path.starts_with(&self.workspace))
        };
        secret_paths::is_process_inside(path)
            || secret_paths::is_disk(path)
            // The project's programs need its secrets; output is redacted.
            || (!path.starts_with(&self.workspace) && secret_paths::is_named_secret(path))
            || self.secrets().iter().any(inside)
            || (deep
                && !path.starts_with("/proc")
                && self.secrets().iter().any(|secret| secret.starts_with(path) && secret.exists()))
    }

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
            // Only the part after the known prefix is unknown, but `..` may lead anywhere.
            let known = &text[..at];
            return match known.rfind('/') {
                Some(slash) if known.starts_with('/') => {
                    let front = path::follow(Path::new(&known[..=slash]));
                    if slash == 0 || !(self.inside(&front).is_some() || self.is_scratch(&front)) {
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
            match self.inside(&path) {
                None => return WriteRisk::Outside(text.to_owned()),
                Some(rest)
                    if rest.as_os_str().is_empty()
                        || protected_paths::steers(rest)
                        || self.steers_logins(&path) =>
                {
                    return WriteRisk::Guarded(text.to_owned());
                }
                Some(_) => {}
            }
        }
        WriteRisk::Inside
    }

    fn steers_logins(&self, path: &Path) -> bool {
        let home = self.home.as_deref().filter(|home| home.starts_with(&self.workspace));
        home.and_then(|home| path.strip_prefix(home).ok()).is_some_and(protected_paths::steers_logins)
    }

    /// Whether it is in a folder for temporary files. If the workspace is in one, its neighbors don't count.
    pub fn is_scratch(&self, path: &Path) -> bool {
        TEMPORARY.iter().any(|folder| {
            let folder = path::follow(Path::new(folder));
            let first = |path: &Path| {
                path.strip_prefix(&folder)
                    .ok()
                    .and_then(|rest| rest.components().next().map(|part| part.as_os_str().to_owned()))
            };
            first(path).is_some_and(|name| first(&self.workspace) != Some(name))
        })
    }

    /// Names that mean the entire machine or all of a user's files.
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

    /// The canonical paths that the word may refer to; `None` if unknown.
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

    pub fn is_inside(&self, arg: &Arg, folders: &[PathBuf]) -> bool {
        arg.open_at.is_none()
            && self
                .resolved(&arg.text, arg.glob_at.is_some(), folders)
                .is_some_and(|paths| paths.iter().all(|path| path.starts_with(&self.workspace)))
    }

    /// A pattern may expand to a file name that looks like an option.
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

/// Such as `path = "../shared"`. Only folders with a manifest count, because the files may come from anyone.
fn path_dependencies(workspace: &Path) -> Vec<PathBuf> {
    static NAMED: Pattern = Pattern::new(r#"["' =:](\.\./[^\s"',;]+)"#);
    const MANIFESTS: [&str; 4] = ["Cargo.toml", "package.json", "pyproject.toml", "go.mod"];
    let mut found = Vec::new();
    for manifest in MANIFESTS {
        let Some(text) = file::small_text(&workspace.join(manifest), MAX_MANIFEST_BYTES) else { continue };
        let folders = NAMED.captures_iter(&text).map(|named| path::follow(&workspace.join(&named[1])));
        let is_package = |folder: &PathBuf| folder.join(manifest).is_file() && !workspace.starts_with(folder);
        found.extend(folders.filter(is_package));
    }
    found
}

fn is_stream(text: &str) -> bool {
    matches!(text, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "-")
        || text.strip_prefix("/dev/fd/").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// All of it, the value after `=`, and what follows a one-letter option. `None` if it is too long.
fn paths_in(arg: &str) -> Option<Vec<&str>> {
    let mut paths = vec![arg];
    // In a URL or a sentence, `=` doesn't separate a name from a path.
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

/// What the pattern can match, following links; in doubt too much. `None` if there are too many matches.
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
            // In older shells, `.*` also matches the parent folder.
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
