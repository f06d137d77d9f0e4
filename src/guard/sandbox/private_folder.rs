//! A session's private folder: `/tmp`, cache writes and the git wrapper of its commands. Only this user can enter
//! it. It is removed with the session, or by the next session if that one was killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use base::folder::temporary;
use base::system::os;

const LOCK: &str = "lock";
pub const TMP: &str = "tmp";
const PARTS: [&str; 3] = [TMP, "cache", "bin"];
/// Its place in the state folder.
pub const IN_STATE: &str = "private";
const MAX_REMOVED: usize = 32;

#[derive(Debug)]
pub struct PrivateFolder {
    pub path: PathBuf,
    lock: File,
}

impl PrivateFolder {
    /// Created in the state folder or else a temporary one, never in `workspace` (canonical). Removes leftovers.
    pub fn create(workspace: &Path, state: Option<&Path>) -> io::Result<Self> {
        let temporary = temporary::folder_outside(workspace)?;
        remove_unused(&temporary);
        let in_state = state.map(|state| -> io::Result<Self> {
            let base = state.join(IN_STATE);
            fs::create_dir_all(&base)?;
            let base = base.canonicalize()?;
            if base.starts_with(workspace) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            remove_unused(&base);
            Self::create_in(&base)
        });
        in_state.and_then(Result::ok).map_or_else(|| Self::create_in(&temporary), Ok)
    }

    fn create_in(base: &Path) -> io::Result<Self> {
        let make = |path: &Path| os::private_folders().create(path);
        for _ in 0..16 {
            let path = base.join(format!("mycode-{}-{:08x}", std::process::id(), fastrand::u32(..)));
            match make(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            PARTS.iter().try_for_each(|part| make(&path.join(part)))?;
            // Others see it only once it is locked.
            let unready = path.join("unready");
            let lock = File::create_new(&unready)?;
            lock.lock()?;
            fs::rename(&unready, path.join(LOCK))?;
            return Ok(Self { path, lock });
        }
        Err(io::Error::other("could not create a temporary folder: no free name"))
    }

    /// `false` if a cleaner of temporary files removed it.
    pub fn is_intact(&self) -> bool {
        self.path.join(PARTS[0]).is_dir()
    }

    /// Keeps the lock in the program that this process becomes.
    pub fn keep_after_exec(self) -> io::Result<()> {
        os::keep_open(self.lock)
    }
}

/// Removes leftovers of killed sessions: folders of this user whose lock is free.
fn remove_unused(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("mycode-")
            && fs::symlink_metadata(entry.path())
                .is_ok_and(|meta| meta.is_dir() && os::facts(&meta).owner.0 == os::user())
    });
    for entry in ours.take(MAX_REMOVED) {
        // Without a lock file it isn't ours, or is just being created.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            remove(&entry.path());
        }
    }
}

pub fn remove(folder: &Path) {
    for part in PARTS.map(|part| folder.join(part)) {
        if fs::remove_dir_all(&part).is_ok() {
            continue;
        }
        open_to_user(&part);
        let _ = fs::remove_dir_all(&part);
    }
    let _ = fs::remove_file(folder.join(LOCK));
    let _ = fs::remove_dir(folder);
}

/// Overlay mounts leave nested folders without any permissions.
fn open_to_user(folder: &Path) {
    let _ = os::set_mode(folder, 0o700);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        open_to_user(&entry.path());
    }
}
