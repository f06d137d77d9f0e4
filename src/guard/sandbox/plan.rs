//! Makes a specification from a workspace and a command's rights. Creates only the build cache folders.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use super::git_folders;
use super::places;
use super::protected_paths;
use super::secret_paths;
use super::spec::{Layers, RawPath, SandboxLevel, SandboxSpec};
use base::file;
use base::repository;
use base::system::os;

const HIDDEN: &[&str] = &["/run", "/var/run"];
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];
/// The leak checker traces its own process, which the sandbox forbids.
const SET: &[(&str, &str)] = &[("LSAN_OPTIONS", "detect_leaks=0")];
/// Without a network, fail at once instead of retrying for a minute.
const SET_OFFLINE: &[(&str, &str)] = &[
    ("npm_config_fetch_retries", "0"),
    ("PIP_RETRIES", "0"),
    ("CARGO_NET_RETRY", "0"),
    ("UV_HTTP_RETRIES", "0"),
];

#[derive(Clone, Debug)]
pub struct SandboxPaths {
    pub workspace: PathBuf,
    pub added: Vec<PathBuf>,
    /// The state folder comes last.
    pub own_folders: Vec<PathBuf>,
    /// The parts of our folders that commands may read (spilled outputs).
    pub readable: Vec<PathBuf>,
}

impl SandboxPaths {
    /// What commands may change, the workspace first. No folder above a home, because its programs could be replaced.
    pub fn trees(&self) -> Vec<PathBuf> {
        let homes = secret_paths::homes(std::env::home_dir().as_deref());
        let narrow = |folder: &&PathBuf| !homes.iter().any(|home| home.starts_with(folder));
        std::iter::once(&self.workspace).chain(self.added.iter().filter(narrow)).cloned().collect()
    }

    /// Folder for what is moved away from protected paths.
    pub fn kept(&self) -> Option<PathBuf> {
        self.own_folders.last().map(|state| state.join("set-aside"))
    }

    pub fn build_caches(&self) -> Option<PathBuf> {
        // In the workspace, a command could redirect it.
        let state = self.own_folders.last().filter(|state| !state.starts_with(&self.workspace))?;
        let project = file::hash(self.workspace.as_os_str().as_encoded_bytes());
        Some(state.join("build-caches").join(project))
    }
}

/// `private` is the session's private folder.
pub fn make(
    paths: &SandboxPaths,
    private: &Path,
    layers: Layers,
    level: SandboxLevel,
    network: bool,
    cwd: &Path,
) -> SandboxSpec {
    let workspace = &paths.workspace;
    let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let homes = secret_paths::homes(home.as_deref());
    let own_folders: Vec<PathBuf> =
        paths.own_folders.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let secrets = secret_paths::existing(&homes, variable)
        .into_iter()
        .chain(secret_paths::closed(&homes, workspace))
        .chain(own_folders.iter().cloned());
    // The working folder must stay visible, wherever it is.
    let hidden = secrets.chain(canonical("XDG_RUNTIME_DIR")).filter(|path| path != workspace);
    let (secret_folders, hidden_files): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
        hidden.partition(|path| path.is_dir());
    let temporary: BTreeSet<PathBuf> = existing(TEMPORARY)
        .chain(canonical("TMPDIR"))
        .filter(|path| path.components().count() > 1 && !homes.contains(path) && !path.starts_with(workspace))
        .collect();
    let system_folders = existing(HIDDEN).filter(|path| path != workspace);
    let hidden_folders: BTreeSet<PathBuf> =
        system_folders.chain(secret_folders).filter(|path| !temporary.contains(path)).collect();
    // Without its own file tree, a command can't have the private folder as `/tmp`.
    let tmp = if layers.namespaces { PathBuf::from("/tmp") } else { private.join("tmp") };
    let mut spec = SandboxSpec {
        level,
        network,
        layers,
        cwd: cwd.into(),
        workspace: workspace.into(),
        private: private.into(),
        kept: paths.kept().map(RawPath),
        foreign_owner: foreign(workspace),
        hidden_folders: raw(hidden_folders.iter().cloned()),
        hidden_files: raw(hidden_files),
        temporary: raw(temporary.iter().cloned()),
        environment: environment(network, &tmp),
        ..SandboxSpec::default()
    };
    let mut visible: BTreeSet<PathBuf> = needed(&homes).into_iter().chain([workspace.clone()]).collect();
    visible.extend(repository::root(workspace).map(Path::to_owned));
    visible.extend(paths.added.iter().cloned());
    visible.extend(paths.readable.iter().filter_map(|path| path.canonicalize().ok()));
    if level == SandboxLevel::Workspace {
        let (git, trees) = (git_folders::find(workspace), paths.trees());
        let (caches, moved) = shared_caches(home.as_deref(), variable, &tmp);
        spec.environment.extend(moved);
        let (own_caches, moved) =
            paths.build_caches().as_deref().map(|base| caches_of_project(base, variable)).unwrap_or_default();
        spec.environment.extend(moved);
        if !layers.namespaces {
            spec.environment.push(set("XDG_CACHE_HOME", &tmp.join(".cache").to_string_lossy()));
        }
        // Caches inside the workspace need no copy.
        let apart = |folder: &PathBuf| !folder.starts_with(workspace) && !workspace.starts_with(folder);
        spec.caches = raw(caches.into_iter().filter(apart));
        let own = own_folders.into_iter().filter(|folder| folder.starts_with(workspace));
        let in_trees = trees.iter().flat_map(|tree| {
            protected_paths::paths(tree, &homes).into_iter().chain(git_folders::find(tree).protected)
        });
        spec.protected = raw(in_trees.chain(own));
        // The repository around a workspace stays readable.
        visible.extend(git.outside.iter().filter_map(|folder| Some(folder.parent()?.to_owned())));
        spec.writable = raw(trees.iter().cloned().chain(git.outside).chain(own_caches));
        spec.rules_folders = raw(trees);
    }
    visible.retain(|path| {
        hidden_folders.iter().chain(&temporary).any(|folder| path.starts_with(folder) && path != folder)
    });
    spec.visible = raw(visible);
    spec
}

