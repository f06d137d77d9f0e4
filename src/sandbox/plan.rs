//! From a workspace and what a command may do to the whole plan for the helper. Looks at the disk, changes nothing there.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::build_caches;
use super::git_folders;
use super::spec::{Layers, RawPath, SandboxLevel, SandboxSpec};
use crate::sandbox::protected_paths;
use crate::sandbox::secret_paths;

/// Where the system keeps sockets, and files of other programs.
const BLANK: &[&str] = &["/run", "/var/run"];
/// Where everybody writes.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp"];
/// In those: what programs need to work.
const KEPT: &[&str] = &[
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/wrappers",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/connman/resolv.conf",
];
/// Ways to talk to programs outside.
const REMOVED: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "WAYLAND_DISPLAY",
    "DISPLAY",
    "XAUTHORITY",
    "GNOME_KEYRING_CONTROL",
    "TMUX",
    "STY",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
    "WSL_INTEROP",
    "XDG_RUNTIME_DIR",
    "HISTFILE",
];

/// What programs are told that cannot work behind these walls: the leak check traces its own process, which nothing may.
const TOLD: &[(&str, &str)] = &[("LSAN_OPTIONS", "detect_leaks=0")];
/// Without a network: what would wait and try again for a minute gives up at once.
const TOLD_OFFLINE: &[(&str, &str)] = &[
    ("npm_config_fetch_retries", "0"),
    ("PIP_RETRIES", "0"),
    ("CARGO_NET_RETRY", "0"),
    ("UV_HTTP_RETRIES", "0"),
];

/// In a private folder: locked while its session lives.
const LOCK: &str = "lock";
/// Left folders that one session removes at most.
const MAX_SWEPT: usize = 32;

/// What is known of the place in which commands run; made once a session.
#[derive(Clone, Debug)]
pub struct SandboxPaths {
    /// Canonical.
    pub workspace: PathBuf,
    /// Our own folders: configuration, state, keys.
    pub own: Vec<PathBuf>,
    /// In those: what commands may read (spilled outputs).
    pub readable: Vec<PathBuf>,
    /// The `.git` of repositories that lay below the workspace when the session began.
    pub nested: Vec<PathBuf>,
    /// The session's folder for temporary files and caches.
    pub private: PathBuf,
}

/// Makes the plan of one command that starts in `cwd`.
pub fn make(
    place: &SandboxPaths,
    layers: Layers,
    level: SandboxLevel,
    network: bool,
    cwd: &Path,
) -> SandboxSpec {
    let own_home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let homes = secret_paths::homes(own_home.as_deref());
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut hidden = secret_paths::existing(&homes, variable);
    hidden.extend(place.own.iter().filter_map(|folder| folder.canonicalize().ok()));
    hidden.extend(env::var_os("XDG_RUNTIME_DIR").and_then(|path| PathBuf::from(path).canonicalize().ok()));
    // Working in a folder means that it may be seen, wherever it is.
    hidden.retain(|path| *path != place.workspace);
    let blank_files = hidden.iter().filter(|path| !path.is_dir()).map(RawPath::from).collect();
    let folders =
        |names: &[&str]| names.iter().map(PathBuf::from).filter(|path| is_own_folder(path)).collect();
    let mut scratch: Vec<PathBuf> = folders(SCRATCH);
    scratch.extend(env::var_os("TMPDIR").and_then(|path| PathBuf::from(path).canonicalize().ok()));
    scratch.retain(|path| {
        let whole = path.components().count() < 2 || homes.contains(path);
        !whole && !path.starts_with(&place.workspace)
    });
    scratch.sort();
    scratch.dedup();
    let mut blank: Vec<PathBuf> = folders(BLANK);
    blank.retain(|path| *path != place.workspace);
    let mut around: Vec<PathBuf> = Vec::new();
    let (mut writable, mut protected, mut nested, mut rules_in, mut layered) = Default::default();
    let mut environment: Vec<(String, Option<String>)> =
        REMOVED.iter().map(|name| ((*name).to_owned(), None)).collect();
    let told = TOLD.iter().chain(TOLD_OFFLINE.iter().filter(|_| !network)).map(|(name, value)| {
        // The last of several options holds.
        let before = env::var(name).ok().filter(|before| !before.is_empty() && name.ends_with("_OPTIONS"));
        let value = before.map_or_else(|| (*value).to_owned(), |before| format!("{before}:{value}"));
        ((*name).to_owned(), Some(value))
    });
    environment.extend(told);
    // Without a tree of its own a command finds its private folder only by name.
    let temporary = if layers.namespaces { PathBuf::from("/tmp") } else { place.private.join("tmp") };
    for name in ["TMPDIR", "TMP", "TEMP"] {
        environment.push((name.to_owned(), Some(temporary.to_string_lossy().into_owned())));
    }
    if level == SandboxLevel::Workspace {
        let git = git_folders::find(&place.workspace);
        let (folders, sent_away) = build_caches::find(own_home.as_deref(), variable, &temporary);
        // In the workspace they are its files.
        layered = raw(folders
            .into_iter()
            .filter(|folder| !folder.starts_with(&place.workspace) && !place.workspace.starts_with(folder)));
        environment.extend(sent_away);
        if !layers.namespaces {
            let cache = temporary.join(".cache").to_string_lossy().into_owned();
            environment.push(("XDG_CACHE_HOME".to_owned(), Some(cache)));
        }
        let paths = protected_paths::paths(&place.workspace, &homes).into_iter().chain(git.protected);
        let own = place.own.iter().filter_map(|folder| folder.canonicalize().ok());
        protected = raw(paths.chain(own.filter(|folder| folder.starts_with(&place.workspace))));
        around = git.outside.iter().filter_map(|folder| Some(folder.parent()?.to_owned())).collect();
        writable = raw(std::iter::once(place.workspace.clone()).chain(git.outside));
        nested = raw(place.nested.iter().cloned());
        rules_in = vec![RawPath(place.workspace.clone())];
    }
    // The repository around a workspace is read, as it would be elsewhere.
    let kept = needed(&homes).into_iter().chain(around).chain(std::iter::once(place.workspace.clone()));
    let kept = kept.chain(place.readable.iter().filter_map(|path| path.canonicalize().ok()));
    blank.extend(hidden.into_iter().filter(|path| path.is_dir()));
    blank.sort();
    blank.dedup();
    blank.retain(|path| !scratch.contains(path));
    let lies_in_blank = |path: &PathBuf| {
        let mut emptied = blank.iter().chain(&scratch);
        emptied.any(|folder| path.starts_with(folder) && path != folder)
    };
    let kept: std::collections::BTreeSet<PathBuf> = kept.filter(lies_in_blank).collect();
    SandboxSpec {
        level,
        network,
        layers,
        cwd: cwd.into(),
        workspace: place.workspace.clone().into(),
        private: place.private.clone().into(),
        foreign_files: foreign(&place.workspace),
        writable,
        blank_files,
        kept: raw(kept.into_iter()),
        blank: raw(blank.into_iter()),
        scratch: raw(scratch.into_iter()),
        caches: layered,
        protected,
        nested,
        rules_in,
        environment,
        direct: false,
    }
}

