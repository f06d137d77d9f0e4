//! The index in the project's state folder: opened as a whole, brought up to date, replaced when damaged. Several processes
//! may do so at the same time: readers follow a manifest that is replaced whole, writers take turns.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::build::{self, ProjectFile};
use super::format::Damaged;
use super::segment::{self, Doc, Field, Segment};
use base::file;
use base::folder::atomic_write::{self, Expect};

const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
/// More segments than this make every query slower than one merge.
const MAX_PARTS: usize = 6;
/// When more files than this share of the index are gone, the space is won back.
const MAX_GONE_SHARE: f64 = 0.2;
/// How long another process may build before this one goes on with what there is.
const LOCK_WAIT: Duration = Duration::from_secs(120);
const LOCK_PAUSE: Duration = Duration::from_millis(15);

/// A segment among the others.
#[derive(Debug)]
struct Part {
    name: String,
    segment: Segment,
    /// For each of its files whether it is gone.
    gone: Vec<bool>,
    /// The index's numbers for its files and passages.
    docs: Vec<Option<u32>>,
    passages: Vec<Option<u32>>,
}

impl Part {
    fn open(folder: &Path, name: String, gone: &[u32]) -> Result<Self, Damaged> {
        let segment = Segment::open(&folder.join(&name))?;
        let mut flags = vec![false; segment.docs.len()];
        for &number in gone {
            *flags.get_mut(number as usize).ok_or(Damaged)? = true;
        }
        Ok(Self { name, segment, gone: flags, docs: Vec::new(), passages: Vec::new() })
    }
}

/// The whole index as one. Files are numbered in the order of their paths, so that nothing depends on the order in which
/// they were read; what is gone has no number.
#[derive(Debug, Default)]
pub struct Index {
    parts: Vec<Part>,
    /// By number: the part and the file in it.
    files: Vec<(usize, usize)>,
    /// The file of each passage.
    owners: Vec<u32>,
}

impl Index {
    fn new(mut parts: Vec<Part>) -> Self {
        let mut files: Vec<(usize, usize)> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            files.extend((0..part.gone.len()).filter(|doc| !part.gone[*doc]).map(|doc| (number, doc)));
        }
        files.sort_by(|a, b| parts[a.0].segment.docs[a.1].path.cmp(&parts[b.0].segment.docs[b.1].path));
        let mut owners = Vec::new();
        for part in &mut parts {
            part.docs = vec![None; part.segment.docs.len()];
            part.passages = vec![None; part.segment.passages as usize];
        }
        let firsts: Vec<Vec<usize>> = parts.iter().map(|part| part.segment.first_passages()).collect();
        for (number, &(part, doc)) in files.iter().enumerate() {
            let first = firsts[part][doc];
            let part = &mut parts[part];
            part.docs[doc] = Some(number as u32);
            for passage in &mut part.passages[first..first + part.segment.docs[doc].passages.len()] {
                *passage = Some(owners.len() as u32);
                owners.push(number as u32);
            }
        }
        Self { parts, files, owners }
    }

    /// Every file with its number, in order.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (usize, &Doc)> {
        self.files.iter().map(|(part, doc)| &self.parts[*part].segment.docs[*doc]).enumerate()
    }

    /// The file with this number.
    pub fn doc(&self, number: usize) -> Option<&Doc> {
        let (part, doc) = self.files.get(number)?;
        self.parts[*part].segment.docs.get(*doc)
    }

    /// The file of each passage, by the passage's number.
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// Calls `each` with (number of the passage or file, how often) wherever a word occurs.
    pub fn occurrences(
        &self,
        field: Field,
        term: &str,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), Damaged> {
        for part in &self.parts {
            let numbers = if field == Field::Body { &part.passages } else { &part.docs };
            part.segment.occurrences(field, term, |id, times| {
                if let Some(number) = numbers[id as usize] {
                    each(number, times);
                }
            })?;
        }
        Ok(())
    }
}

/// How the project differs from the index.
#[derive(Debug, Default)]
struct Difference {
    /// New files and changed ones.
    read: Vec<ProjectFile>,
    /// Numbers of the known files that are gone or changed.
    gone: Vec<usize>,
}

impl Difference {
    fn between(now: &[ProjectFile], index: &Index) -> Self {
        let mut left: FxHashMap<&[u8], (usize, &Doc)> =
            index.files().map(|(number, doc)| (doc.path.as_slice(), (number, doc))).collect();
        let mut difference = Self::default();
        for file in now {
            let known = left.remove(file.path.as_slice());
            if known.is_some_and(|(_, doc)| {
                (doc.size_bytes, doc.modified_ns) == (file.size_bytes, file.modified_ns)
            }) {
                continue;
            }
            difference.gone.extend(known.map(|(number, _)| number));
            difference.read.push(file.clone());
        }
        difference.gone.extend(left.into_values().map(|(number, _)| number));
        difference
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }
}

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
pub struct IndexStore {
    root: PathBuf,
    folder: PathBuf,
}