fn environment(network: bool, tmp: &Path) -> Vec<(String, Option<String>)> {
    let removed = places::list("removed variables").map(|name| (name.to_owned(), None));
    let fixed = SET.iter().chain(SET_OFFLINE.iter().filter(|_| !network)).map(|(name, value)| {
        // Append, because the last of several options wins.
        match env::var(name).ok().filter(|before| !before.is_empty() && name.ends_with("_OPTIONS")) {
            Some(before) => set(name, &format!("{before}:{value}")),
            None => set(name, value),
        }
    });
    let temporary = ["TMPDIR", "TMP", "TEMP"].map(|name| set(name, &tmp.to_string_lossy()));
    removed.chain(fixed).chain(temporary).collect()
}

fn set(name: &str, value: &str) -> (String, Option<String>) {
    (name.to_owned(), Some(value.to_owned()))
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn canonical(name: &str) -> Option<PathBuf> {
    variable(name)?.canonicalize().ok()
}

fn raw(paths: impl IntoIterator<Item = PathBuf>) -> Vec<RawPath> {
    paths.into_iter().map(RawPath).collect()
}

/// Real folders only; a link is hidden together with its target.
fn existing(names: &[&str]) -> impl Iterator<Item = PathBuf> {
    let is_folder = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    names.iter().map(PathBuf::from).filter(is_folder)
}

/// What must stay visible even in a hidden folder: homes, tools, and the system's small files.
fn needed(homes: &[PathBuf]) -> Vec<PathBuf> {
    let search = env::var_os("PATH").unwrap_or_default();
    let tools = ["variables that name tools", "variables that name caches"]
        .into_iter()
        .flat_map(places::list)
        .filter_map(variable);
    let named = env::split_paths(&search).chain(tools).filter(|path| path.is_absolute());
    let paths = homes.iter().cloned().chain(named).chain(places::list("visible").map(PathBuf::from));
    paths.filter_map(|path| path.canonicalize().ok()).collect()
}

fn foreign(workspace: &Path) -> bool {
    os::user() == 0 && std::fs::metadata(workspace).is_ok_and(|meta| os::facts(&meta).owner.0 != 0)
}

/// Slow to rebuild, so each project has its own for confined commands.
const PER_PROJECT: &[&str] = &["GOCACHE"];

/// Creates the folders in `base`, unless the user has configured others; also returns the variables that name them.
pub fn caches_of_project(
    base: &Path,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> (Vec<PathBuf>, Vec<(String, Option<String>)>) {
    let mut folders = Vec::new();
    let mut environment = Vec::new();
    for name in PER_PROJECT.iter().filter(|name| variable(name).is_none()) {
        let folder = base.join(name);
        // Without it, builds are just slower.
        if file::create_private_folder(&folder).is_err() {
            continue;
        }
        if let Ok(folder) = folder.canonicalize() {
            environment.push(((*name).to_owned(), Some(folder.to_string_lossy().into_owned())));
            folders.push(folder);
        }
    }
    (folders, environment)
}

/// The existing caches, and the variables that point tools to `temporary` for the others.
pub fn shared_caches(
    home: Option<&Path>,
    variable: impl Fn(&str) -> Option<PathBuf>,
    temporary: &Path,
) -> (Vec<PathBuf>, Vec<(String, Option<String>)>) {
    let mut folders = Vec::new();
    let mut environment = Vec::new();
    for entry in places::list("caches in a home") {
        let (place, moved_by) =
            entry.split_once(' ').map_or((entry, None), |(place, name)| (place, Some(name)));
        let named = moved_by.and_then(&variable);
        let Some(folder) = named.or_else(|| Some(home?.join(place))) else { continue };
        match folder.canonicalize() {
            Ok(folder) if folder.is_dir() => folders.push(folder),
            _ => {
                if let Some(name) = moved_by {
                    let folder = temporary.join(place.replace('/', "-"));
                    environment.push((name.to_owned(), Some(folder.to_string_lossy().into_owned())));
                }
            }
        }
    }
    let named = places::list("variables that name caches").filter_map(variable);
    folders.extend(named.filter_map(|folder| folder.canonicalize().ok()).filter(|folder| folder.is_dir()));
    folders.sort();
    folders.dedup();
    let all = folders.clone();
    folders.retain(|folder| !all.iter().any(|other| other != folder && folder.starts_with(other)));
    folders.retain(|folder| folder.components().count() > 2);
    (folders, environment)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod cache_tests {
    use super::*;

    #[test]
    fn existing_and_missing_caches() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".cache/go-build")).unwrap();
        let build = home.join(".cache/go-build");
        let (folders, environment) =
            shared_caches(Some(&home), |name| (name == "GOCACHE").then(|| build.clone()), Path::new("/tmp"));
        assert_eq!(folders, [home.join(".cache")]);
        let cargo = ("CARGO_HOME".to_owned(), Some("/tmp/.cargo".to_owned()));
        assert!(
            environment.contains(&cargo) && !environment.iter().any(|(name, _)| name == "XDG_CACHE_HOME")
        );
    }
}