fn raw(paths: impl Iterator<Item = PathBuf>) -> Vec<RawPath> {
    paths.map(RawPath).collect()
}

/// Whether the path is a folder itself; a link to one is hidden with its target.
fn is_own_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// What must be seen although it may lie in an emptied folder: homes, tools, and the system's small files.
fn needed(homes: &[PathBuf]) -> Vec<PathBuf> {
    let search: Vec<PathBuf> = env::var_os("PATH")
        .map(|path: OsString| env::split_paths(&path).filter(|folder| folder.is_absolute()).collect())
        .unwrap_or_default();
    let tools = [
        "CARGO_HOME",
        "RUSTUP_HOME",
        "GOROOT",
        "GOPATH",
        "JAVA_HOME",
        "NVM_DIR",
        "PYENV_ROOT",
        "VIRTUAL_ENV",
    ];
    let tools = tools.iter().filter_map(env::var_os).map(PathBuf::from).filter(|path| path.is_absolute());
    let paths = homes.iter().cloned().chain(search).chain(tools).chain(KEPT.iter().map(PathBuf::from));
    paths.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Whether root works in somebody else's folder.
fn foreign(workspace: &Path) -> bool {
    let root = rustix::process::geteuid().is_root();
    root && std::fs::metadata(workspace).is_ok_and(|meta| meta.uid() != 0)
}

/// A session's private folder and the lock that says that somebody uses it.
#[derive(Debug)]
pub struct Private {
    pub folder: PathBuf,
    lock: File,
}

impl Private {
    /// The lock goes on with the program that this process becomes.
    ///
    /// # Errors
    /// When the descriptor cannot be changed.
    pub fn hand_on(self) -> std::io::Result<()> {
        rustix::io::fcntl_setfd(&self.lock, rustix::io::FdFlags::empty())?;
        std::mem::forget(self.lock);
        Ok(())
    }
}

/// Removes what sessions left that were killed: folders of this user whose lock is free.
fn sweep(base: &Path) {
    let own = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("mycode-")
            && std::fs::symlink_metadata(entry.path()).is_ok_and(|meta| meta.is_dir() && meta.uid() == own)
    });
    for entry in ours.take(MAX_SWEPT) {
        // Without a lock file it is another's, or only just being made.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            remove_private(&entry.path());
        }
    }
}

/// Makes the session's private folder, which only this user can enter.
///
/// # Errors
/// When the folder for temporary files cannot be written.
pub fn private_folder() -> std::io::Result<Private> {
    use std::os::unix::fs::DirBuilderExt;
    let base = env::temp_dir().canonicalize()?;
    sweep(&base);
    for _ in 0..16 {
        let name = format!("mycode-{}-{:08x}", std::process::id(), fastrand::u32(..));
        let folder = base.join(name);
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {
                for part in ["tmp", "cache"] {
                    std::fs::DirBuilder::new().mode(0o700).create(folder.join(part))?;
                }
                // Found by others only once it is held.
                let unready = folder.join("unready");
                let lock = File::create_new(&unready)?;
                lock.lock()?;
                std::fs::rename(&unready, folder.join(LOCK))?;
                return Ok(Private { folder, lock });
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("no free name for a temporary folder"))
}

/// Removes a private folder, but not what was moved out of a workspace.
pub fn remove_private(folder: &Path) {
    for part in ["tmp", "cache"] {
        remove(&folder.join(part));
    }
    let _ = std::fs::remove_file(folder.join(LOCK));
    let _ = std::fs::remove_dir(folder);
}

/// Also what its maker has made unreadable: layered folders have parts without any mode.
fn remove(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_ok() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    for entry in
        walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_dir())
    {
        let _ = std::fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(0o700));
    }
    let _ = std::fs::remove_dir_all(folder);
}
