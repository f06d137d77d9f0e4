//! The workspace's files before a command: stamps and where each content is kept, updated from command to
//! command so that only changed files are read again. Contents missing from git and the store are copied,
//! smallest first, within a budget. Ignored files are left out unless git tracks them.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::blobs::Blobs;
use super::git::GitIndex;
use super::inspect;
use super::record::{JournalChange, PathState};
use base::folder::exact;
use base::format::path_text;
use base::search::walk::Walk;
use base::system::os::{self, FileFacts};

/// A command may change any file, but copying larger ones in advance costs too much.
const COPY_LIMIT_BYTES: u64 = 4 * 1024 * 1024;
/// More files than any command should wait for, such as those of a whole machine.
pub const MAX_FILES: usize = 200_000;
const COPY_BYTES: u64 = 64 * 1024 * 1024;
const COPY_FILES: usize = 4_000;
const COPY_TIME: Duration = Duration::from_secs(1);
/// After this time changes are detected by stamps only, so that a rewritten large tree doesn't take forever.
const COMPARE_TIME: Duration = Duration::from_secs(5);
/// After this time changed lines aren't counted.
const COUNT_TIME: Duration = Duration::from_secs(2);
const CHUNK: usize = 128;
/// The tool named in the journal for changes by commands.
const BY: &str = "Bash";
/// A file changed this shortly before it was inspected may change again with the same time stamp.
const RACY_NS: i64 = 50_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotStamp {
    kind: TreeEntryKind,
    size: u64,
    mtime_ns: i64,
    ctime_ns: i64,
    inode: u64,
    mode: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum TreeEntryKind {
    File,
    Folder,
    Link,
    Special,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    Stored(String),
    Git(String),
    Link(#[serde(with = "path_text")] PathBuf),
    /// Not kept: too large, or the budget was used up.
    Nowhere,
    None,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KnownFile {
    #[serde(with = "path_text")]
    path: PathBuf,
    stamp: SnapshotStamp,
    content: Content,
    racy: bool,
}

/// A line of a stored tree; the last one for a path counts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TreeLine {
    Known(KnownFile),
    Gone(#[serde(with = "path_text")] PathBuf),
    Taken(i64),
}

#[derive(Debug, Default)]
pub struct Snapshot {
    files: Vec<KnownFile>,
    taken_ns: i64,
    git: Option<Arc<GitIndex>>,
    /// Files that tools wrote; inspected even if git ignores them.
    written: HashSet<PathBuf>,
    /// Changes of the last refresh, not saved yet.
    unsaved: Vec<TreeLine>,
    saved: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotRefresh {
    Done,
    Stopped,
    TooMany,
}

impl SnapshotStamp {
    fn of(meta: &Metadata) -> Self {
        let kind = match meta.file_type() {
            kind if kind.is_file() => TreeEntryKind::File,
            kind if kind.is_dir() => TreeEntryKind::Folder,
            kind if kind.is_symlink() => TreeEntryKind::Link,
            _ => TreeEntryKind::Special,
        };
        let FileFacts { mode, id, modified_ns: mtime_ns, changed_ns: ctime_ns, .. } = os::facts(meta);
        if kind == TreeEntryKind::Folder {
            // A folder's times change with its entries.
            return Self { kind, size: 0, mtime_ns: 0, ctime_ns: 0, inode: 0, mode };
        }
        Self { kind, size: meta.len(), mtime_ns, ctime_ns, inode: id.1, mode }
    }
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

type FoundFiles = HashMap<PathBuf, (SnapshotStamp, Metadata)>;

fn walk(root: &Path) -> Walk {
    Walk { hidden: true, ..Walk::new(root) }
}

/// All relevant paths with their stamps, and whether there are no more. `also` are included even if ignored.
fn look_around<'a>(
    walk: Walk,
    also: impl Iterator<Item = &'a PathBuf>,
    stop: &AtomicBool,
) -> (FoundFiles, bool) {
    let root = walk.root.as_path();
    let found = Mutex::new(HashMap::new());
    let visited = walk.visit(stop, |entry| {
        let Ok(path) = entry.path().strip_prefix(root) else { return };
        if path.as_os_str().is_empty() {
            return;
        }
        if let Ok(meta) = exact::look(entry.path()) {
            let stamp = SnapshotStamp::of(&meta);
            found.lock().insert(path.to_owned(), (stamp, meta));
        }
    });
    let mut found = found.into_inner();
    for path in also {
        if !found.contains_key(path)
            && let Ok(meta) = exact::look(&root.join(path))
        {
            found.insert(path.clone(), (SnapshotStamp::of(&meta), meta));
        }
    }
    (found, visited.complete)
}

impl Snapshot {
    pub fn parse(bytes: &[u8]) -> Self {
        let mut files = HashMap::new();
        let mut taken_ns = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(TreeLine::Known(known)) => drop(files.insert(known.path.clone(), known)),
                Ok(TreeLine::Gone(path)) => drop(files.remove(&path)),
                Ok(TreeLine::Taken(ns)) => taken_ns = ns,
                Err(_) => {}
            }
        }
        Self { files: files.into_values().collect(), taken_ns, ..Self::default() }
    }

    /// The lines to write, and whether to append them to the existing file (if `there`) or replace it.
    pub fn unsaved(&mut self, there: bool) -> serde_json::Result<(Vec<u8>, bool)> {
        let follows =
            there && self.saved > 0 && self.saved + self.unsaved.len() < 2 * self.files.len() + 1_000;
        let mut bytes = Vec::new();
        let mut push = |line: &TreeLine| {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
            serde_json::Result::Ok(())
        };
        let changes = std::mem::take(&mut self.unsaved);
        let written = if follows {
            changes.iter().try_for_each(&mut push)?;
            changes.len()
        } else {
            self.saved = 0;
            self.files.iter().try_for_each(|known| push(&TreeLine::Known(known.clone())))?;
            self.files.len()
        };
        push(&TreeLine::Taken(self.taken_ns))?;
        self.saved += written + 1;
        Ok((bytes, follows))
    }

    pub fn watch(&mut self, written: &Path) {
        self.written.insert(written.to_owned());
    }

    pub fn other_names(root: &Path, file: &Path) -> Vec<PathBuf> {
        let own = exact::look(&root.join(file)).ok().filter(Metadata::is_file);
        let Some(own) = own.map(|meta| os::facts(&meta)).filter(|own| own.names > 1) else {
            return Vec::new();
        };
        let (found, _) = look_around(walk(root), std::iter::empty(), &AtomicBool::new(false));
        let same = |meta: &Metadata| os::facts(meta).id == own.id;
        found
            .into_iter()
            .filter(|(path, (_, meta))| path != file && same(meta))
            .map(|(path, _)| path)
            .collect()
    }

    /// Updates the tree and copies contents that aren't kept elsewhere.
    pub fn refresh(&mut self, root: &Path, blobs: &Blobs, stop: &AtomicBool) -> SnapshotRefresh {
        let begun_ns = now_ns();
        let git = GitIndex::load(root, self.git.take());
        let tracked = git.iter().flat_map(|git| git.paths());
        let walk = Walk { most: MAX_FILES, ..walk(root) };
        let (found, complete) = look_around(walk, tracked.chain(&self.written), stop);
        if stop.load(Ordering::Relaxed) {
            return SnapshotRefresh::Stopped;
        }
        if !complete {
            return SnapshotRefresh::TooMany;
        }
        let mut old: HashMap<PathBuf, KnownFile> =
            std::mem::take(&mut self.files).into_iter().map(|known| (known.path.clone(), known)).collect();
        let mut files = Vec::with_capacity(found.len());
        let (mut fresh, mut asked, mut to_copy) = (Vec::new(), Vec::new(), Vec::new());
        for (path, (stamp, meta)) in found {
            let known = old.remove(&path);
            let good =
                |known: &KnownFile| known.stamp == stamp && !known.racy && known.content != Content::Nowhere;
            if let Some(known) = known.filter(good) {
                files.push(known);
                continue;
            }
            fresh.push(files.len());
            let racy = begun_ns.saturating_sub(stamp.ctime_ns) < RACY_NS;
            let mut content = Content::None;
            match stamp.kind {
                TreeEntryKind::Link => {
                    let target = exact::read_link(&root.join(&path));
                    content = target.map_or(Content::Nowhere, Content::Link);
                }
                TreeEntryKind::File => {
                    content = Content::Nowhere;
                    match git.as_ref().filter(|_| !racy).and_then(|git| git.object(&path, &meta)) {
                        Some(oid) => asked.push((files.len(), oid)),
                        None => to_copy.push((stamp.size, files.len())),
                    }
                }
                TreeEntryKind::Folder | TreeEntryKind::Special => {}
            }
            files.push(KnownFile { path, stamp, content, racy: racy && stamp.kind == TreeEntryKind::File });
        }
        if let Some(git) = &git {
            let oids: Vec<&str> = asked.iter().map(|(_, oid)| oid.as_str()).collect();
            for (size, (index, oid)) in git.sizes(&oids).into_iter().zip(&asked) {
                let known = &mut files[*index];
                // A different size means that git stores it in another form (line endings, LFS).
                if size == Some(known.stamp.size) {
                    known.content = Content::Git(oid.clone());
                } else {
                    to_copy.push((known.stamp.size, *index));
                }
            }
        }
        copy(root, blobs, &mut files, to_copy, stop);
        self.unsaved.extend(old.into_keys().map(TreeLine::Gone));
        self.unsaved.extend(fresh.into_iter().map(|index| TreeLine::Known(files[index].clone())));
        self.git = git;
        self.files = files;
        self.taken_ns = begun_ns;
        if stop.load(Ordering::Relaxed) { SnapshotRefresh::Stopped } else { SnapshotRefresh::Done }
    }

    /// What a command changed since the last refresh.
    pub fn compare(&self, root: &Path, blobs: &Blobs) -> Vec<JournalChange> {
        let begun = Instant::now();
        let counts = |before: Option<Vec<u8>>, after: Option<Vec<u8>>, is_text: bool| {
            let counted = is_text && begun.elapsed() < COUNT_TIME;
            if counted { inspect::counts(before.as_deref(), after.as_deref()) } else { (0, 0) }
        };
        let known = self.files.iter().map(|known| &known.path);
        let (found, _) = look_around(walk(root), known, &AtomicBool::new(false));
        let mut known_paths = HashSet::with_capacity(self.files.len());
        let mut changed: Vec<&KnownFile> = Vec::new();
        for known in &self.files {
            known_paths.insert(known.path.as_path());
            // Without kept bytes, only the stamp can tell whether a file changed.
            let unsure = known.racy && known.content != Content::Nowhere;
            if unsure || found.get(&known.path).is_none_or(|(stamp, _)| *stamp != known.stamp) {
                changed.push(known);
            }
        }
        changed.sort_by(|a, b| a.path.cmp(&b.path));
        let mut differences = Vec::new();
        for part in changed.chunks(CHUNK) {
            let late = begun.elapsed() > COMPARE_TIME;
            let before = if late {
                part.iter().map(|known| unread(known)).collect()
            } else {
                self.states(root, blobs, part)
            };
            for (known, (before, bytes)) in part.iter().zip(before) {
                let limit = if late { 0 } else { COPY_LIMIT_BYTES };
                let Ok((after, after_bytes)) = inspect::look_in(root, &known.path, limit) else { continue };
                if after != before {
                    let is_text = before.hash().is_some() || after.hash().is_some();
                    let lines = counts(bytes, after_bytes, is_text);
                    differences.push(JournalChange::new(&known.path, BY, before, after, lines));
                }
            }
        }
        let mut made: Vec<_> =
            found.iter().filter(|(path, _)| !known_paths.contains(path.as_path())).collect();
        made.sort_by(|a, b| a.0.cmp(b.0));
        // If a known file was moved or got another name, it changed as well.
        let inodes: HashSet<u64> = changed.iter().map(|known| known.stamp.inode).collect();
        for (path, (stamp, meta)) in made {
            let limit = if begun.elapsed() > COMPARE_TIME { 0 } else { COPY_LIMIT_BYTES };
            let Ok((after, bytes)) = inspect::look_in(root, path, limit) else { continue };
            if after != PathState::Absent {
                let doubtful = !inodes.contains(&stamp.inode) && self.is_older(stamp, meta);
                let lines = counts(None, bytes, true);
                let made = JournalChange::new(path, BY, PathState::Absent, after, lines);
                differences.push(JournalChange { doubtful, ..made });
            }
        }
        differences
    }

    /// Such a file was moved here or ignored until now. If the birth time is unknown, the ctime detects the latter.
    fn is_older(&self, stamp: &SnapshotStamp, meta: &Metadata) -> bool {
        let born = meta.created().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let born_ns = born.and_then(|born| i64::try_from(born.as_nanos()).ok()).unwrap_or(stamp.ctime_ns);
        stamp.kind != TreeEntryKind::Folder
            && born_ns.min(stamp.ctime_ns).saturating_add(RACY_NS) < self.taken_ns
    }

    /// The earlier states of files; puts their bytes into the store.
    fn states(&self, root: &Path, blobs: &Blobs, files: &[&KnownFile]) -> Vec<(PathState, Option<Vec<u8>>)> {
        let oids: Vec<&str> = files
            .iter()
            .filter_map(|known| match &known.content {
                Content::Git(oid) => Some(oid.as_str()),
                _ => None,
            })
            .collect();
        // After a kill the index must be reloaded; git still has the objects.
        let again = if self.git.is_none() && !oids.is_empty() { GitIndex::load(root, None) } else { None };
        let git = self.git.as_ref().or(again.as_ref());
        let mut from_git = git.map(|git| git.contents(&oids)).unwrap_or_default().into_iter();
        files
            .iter()
            .map(|known| {
                let SnapshotStamp { size, mode, .. } = known.stamp;
                match &known.content {
                    Content::Stored(hash) => {
                        (PathState::File { hash: hash.clone(), size, mode }, blobs.get(hash))
                    }
                    Content::Git(_) => {
                        let bytes = from_git.next().flatten().filter(|bytes| bytes.len() as u64 == size);
                        match bytes.map(|bytes| (blobs.put(&bytes), bytes)) {
                            Some((Ok(hash), bytes)) => (PathState::File { hash, size, mode }, Some(bytes)),
                            _ => unread(known),
                        }
                    }
                    _ => unread(known),
                }
            })
            .collect()
    }
}

fn unread(known: &KnownFile) -> (PathState, Option<Vec<u8>>) {
    let SnapshotStamp { kind, size, mtime_ns, mode, .. } = known.stamp;
    let state = match (&known.content, kind) {
        (Content::Stored(hash), _) => PathState::File { hash: hash.clone(), size, mode },
        (Content::Link(to), _) => PathState::Link { to: to.clone() },
        (_, TreeEntryKind::Folder) => PathState::FolderWith { mode },
        (_, TreeEntryKind::Special) => PathState::Special,
        _ => PathState::Unkept { size, mtime_ns },
    };
    (state, None)
}

fn copy(
    root: &Path,
    blobs: &Blobs,
    files: &mut [KnownFile],
    mut wanted: Vec<(u64, usize)>,
    stop: &AtomicBool,
) {
    wanted.sort_unstable();
    let begun = Instant::now();
    let mut bytes = 0;
    for (count, (size, index)) in wanted.into_iter().enumerate() {
        bytes += size;
        let over = count >= COPY_FILES || bytes > COPY_BYTES || begun.elapsed() > COPY_TIME;
        if over || size > COPY_LIMIT_BYTES || stop.load(Ordering::Relaxed) {
            break;
        }
        let known = &mut files[index];
        let kept = inspect::keep(root, &known.path, blobs, COPY_LIMIT_BYTES);
        if let Ok((PathState::File { hash, size, .. }, _)) = kept
            && size == known.stamp.size
        {
            known.content = Content::Stored(hash);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn stored_lines_of_earlier_versions() {
        let stamp = r#"{"kind":"File","size":1,"mtime_ns":2,"ctime_ns":3,"inode":4,"mode":420}"#;
        let known = |path: &str, content: &str| {
            format!(r#"{{"known":{{"path":"{path}","stamp":{stamp},"content":{content},"racy":false}}}}"#)
        };
        let lines =
            [known("a", r#"{"Stored":"f0"}"#), known("b", r#""Nowhere""#), r#"{"gone":"b"}"#.to_owned()];
        let mut snapshot = Snapshot::parse(lines.join("\n").as_bytes());
        assert_eq!(snapshot.files.len(), 1);
        let (written, _) = snapshot.unsaved(false).unwrap();
        assert!(String::from_utf8(written).unwrap().starts_with(&lines[0]));
    }
}
