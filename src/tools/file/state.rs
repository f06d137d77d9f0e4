//! Which files the model has seen, and with which content; needed for "read before edit" and "changed on disk".

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHasher;

use base::file;
use base::folder::exact;
use base::path;
use base::pattern::Pattern;
use base::system::os;

/// Contents up to this size are kept, so that later changes can be shown as a diff.
const SNAPSHOT_BYTES: usize = 256 * 1024;
const SEEDED_BYTES: u64 = 10 * 1024 * 1024;
/// Limit for all kept contents; the least recently used are dropped first.
const SNAPSHOTS_BYTES: usize = 4 * 1024 * 1024;

/// What was reported of a file that is gone, or, in a resumed session, of one that had changed.
pub const GONE: &str = "gone";
pub const CHANGED: &str = "changed";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// [`base::file::hash`] of the full content.
    pub hash: String,
    pub snapshot: Option<Arc<[u8]>>,
    order: u64,
    /// Time and size when the file was seen; `None` after a resume.
    stamp: Option<FileStamp>,
    /// Hash of content that was reported to the model as changed but not shown.
    pub reported: Option<String>,
    /// Hash of content that the model knows without a Read: its own command left it, or the change was shown.
    known: Option<String>,
}

impl SeenFile {
    pub fn knows(&self, hash: &str) -> bool {
        self.known.as_deref() == Some(hash)
    }
}

type FileStamp = (SystemTime, u64);

