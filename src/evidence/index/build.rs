//! Files into segments, on as many threads as pay, with bounded memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::extract::{Entry, Extractor};
use super::merge;
use super::run::IndexBuffer;
use super::segment::{self, Segment};

/// Text that one thread gathers before it writes a segment: this bounds the memory.
const RUN_BYTES: usize = 12 << 20;
/// More segments than this would need too many open files when they are joined.
const MAX_RUNS: usize = 200;
/// Files that a thread takes at a time.
const BATCH: usize = 16;
/// Fewer files than this are read by one thread.
const FEW: usize = 64;
/// A file that changed so shortly before it was read may change again within the same tick of the file system's clock.
const TICK_NS: u64 = 30_000_000;

/// Reads `entries` and writes segments into `folder`; returns their names.
///
/// # Errors
/// When the disk refuses.
pub fn build(root: &Path, folder: &Path, entries: &[Entry]) -> io::Result<Vec<String>> {
    let all_bytes: u64 = entries.iter().map(|entry| entry.size_bytes.min(1 << 20)).sum();
    let run_bytes = RUN_BYTES.max(usize::try_from(all_bytes).unwrap_or(usize::MAX) / MAX_RUNS);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let names: Mutex<Vec<String>> = Mutex::default();
    let error: Mutex<Option<io::Error>> = Mutex::default();
    let threads = if entries.len() < FEW {
        1
    } else {
        std::thread::available_parallelism().map_or(2, |count| count.get().clamp(1, 4))
    };
    let work = || {
        let mut harvester = Extractor::default();
        let mut run = IndexBuffer::default();
        let mut bytes = 0;
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let batch = entries.get(start..entries.len().min(start + BATCH)).unwrap_or(&[]);
            for entry in batch {
                bytes += harvester.take(root, &settled(entry), &mut run);
            }
            let last = batch.is_empty() || failed.load(Ordering::Relaxed);
            if (last || bytes > run_bytes) && !run.docs.is_empty() {
                let name = fresh_name();
                match segment::write_run(&folder.join(&name), &run) {
                    Ok(_) => names.lock().unwrap_or_else(PoisonError::into_inner).push(name),
                    Err(problem) => {
                        failed.store(true, Ordering::Relaxed);
                        *error.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
                    }
                }
                harvester = Extractor::default();
                run = IndexBuffer::default();
                bytes = 0;
            }
            if last {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    if let Some(error) = error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    Ok(names.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Joins segments to one; returns its name. The old files stay.
///
/// # Errors
/// When the disk refuses or a segment is damaged.
pub fn join(folder: &Path, parts: &[(&Segment, &[bool])]) -> io::Result<String> {
    let name = fresh_name();
    merge::merge(&folder.join(&name), parts)?;
    Ok(name)
}

/// The entry, with a time that never matches when the file may still change unnoticed.
fn settled(entry: &Entry) -> Entry {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let mut entry = entry.clone();
    if entry.modified_ns + TICK_NS > now {
        entry.modified_ns = 0;
    }
    entry
}

/// The ending of segment files.
pub const ENDING: &str = "part";

fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:08x}-{count:x}-{:08x}.{ENDING}", std::process::id(), fastrand::u32(..))
}

/// The segment files in `folder`.
pub fn segment_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .collect()
}
