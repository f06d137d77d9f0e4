//! One session's sandbox: its folders, and the launch of each command. The private folder is created when
//! first needed and removed with the session.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::git::wrapper;
use super::git_folders::NestedRepositories;
use super::launch;
use super::launch::{READY_FD, SharedNetwork};
use super::macos::seatbelt;
use super::plan::{self, SandboxPaths};
use super::private_folder::{self, PrivateFolder};
use super::probe;
use super::spec::{Confinement, LaunchMode, Masks, RawPath, SandboxLevel, SandboxSpec};
use base::process::run::LaunchWrapper;
use parking_lot::Mutex;

#[derive(Debug)]
pub struct Sandbox {
    paths: SandboxPaths,
    nested: Mutex<Option<Vec<NestedRepositories>>>,
    private: Mutex<Option<PrivateFolder>>,
    masks: Mutex<Masks>,
    network: Mutex<Option<SharedNetwork>>,
}

impl Sandbox {
    /// `workspace` is canonical. Our own folders (the state folder last) are hidden, except for `readable`.
    pub fn new(workspace: PathBuf, own_folders: Vec<PathBuf>, readable: Vec<PathBuf>) -> Self {
        Self {
            paths: SandboxPaths { workspace, added: Vec::new(), own_folders, readable },
            nested: Mutex::new(None),
            private: Mutex::new(None),
            masks: Mutex::default(),
            network: Mutex::new(None),
        }
    }

    #[must_use]
    pub fn with(mut self, added: &[PathBuf]) -> Self {
        self.paths.added = added.to_vec();
        self
    }

    /// Hides, protects and forbids these for all further commands.
    pub fn mask(&self, masks: Masks) {
        *self.masks.lock() = masks;
    }

    /// What to put before a command that starts in `cwd`, if anything. Commands share one loopback.
    pub fn wrap(
        &self,
        confinement: Confinement,
        cwd: &Path,
        side_fd: Option<i32>,
    ) -> io::Result<Option<LaunchWrapper>> {
        if confinement == Confinement::Masked {
            return self.masked(side_fd);
        }
        let Some(mut spec) = self.spec(confinement, cwd)? else { return Ok(None) };
        let mut ready = None;
        if spec.layers.namespaces && !spec.network {
            let mut network = self.network.lock();
            if network.is_none() {
                // Without it, each command has its own loopback.
                *network = SharedNetwork::start(spec.layers.user_namespace).ok();
            }
            if let Some(network) = &*network {
                spec.shared_network = Some(network.keeper());
                ready = Some((READY_FD, network.ready()?));
            }
        }
        let mut wrapper = launcher(spec, side_fd)?;
        wrapper.descriptors.extend(ready);
        Ok(Some(wrapper))
    }

    /// `None` if nothing must be masked, or this machine can't do it.
    fn masked(&self, side_fd: Option<i32>) -> io::Result<Option<LaunchWrapper>> {
        let (mut masks, layers) = (self.masks.lock().clone(), probe::status().layers);
        if !layers.namespaces {
            (masks.hidden, masks.read_only) = (Vec::new(), Vec::new());
        }
        if !masks.has_files() && !masks.judges_starts() {
            return Ok(None);
        }
        masks.user_namespace = layers.user_namespace;
        launch::wrapper(&LaunchMode::Unconfined { alone: side_fd.is_none(), masks }, side_fd).map(Some)
    }

