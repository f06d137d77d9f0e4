//! The content store of the journal: private files named by their hash. A blob is verified when read, so a
//! torn one counts as missing and is never restored.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base::file;
use base::folder::quota::Quota;

#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    pub fn new(journal_folder: &Path) -> Self {
        Self { folder: journal_folder.join("blobs") }
    }

    fn path(&self, hash: &str) -> PathBuf {
        let cut = hash.len().min(2);
        self.folder.join(&hash[..cut]).join(&hash[cut..])
    }

    pub fn put(&self, bytes: &[u8]) -> io::Result<String> {
        let hash = file::hash(bytes);
        let path = self.path(&hash);
        if let Ok(known) = File::open(&path)
            && known.metadata().is_ok_and(|meta| meta.len() == bytes.len() as u64)
        {
            // It is in use again, so the clean-up must treat it as new.
            let _ = known.set_modified(SystemTime::now());
            return Ok(hash);
        }
        if let Some(folder) = path.parent() {
            file::create_private_folder(folder)?;
        }
        let temp = path.with_extension(format!("{:016x}.tmp", fastrand::u64(..)));
        let written = file::create_private(&temp)
            .and_then(|mut out| out.write_all(bytes))
            .and_then(|()| fs::rename(&temp, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temp);
        }
        written.map(|()| hash)
    }

    /// `None` if the bytes are missing or damaged.
    pub fn get(&self, hash: &str) -> Option<Vec<u8>> {
        fs::read(self.path(hash)).ok().filter(|bytes| file::hash(bytes) == hash)
    }
}

/// Removes contents older than 7 days from a project's journal folder, then the oldest down to 500 MiB. Slow: walks the folder.
pub fn clean(journal_folder: &Path) {
    clean_to(journal_folder, Quota::STATE, SystemTime::now());
}

fn clean_to(journal_folder: &Path, quota: Quota, now: SystemTime) {
    // Keep the journal lines until they expire: they say what can't be restored.
    quota.clean(journal_folder, 3, now, |path| path.parent() != Some(journal_folder));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::OpenOptions;
    use std::time::Duration;

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn blobs_are_private_checked_and_stored_once() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let hash = blobs.put(b"secret").unwrap();
        assert_eq!(blobs.put(b"secret").unwrap(), hash);
        assert_eq!(blobs.get(&hash).unwrap(), b"secret");
        let path = blobs.path(&hash);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        fs::write(&path, b"secreT").unwrap();
        assert_eq!(blobs.get(&hash), None);
        assert_eq!(blobs.get("00ff"), None);
    }

    #[test]
    fn cleanup_by_age_and_size() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let now = SystemTime::now();
        let hashes: Vec<String> = (1..5_u8)
            .map(|n| {
                let hash = blobs.put(&[n; 10]).unwrap();
                let age = Duration::from_secs(u64::from(n) * 3 * 24 * 3600);
                let file = OpenOptions::new().write(true).open(blobs.path(&hash)).unwrap();
                file.set_modified(now - age).unwrap();
                hash
            })
            .collect();
        clean_to(dir.path(), Quota { bytes: 15, ..Quota::STATE }, now);
        let left: Vec<bool> = hashes.iter().map(|hash| blobs.path(hash).is_file()).collect();
        assert_eq!(left, [true, false, false, false]);
    }
}