fn stamp(path: &Path) -> Option<FileStamp> {
    let meta = exact::look(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

fn line_hash(line: &str) -> u64 {
    let mut hasher = FxHasher::default();
    line.trim().hash(&mut hasher);
    hasher.finish()
}

#[derive(Debug, Default)]
struct States {
    files: HashMap<PathBuf, SeenFile>,
    clock: u64,
    snapshot_bytes: usize,
    /// Hashes of all lines shown in any result, with and without their margins.
    shown: HashSet<u64>,
    refused: Option<RefusedWrite>,
}

#[derive(Debug, Default)]
pub struct FileStates {
    states: Mutex<States>,
    writing: Mutex<()>,
}

/// The content of a refused call, so that the model needn't send it again.
#[derive(Debug)]
struct RefusedWrite {
    path: PathBuf,
    over: String,
    content: String,
}

impl FileStates {
    pub fn get(&self, canonical: &Path) -> Option<SeenFile> {
        let mut states = self.states.lock();
        states.clock += 1;
        let clock = states.clock;
        states.files.get_mut(canonical).map(|seen| {
            seen.order = clock;
            seen.clone()
        })
    }

    /// The model has now seen exactly these bytes. Returns what it had seen before.
    pub fn saw(&self, canonical: &Path, hash: String, bytes: &[u8]) -> Option<SeenFile> {
        let snapshot = (bytes.len() <= SNAPSHOT_BYTES).then(|| Arc::from(bytes));
        self.put(canonical, hash, snapshot, stamp(canonical))
    }

    /// The model has seen this text. Lines may begin with a number, a path or a diff mark.
    pub fn show(&self, text: &str) {
        static MARGIN: Pattern = Pattern::new(r"^\s*(?:[^\s:]+[:-])?\d+[:\t -]|^\+");
        let shown = &mut self.states.lock().shown;
        for line in text.lines() {
            shown.insert(line_hash(line));
            if let Some(margin) = MARGIN.find(line) {
                shown.insert(line_hash(&line[margin.end()..]));
            }
        }
    }

    /// The host program showed the model this file; counts only if its time, in milliseconds, is unchanged.
    pub fn seed(&self, root: &Path, path: &str, modified_ms: Option<i64>) {
        let path = path::resolve(root, path).canonical;
        let Ok((bytes, meta)) = file::read(&path, SEEDED_BYTES) else { return };
        if Some(os::facts(&meta).modified_ns / 1_000_000) == modified_ms {
            self.saw(&path, file::hash(&bytes), &bytes);
            self.show(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Whether every line was in some result; blank lines always count.
    pub fn are_shown<'a>(&self, mut lines: impl Iterator<Item = &'a str>) -> bool {
        let shown = &self.states.lock().shown;
        lines.all(|line| line.trim().is_empty() || shown.contains(&line_hash(line)))
    }

    /// The model's own command changed more of the file than could be shown, or an error showed what changed.
    pub fn known_change(&self, canonical: &Path, hash: &str) {
        if let Some(seen) = self.states.lock().files.get_mut(canonical) {
            seen.known = Some(hash.to_owned());
        }
    }

    pub fn keep(&self, canonical: &Path, over: String, content: String) {
        self.states.lock().refused = Some(RefusedWrite { path: canonical.to_owned(), over, content });
    }

    /// The content last refused for this file, if the file is unchanged since.
    pub fn kept(&self, canonical: &Path, now: &str) -> Option<String> {
        let states = self.states.lock();
        let kept = states.refused.as_ref().filter(|kept| kept.path == canonical && kept.over == now);
        kept.map(|kept| kept.content.clone())
    }

    /// For resumed sessions: the model has seen content with this hash.
    pub fn remember(&self, canonical: &Path, hash: &str) {
        self.put(canonical, hash.to_owned(), None, None);
    }

    pub fn forget(&self, canonical: &Path) {
        self.states.lock().files.remove(canonical);
    }

    pub fn latest(&self) -> Vec<PathBuf> {
        let states = self.states.lock();
        let mut seen: Vec<(&PathBuf, u64)> =
            states.files.iter().map(|(path, seen)| (path, seen.order)).collect();
        seen.sort_by_key(|(_, order)| std::cmp::Reverse(*order));
        seen.into_iter().map(|(path, _)| path.clone()).collect()
    }

    pub fn clear(&self) {
        *self.states.lock() = States::default();
    }

    /// Seen files whose time or size has changed. Blocks.
    pub fn maybe_changed(&self) -> Vec<PathBuf> {
        let seen: Vec<(PathBuf, Option<FileStamp>)> =
            self.states.lock().files.iter().map(|(path, seen)| (path.clone(), seen.stamp)).collect();
        let changed = seen.into_iter().filter(|(path, known)| known.is_none() || stamp(path) != *known);
        let mut changed: Vec<PathBuf> = changed.map(|(path, _)| path).collect();
        changed.sort();
        changed
    }

    /// Only the file's time has changed.
    pub fn unchanged(&self, canonical: &Path) {
        let now = stamp(canonical);
        if let Some(seen) = self.states.lock().files.get_mut(canonical) {
            seen.stamp = now;
            seen.reported = None;
        }
    }

    /// Records that the model is told of the content `hash`, or of [`GONE`]; `false` if it already was.
    pub fn report(&self, canonical: &Path, hash: &str) -> bool {
        let mut states = self.states.lock();
        let Some(seen) = states.files.get_mut(canonical) else { return false };
        let is_new = match seen.reported.as_deref() {
            Some(CHANGED) => hash == GONE,
            told => told != Some(hash),
        };
        seen.reported = Some(hash.to_owned());
        is_new
    }

    /// Lock for reading and writing a file, so that two calls never change the same file at once.
    pub fn exclusive(&self) -> MutexGuard<'_, ()> {
        self.writing.lock()
    }

    fn put(
        &self,
        canonical: &Path,
        hash: String,
        snapshot: Option<Arc<[u8]>>,
        stamp: Option<FileStamp>,
    ) -> Option<SeenFile> {
        let mut states = self.states.lock();
        states.clock += 1;
        states.snapshot_bytes += snapshot.as_ref().map_or(0, |bytes| bytes.len());
        let seen = SeenFile { hash, snapshot, order: states.clock, stamp, reported: None, known: None };
        let before = states.files.insert(canonical.to_owned(), seen);
        states.snapshot_bytes -=
            before.as_ref().and_then(|seen| seen.snapshot.as_ref()).map_or(0, |b| b.len());
        while states.snapshot_bytes > SNAPSHOTS_BYTES {
            let oldest = states
                .files
                .values_mut()
                .filter(|seen| seen.snapshot.is_some())
                .min_by_key(|seen| seen.order);
            let Some(freed) = oldest.and_then(|seen| seen.snapshot.take()) else { break };
            states.snapshot_bytes -= freed.len();
        }
        before
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_limit() {
        let states = FileStates::default();
        let bytes = vec![0; SNAPSHOT_BYTES];
        for n in 0..40 {
            states.saw(Path::new(&format!("/f{n}")), n.to_string(), &bytes);
        }
        assert_eq!(states.states.lock().files.len(), 40);
        assert!(states.get(Path::new("/f0")).unwrap().snapshot.is_none());
        assert!(states.get(Path::new("/f39")).unwrap().snapshot.is_some());
        states.remember(Path::new("/f39"), "x");
        assert!(states.states.lock().snapshot_bytes <= SNAPSHOTS_BYTES);
        assert_eq!(states.get(Path::new("/f39")).unwrap().hash, "x");
    }
}