    pub fn spec(&self, confinement: Confinement, cwd: &Path) -> io::Result<Option<SandboxSpec>> {
        let Confinement::Confined { level, network, opened } = confinement else { return Ok(None) };
        let status = probe::status();
        if let Some(why) = status.refusal() {
            return Err(io::Error::other(why));
        }
        let mut spec = plan::make(&self.paths, &self.private()?, status.layers, level, network, cwd);
        spec.masks = self.masks.lock().clone();
        if level == SandboxLevel::Workspace {
            let (mut nested, trees) = (self.nested.lock(), self.paths.trees());
            let nested = nested
                .get_or_insert_with(|| trees.iter().map(|tree| NestedRepositories::find(tree)).collect());
            let located = nested.iter_mut().zip(&trees).flat_map(|(nested, tree)| nested.locate(tree));
            spec.nested = located.map(RawPath).collect();
            spec.opened = opened.into_iter().map(RawPath).collect();
            wrapper::install(&mut spec);
        }
        spec.masks.hidden.retain(|path| path.exists());
        let (folders, files): (Vec<_>, Vec<_>) =
            spec.masks.hidden.iter().cloned().partition(|path| path.is_dir());
        spec.hidden_folders.extend(folders);
        spec.hidden_files.extend(files);
        spec.protected.extend_from_slice(&spec.masks.read_only);
        Ok(Some(spec))
    }

    /// What was moved away from protected places of the workspace, by its id in the state folder. Reads the disk.
    pub fn set_aside(&self) -> BTreeMap<String, PathBuf> {
        #[cfg(target_os = "linux")]
        if let Some(kept) = self.paths.kept() {
            let all = super::linux::guard::set_aside::list(&kept).into_iter();
            let ours = all.filter_map(|one| {
                Some((one.id, one.origin.strip_prefix(&self.paths.workspace).ok()?.to_owned()))
            });
            return ours.collect();
        }
        BTreeMap::new()
    }

    /// For programs that only read the workspace, such as language servers. Also returns the cache folder.
    pub fn reading_spec(&self) -> io::Result<Option<(SandboxSpec, Option<PathBuf>)>> {
        let confinement =
            Confinement::Confined { level: SandboxLevel::Workspace, network: false, opened: Vec::new() };
        let Some(mut spec) = self.spec(confinement, &self.paths.workspace)? else { return Ok(None) };
        let caches = self.paths.build_caches().filter(|caches| caches.is_dir());
        spec.level = SandboxLevel::ReadOnly;
        // Rules about commands don't apply to what a server starts.
        spec.masks.programs = Vec::new();
        spec.writable = caches.iter().cloned().map(RawPath).collect();
        // Nothing writable needs protection.
        (spec.protected, spec.nested, spec.rules_folders) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Some((spec, caches)))
    }

    /// The real location of a path in the commands' own `/tmp`; `None` if it is a file that only others have.
    pub fn temporary(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix("/tmp").ok()?;
        let own = self.private.lock().as_ref()?.path.join(private_folder::TMP).join(below);
        let is_new = || path.symlink_metadata().is_err() && own.parent().is_some_and(Path::is_dir);
        let is_theirs = own.symlink_metadata().is_ok() || is_new();
        (is_theirs && probe::status().layers.namespaces).then_some(own)
    }

    fn private(&self) -> io::Result<PathBuf> {
        let mut private = self.private.lock();
        let folder = match private.take().filter(PrivateFolder::is_intact) {
            Some(folder) => folder,
            None => PrivateFolder::create(
                &self.paths.workspace,
                self.paths.own_folders.last().map(PathBuf::as_path),
            )?,
        };
        Ok(private.insert(folder).path.clone())
    }

    /// Leaves the removal of the private folder to the program that this process becomes.
    pub fn keep_private_after_exec(&self) -> io::Result<()> {
        let private = self.private.lock().take();
        private.map_or(Ok(()), PrivateFolder::keep_after_exec)
    }
}

pub fn launcher(spec: SandboxSpec, side_fd: Option<i32>) -> io::Result<LaunchWrapper> {
    if cfg!(target_os = "macos") {
        return Ok(seatbelt::wrapper(spec));
    }
    launch::wrapper(&LaunchMode::Confined(Box::new(spec)), side_fd)
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(private) = self.private.lock().take() {
            private_folder::remove(&private.path);
        }
    }
}
