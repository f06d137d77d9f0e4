//! The index in the project's state folder: opened, brought up to date, replaced when damaged. Several processes
//! may do so at the same time: readers follow a manifest that is replaced whole, writers take turns.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::build;
use super::codec::Damaged;
use super::extract::Entry;
use super::reader::Index;
use super::scan::{self, IndexDifference};
use super::segment::Segment;
use crate::base::atomic_write::{self, Expect};
use crate::base::file;

const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
/// More segments than this make every query slower than one merge.
const MAX_PARTS: usize = 6;
/// When more files than this share of the index are gone, the space is won back.
const MAX_GONE_SHARE: f64 = 0.2;
/// How long another process may build before this one goes on with what there is.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(15);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    parts: Vec<ManifestPart>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ManifestPart {
    file: String,
    /// Files of the segment that have changed or gone since it was written.
    gone: Vec<u32>,
}

/// What bringing up to date did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Files that were read.
    pub read: usize,
    /// Known files that were dropped, changed ones included.
    pub dropped: usize,
    /// Whether nothing usable was there before.
    pub anew: bool,
}

/// The place of one project's index.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    folder: PathBuf,
}

impl Store {
    /// For the project at `root`, kept in `folder`, which is made when needed.
    pub fn new(root: &Path, folder: &Path) -> Self {
        Self { root: root.to_owned(), folder: folder.to_owned() }
    }

    /// The index, up to date.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn refreshed(&self) -> io::Result<(Index, Refreshed)> {
        // The walk and the opening wait for different things.
        let (now, opened) = std::thread::scope(|scope| {
            let walk = scope.spawn(|| scan::take(&self.root));
            let opened = self.open();
            (walk.join().unwrap_or_default(), opened)
        });
        if let Ok(index) = &opened
            && scan::compare(now.clone(), index.live()).is_empty()
        {
            return opened.map(|index| (index, Refreshed::default())).map_err(io::Error::other);
        }
        fs::create_dir_all(&self.folder)?;
        let lock = self.lock()?;
        // Another process may have done the work meanwhile.
        let opened = self.open();
        if lock.is_none() {
            let stale = opened.map(|index| (index, Refreshed::default()));
            return stale
                .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "another process builds the index"));
        }
        match opened.map(|index| self.update(index, now.clone())) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) if error.kind() != io::ErrorKind::InvalidData => Err(error),
            _ => self.anew(&now),
        }
    }

    /// Opens what the manifest names.
    ///
    /// # Errors
    /// [`Damaged`] when something is missing or not whole.
    pub fn open(&self) -> Result<Index, Damaged> {
        let mut last = Err(Damaged);
        // A segment may be merged away between reading its name and opening it.
        for _ in 0..3 {
            let text = file::read_own(&self.folder.join(MANIFEST)).map_err(|_| Damaged)?;
            let manifest: Manifest = serde_json::from_slice(&text).map_err(|_| Damaged)?;
            last = self.open_parts(manifest);
            if last.is_ok() {
                break;
            }
        }
        last
    }

    fn open_parts(&self, manifest: Manifest) -> Result<Index, Damaged> {
        let mut index = Index::default();
        for part in manifest.parts {
            if part.file.contains('/') {
                return Err(Damaged);
            }
            let segment = Segment::open(&self.folder.join(&part.file))?;
            index.push(part.file, segment, &part.gone)?;
        }
        Ok(index)
    }

    /// Throws the index away; the next use builds it anew.
    pub fn forget(&self) {
        let _ = fs::remove_file(self.folder.join(MANIFEST));
    }

    /// Bytes on disk.
    pub fn size_bytes(&self) -> u64 {
        let sizes = build::segment_files(&self.folder).into_iter().filter_map(|path| fs::metadata(path).ok());
        sizes.map(|meta| meta.len()).sum()
    }

    /// Waits for its turn; `None` when another process takes too long.
    fn lock(&self) -> io::Result<Option<File>> {
        // Opened for reading as well: a FIFO in its place would block a writer until somebody reads.
        let file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(self.folder.join(LOCK))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_AGAIN),
            }
        }
    }

    fn anew(&self, now: &[Entry]) -> io::Result<(Index, Refreshed)> {
        let index = self.grow(Index::default(), &IndexDifference { read: now.to_vec(), gone: Vec::new() })?;
        Ok((index, Refreshed { read: now.len(), dropped: 0, anew: true }))
    }

    fn update(&self, index: Index, now: Vec<Entry>) -> io::Result<(Index, Refreshed)> {
        let difference = scan::compare(now, index.live());
        let done = Refreshed { read: difference.read.len(), dropped: difference.gone.len(), anew: false };
        let index = if difference.is_empty() { index } else { self.grow(index, &difference)? };
        Ok((index, done))
    }

    /// Reads what is new, marks what is gone, merges when that pays, and publishes.
    fn grow(&self, mut index: Index, difference: &IndexDifference) -> io::Result<Index> {
        let damaged = |error: Damaged| io::Error::new(io::ErrorKind::InvalidData, error);
        for &number in &difference.gone {
            index.drop_doc(number);
        }
        for name in build::build(&self.root, &self.folder, &difference.read)? {
            let segment = Segment::open(&self.folder.join(&name)).map_err(damaged)?;
            index.push(name, segment, &[]).map_err(damaged)?;
        }
        let gone = index.parts.iter().flat_map(|part| &part.gone).filter(|gone| **gone).count();
        if index.parts.len() > MAX_PARTS || gone as f64 > MAX_GONE_SHARE * index.doc_count() as f64 {
            let parts: Vec<_> =
                index.parts.iter().map(|part| (&part.segment, part.gone.as_slice())).collect();
            let name = build::join(&self.folder, &parts)?;
            let segment = Segment::open(&self.folder.join(&name)).map_err(damaged)?;
            index = Index::default();
            index.push(name, segment, &[]).map_err(damaged)?;
        }
        self.publish(&index)?;
        Ok(index)
    }

    fn publish(&self, index: &Index) -> io::Result<()> {
        let numbers =
            |gone: &[bool]| (0..).zip(gone).filter(|(_, gone)| **gone).map(|(number, _)| number).collect();
        let parts = index.parts.iter();
        let manifest = Manifest {
            parts: parts
                .map(|part| ManifestPart { file: part.name.clone(), gone: numbers(&part.gone) })
                .collect(),
        };
        let text = serde_json::to_vec(&manifest)?;
        atomic_write::write(&self.folder.join(MANIFEST), &text, Expect::Anything)
            .map_err(io::Error::other)?;
        for path in build::segment_files(&self.folder) {
            let named = path
                .file_name()
                .is_some_and(|name| index.parts.iter().any(|part| part.name.as_str() == name));
            if !named {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}
