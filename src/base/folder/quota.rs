//! Limits the size of folders: removes old files, then the oldest until the quota is met.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[derive(Clone, Copy, Debug)]
pub struct Quota {
    pub keep: Duration,
    pub bytes: u64,
}

impl Quota {
    pub const STATE: Self = Self { keep: Duration::from_secs(7 * 24 * 3600), bytes: 500 << 20 };

    /// Removes files that are too old, then the oldest for which `may_go`. Slow: walks the folder `depth` levels down.
    pub fn clean(self, folder: &Path, depth: usize, now: SystemTime, may_go: impl Fn(&Path) -> bool) {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = walkdir::WalkDir::new(folder)
            .max_depth(depth)
            .into_iter()
            .flatten()
            .filter(|entry| entry.file_type().is_file())
            .filter_map(|entry| {
                let meta = entry.metadata().ok()?;
                Some((meta.modified().ok()?, meta.len(), entry.into_path()))
            })
            .collect();
        files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.2.cmp(&a.2)));
        let mut total = 0_u64;
        for (modified, size, path) in files {
            total = total.saturating_add(size);
            // After a clock was set back, files may be from the future; they aren't old.
            let old = now.duration_since(modified).is_ok_and(|age| age > self.keep);
            if old || total > self.bytes && may_go(&path) {
                let _ = fs::remove_file(path);
            }
        }
    }
}
