//! The index in the project's state folder. Several processes may use it at once: the manifest is replaced
//! atomically, and writers take turns.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::build::{self, ProjectFile};
use super::format::Damaged;
use super::segment::{Doc, Field, Segment};
use base::file;
use base::folder::atomic_write::{self, Expect};

const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
/// With more segments, queries would be slower than a rebuild; more than [`build::MAX_RUNS`].
const MAX_PARTS: usize = 128;
/// Rebuild if more than this share of the index's files is gone.
const MAX_GONE_SHARE: f64 = 0.2;
/// How long to wait for another process to build; then the existing index is used.
const LOCK_WAIT: Duration = Duration::from_secs(120);

#[derive(Debug)]
struct Part {
    name: String,
    segment: Segment,
    gone: Vec<bool>,
    /// Index-wide numbers of its files and passages.
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

/// Files are numbered by path, so that results don't depend on reading order; removed files have no number.
#[derive(Debug, Default)]
pub struct Index {
    parts: Vec<Part>,
    /// By number: the part and the file in it.
    files: Vec<(usize, usize)>,
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

    pub fn files(&self) -> impl ExactSizeIterator<Item = (usize, &Doc)> {
        self.files.iter().map(|(part, doc)| &self.parts[*part].segment.docs[*doc]).enumerate()
    }

    pub fn doc(&self, number: usize) -> Option<&Doc> {
        let (part, doc) = self.files.get(number)?;
        self.parts[*part].segment.docs.get(*doc)
    }

    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// The files that contain a word, in order, and how often.
    pub fn files_with(&self, field: Field, term: &str) -> Result<Vec<(usize, u32)>, Damaged> {
        let mut found: Vec<(usize, u32)> = Vec::new();
        self.occurrences(field, term, |number, times| {
            let file = if field == Field::Body { self.owners[number as usize] } else { number };
            found.push((file as usize, times));
        })?;
        found.sort_unstable();
        found.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        Ok(found)
    }

    /// Calls `each` with the passage or file number and the count for every occurrence of a word.
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

/// The files to read, and the numbers of known ones that are gone or changed.
fn difference(now: &[ProjectFile], index: &Index) -> (Vec<ProjectFile>, Vec<usize>) {
    let mut left: FxHashMap<&[u8], (usize, &Doc)> =
        index.files().map(|(number, doc)| (doc.path.as_slice(), (number, doc))).collect();
    let (mut read, mut gone) = (Vec::new(), Vec::new());
    for file in now {
        let known = left.remove(file.path.as_slice());
        let same = |doc: &Doc| (doc.size_bytes, doc.modified_ns) == (file.size_bytes, file.modified_ns);
        if !known.is_some_and(|(_, doc)| same(doc)) {
            gone.extend(known.map(|(number, _)| number));
            read.push(file.clone());
        }
    }
    gone.extend(left.into_values().map(|(number, _)| number));
    (read, gone)
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    parts: Vec<ManifestPart>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ManifestPart {
    file: String,
    gone: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    pub read: usize,
    pub dropped: usize,
    pub anew: bool,
}

#[derive(Clone, Debug)]
pub struct IndexStore {
    root: PathBuf,
    folder: PathBuf,
}

impl IndexStore {
    pub fn new(root: &Path, folder: &Path) -> Self {
        Self { root: root.to_owned(), folder: folder.to_owned() }
    }

    pub fn refreshed(&self) -> io::Result<(Index, Refreshed)> {
        // In parallel, because they wait for different things.
        let (now, opened) = std::thread::scope(|scope| {
            let walk = scope.spawn(|| build::scan(&self.root));
            let opened = self.open();
            (walk.join().unwrap_or_default(), opened)
        });
        if let Ok(index) = &opened
            && difference(&now, index) == (Vec::new(), Vec::new())
        {
            return opened.map(|index| (index, Refreshed::default())).map_err(io::Error::other);
        }
        file::create_private_folder(&self.folder)?;
        let lock = self.lock()?;
        // Another process may have updated it in the meantime.
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

    pub fn open(&self) -> Result<Index, Damaged> {
        // A segment may be merged away between reading its name and opening it.
        (0..3).map(|_| self.open_once()).find(Result::is_ok).unwrap_or(Err(Damaged))
    }

    fn open_once(&self) -> Result<Index, Damaged> {
        let text = file::read_own(&self.folder.join(MANIFEST)).map_err(|_| Damaged)?;
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|_| Damaged)?;
        let parts = manifest.parts.into_iter().map(|part| match part.file.contains('/') {
            true => Err(Damaged),
            false => Part::open(&self.folder, part.file, &part.gone),
        });
        Ok(Index::new(parts.collect::<Result<_, _>>()?))
    }

    pub fn forget(&self) {
        let _ = fs::remove_file(self.folder.join(MANIFEST));
    }

    /// Waits for the lock; `None` if another process takes too long.
    fn lock(&self) -> io::Result<Option<File>> {
        // Read access too, because opening a FIFO in its place only for writing would block.
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true);
        let file = file::open_private(&mut options, &self.folder.join(LOCK))?;
        Ok(file::lock_within(LOCK_WAIT, &file)?.then_some(file))
    }

    /// Reads new files and marks removed ones, or rebuilds if worthwhile, and publishes the index.
    fn update(&self, index: Index, now: &[ProjectFile]) -> io::Result<(Index, Refreshed)> {
        let (read, gone) = difference(now, &index);
        let done = Refreshed { read: read.len(), dropped: gone.len(), anew: false };
        if read.is_empty() && gone.is_empty() && !index.parts.is_empty() {
            return Ok((index, done));
        }
        let Index { mut parts, files, .. } = index;
        for (part, doc) in gone.into_iter().map(|number| files[number]) {
            parts[part].gone[doc] = true;
        }
        parts.extend(self.built(&read)?);
        let gone = parts.iter().flat_map(|part| &part.gone);
        let too_many_gone =
            gone.clone().filter(|gone| **gone).count() as f64 > MAX_GONE_SHARE * gone.count() as f64;
        if parts.len() > MAX_PARTS || too_many_gone {
            parts = self.built(now)?;
        }
        self.publish(&parts)?;
        Ok((Index::new(parts), done))
    }

    fn built(&self, files: &[ProjectFile]) -> io::Result<Vec<Part>> {
        let names = build::build(&self.root, &self.folder, files)?;
        Ok(names.into_iter().map(|name| Part::open(&self.folder, name, &[])).collect::<Result<_, _>>()?)
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