impl IndexStore {
    /// For the project at `root`, kept in `folder`, which is made when needed.
    pub fn new(root: &Path, folder: &Path) -> Self {
        Self { root: root.to_owned(), folder: folder.to_owned() }
    }

    /// The index, up to date.
    pub fn refreshed(&self) -> io::Result<(Index, Refreshed)> {
        // The walk and the opening wait for different things.
        let (now, opened) = std::thread::scope(|scope| {
            let walk = scope.spawn(|| build::scan(&self.root));
            let opened = self.open();
            (walk.join().unwrap_or_default(), opened)
        });
        if let Ok(index) = &opened
            && Difference::between(&now, index).is_empty()
        {
            return opened.map(|index| (index, Refreshed::default())).map_err(io::Error::other);
        }
        file::create_private_folder(&self.folder)?;
        let lock = self.lock()?;
        // Another process may have done the work meanwhile.
        let opened = self.open();
        if lock.is_none() {
            let stale = opened.map(|index| (index, Refreshed::default()));
            return stale
                .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "another process builds the index"));
        }
        if let Ok(index) = opened {
            match self.update(index, &now) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                done => return done,
            }
        }
        let (index, done) = self.update(Index::default(), &now)?;
        Ok((index, Refreshed { anew: true, ..done }))
    }

    /// Opens what the manifest names.
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
        let parts = manifest.parts.into_iter().map(|part| match part.file.contains('/') {
            true => Err(Damaged),
            false => Part::open(&self.folder, part.file, &part.gone),
        });
        Ok(Index::new(parts.collect::<Result<_, _>>()?))
    }

    /// Drops the index; the next use rebuilds it.
    pub fn forget(&self) {
        let _ = fs::remove_file(self.folder.join(MANIFEST));
    }

    /// Waits for its turn; `None` when another process takes too long.
    fn lock(&self) -> io::Result<Option<File>> {
        // Opened for reading as well: a FIFO in its place would block a writer until somebody reads.
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true);
        let file = file::open_private(&mut options, &self.folder.join(LOCK))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if start.elapsed() > LOCK_WAIT => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            }
        }
    }

    /// Reads what is new, marks what is gone, merges when that pays, and publishes.
    fn update(&self, index: Index, now: &[ProjectFile]) -> io::Result<(Index, Refreshed)> {
        let difference = Difference::between(now, &index);
        let done = Refreshed { read: difference.read.len(), dropped: difference.gone.len(), anew: false };
        if difference.is_empty() && !index.parts.is_empty() {
            return Ok((index, done));
        }
        let Index { mut parts, files, .. } = index;
        for (part, doc) in difference.gone.into_iter().map(|number| files[number]) {
            parts[part].gone[doc] = true;
        }
        for name in build::build(&self.root, &self.folder, &difference.read)? {
            parts.push(Part::open(&self.folder, name, &[])?);
        }
        let gone = parts.iter().flat_map(|part| &part.gone);
        let too_many_gone =
            gone.clone().filter(|gone| **gone).count() as f64 > MAX_GONE_SHARE * gone.count() as f64;
        if parts.len() > MAX_PARTS || too_many_gone {
            let live: Vec<_> = parts.iter().map(|part| (&part.segment, part.gone.as_slice())).collect();
            let name = build::fresh_name();
            segment::merge(&self.folder.join(&name), &live)?;
            parts = vec![Part::open(&self.folder, name, &[])?];
        }
        self.publish(&parts)?;
        Ok((Index::new(parts), done))
    }

    fn publish(&self, parts: &[Part]) -> io::Result<()> {
        let gone =
            |part: &Part| (0..).zip(&part.gone).filter(|(_, gone)| **gone).map(|(doc, _)| doc).collect();
        let parts = parts.iter().map(|part| ManifestPart { file: part.name.clone(), gone: gone(part) });
        let manifest = Manifest { parts: parts.collect() };
        let text = serde_json::to_vec(&manifest)?;
        atomic_write::write_private(&self.folder.join(MANIFEST), &text, Expect::Anything)
            .map_err(io::Error::other)?;
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let is_segment = path.extension().is_some_and(|ending| ending == build::ENDING);
            if is_segment && !manifest.parts.iter().any(|part| part.file.as_str() == name) {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}
