//! Which files the project has now, and which of them differ from what the index knows. Looks at names, sizes and times
//! only.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use rustc_hash::FxHashMap;

use super::extract::Entry;
use super::run::Doc;
use crate::search::walk::{self, Walk};

/// More files than this are not indexed; what lies deeper in a giant tree is found by Grep.
const MAX_FILES: usize = 200_000;

/// Every regular file that is neither hidden nor ignored, sorted by path.
pub fn take(root: &Path) -> Vec<Entry> {
    let found: Mutex<Vec<Entry>> = Mutex::default();
    Walk::new(root).visit(&AtomicBool::new(false), |entry| {
        if !walk::is_file(entry) {
            return;
        }
        let Ok(meta) = entry.metadata() else { return };
        let Ok(path) = entry.path().strip_prefix(root) else { return };
        let modified_ns = meta
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(1).max(1));
        let path = path.as_os_str().as_encoded_bytes().to_vec();
        found.lock().unwrap_or_else(PoisonError::into_inner).push(Entry {
            path,
            size_bytes: meta.len(),
            modified_ns,
        });
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found.truncate(MAX_FILES);
    found
}

/// How the project differs from the index.
#[derive(Debug, Default)]
pub struct IndexDifference {
    /// New files and changed ones.
    pub read: Vec<Entry>,
    /// Numbers of the known files that are gone or changed.
    pub gone: Vec<usize>,
}

impl IndexDifference {
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }
}

/// Compares; `known` are the files that the index holds as live, by number.
pub fn compare<'a>(now: Vec<Entry>, known: impl Iterator<Item = (usize, &'a Doc)>) -> IndexDifference {
    let mut left: FxHashMap<&[u8], (usize, &Doc)> =
        known.map(|(number, doc)| (doc.path.as_slice(), (number, doc))).collect();
    let mut difference = IndexDifference::default();
    for entry in now {
        match left.remove(entry.path.as_slice()) {
            Some((_, doc)) if doc.size_bytes == entry.size_bytes && doc.modified_ns == entry.modified_ns => {}
            Some((number, _)) => {
                difference.gone.push(number);
                difference.read.push(entry);
            }
            None => difference.read.push(entry),
        }
    }
    difference.gone.extend(left.into_values().map(|(number, _)| number));
    difference.gone.sort_unstable();
    difference
}
