//! What git already keeps: a tracked file that git's index shows as unmodified needn't be copied. Reads the
//! index itself and runs only `git cat-file`, which runs no hooks or filters and changes nothing. In doubt
//! (filters, other index kinds), git isn't used.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::file::{self, FileError};
use base::process::timeout;
use base::repository;

const INDEX_LIMIT_BYTES: u64 = 256 * 1024 * 1024;
/// Limit for git's text files, which users write.
const TEXT_LIMIT_BYTES: u64 = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
struct Tracked {
    ctime: (u32, u32),
    mtime: (u32, u32),
    inode: u32,
    size: u32,
    oid: [u8; 20],
}

#[derive(Debug)]
pub struct GitIndex {
    folder: PathBuf,
    /// When the index was written: a file changed in the same instant may differ unnoticed.
    written: (u32, u32),
    /// Inode of the index file, which git replaces on each write.
    inode: u64,
    /// By path relative to the workspace.
    files: HashMap<PathBuf, Tracked>,
    /// Whether the stored bytes equal the bytes on disk (no filters).
    plain: bool,
    /// `git` failed or timed out, so it isn't asked again.
    silent: AtomicBool,
}

impl GitIndex {
    /// The usable index of the repository that contains `root`; `known` if it hasn't been written since.
    pub fn load(root: &Path, known: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let top = repository::root(root)?;
        let folder = repository::git_folder(top)?;
        let path = folder.join("index");
        let meta = fs::metadata(&path).ok()?;
        let written = times(meta.mtime(), meta.mtime_nsec());
        if let Some(known) = known.filter(|known| (known.written, known.inode) == (written, meta.ino())) {
            return Some(known);
        }
        let (bytes, _) = file::read(&path, INDEX_LIMIT_BYTES).ok()?;
        let inside = root.strip_prefix(top).ok()?;
        let mut files = HashMap::new();
        let mut attributes = vec![common_folder(&folder).join("info/attributes")];
        parse(&bytes, |path, tracked| {
            if path.file_name() == Some(OsStr::new(".gitattributes")) {
                attributes.push(top.join(path));
            }
            if let Ok(path) = path.strip_prefix(inside) {
                files.insert(path.to_owned(), tracked);
            }
        })?;
        let plain = attributes.iter().all(|path| match file::read(path, TEXT_LIMIT_BYTES) {
            Ok((text, _)) => {
                let text = String::from_utf8_lossy(&text);
                !["filter=", "ident", "working-tree-encoding"].iter().any(|word| text.contains(word))
            }
            Err(error) => matches!(error, FileError::NotFound),
        });
        let silent = AtomicBool::new(false);
        Some(Arc::new(Self { folder, written, inode: meta.ino(), files, plain, silent }))
    }

    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.keys()
    }

    /// The object with the bytes of an unmodified file; the caller must still compare its size.
    pub fn object(&self, path: &Path, meta: &Metadata) -> Option<String> {
        let helps = self.plain && !self.silent.load(Ordering::Relaxed);
        let tracked = self.files.get(path).filter(|_| helps)?;
        let same = tracked.mtime == times(meta.mtime(), meta.mtime_nsec())
            && tracked.ctime == times(meta.ctime(), meta.ctime_nsec())
            && tracked.inode == meta.ino() as u32
            && u64::from(tracked.size) == meta.len()
            && tracked.mtime < self.written;
        same.then(|| tracked.oid.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn sizes(&self, oids: &[&str]) -> Vec<Option<u64>> {
        let format = "--batch-check=%(objecttype) %(objectsize)";
        let out = self.cat_file(format, oids).unwrap_or_default();
        let text = String::from_utf8_lossy(&out);
        let mut sizes: Vec<Option<u64>> =
            text.lines().map(|line| line.strip_prefix("blob ")?.parse().ok()).collect();
        sizes.resize(oids.len(), None);
        sizes
    }

    pub fn contents(&self, oids: &[&str]) -> Vec<Option<Vec<u8>>> {
        let out = self.cat_file("--batch=%(objecttype) %(objectsize)", oids).unwrap_or_default();
        let mut rest = out.as_slice();
        let mut contents = Vec::with_capacity(oids.len());
        while contents.len() < oids.len() {
            let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { break };
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let size = head.strip_prefix("blob ").and_then(|size| size.parse::<usize>().ok());
            contents.push(size.and_then(|size| rest.get(..size)).map(<[u8]>::to_vec));
            let skip = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
            // A missing object has no body.
            rest = skip.and_then(|size| rest.get(size + 1..)).unwrap_or(rest);
        }
        contents.resize(oids.len(), None);
        contents
    }

    fn cat_file(&self, mode: &str, oids: &[&str]) -> Option<Vec<u8>> {
        if oids.is_empty() {
            return Some(Vec::new());
        }
        if self.silent.load(Ordering::Relaxed) {
            return None;
        }
        let question: String = oids.iter().flat_map(|oid| [*oid, "\n"]).collect();
        let mut git = Command::new("git");
        git.arg(format!("--git-dir={}", self.folder.to_str()?))
            .args(["cat-file", mode])
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir("/");
        let answer = timeout::ask(&mut git, question.as_bytes(), PATIENCE);
        self.silent.fetch_or(answer.is_none(), Ordering::Relaxed);
        answer
    }
}

fn times(seconds: i64, nanoseconds: i64) -> (u32, u32) {
    (seconds as u32, nanoseconds as u32)
}

fn common_folder(folder: &Path) -> PathBuf {
    let common = file::small_text(&folder.join("commondir"), TEXT_LIMIT_BYTES);
    common.map_or_else(|| folder.to_owned(), |text| folder.join(text.trim()))
}

/// The entries of an index file, versions 2 to 4; `None` if anything in it is not understood.
fn parse(bytes: &[u8], mut take: impl FnMut(&Path, Tracked)) -> Option<()> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = word(4)?;
    if bytes.get(..4)? != b"DIRC" || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..word(8)? {
        let start = at;
        let flags = u16::from_be_bytes(bytes.get(at + 60..at + 62)?.try_into().ok()?);
        let extended = flags & 0x4000 != 0;
        let more =
            if extended { u16::from_be_bytes(bytes.get(at + 62..at + 64)?.try_into().ok()?) } else { 0 };
        at += if extended { 64 } else { 62 };
        if version == 4 {
            let (cut, used) = offset(bytes.get(at..)?)?;
            name.truncate(name.len().checked_sub(cut)?);
            at += used;
        } else {
            name.clear();
        }
        let length = bytes.get(at..)?.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(&bytes[at..at + length]);
        at += length + 1;
        if version != 4 {
            // Entries are padded to eight bytes, with at least one NUL.
            at = start + (at - start).div_ceil(8) * 8;
        }
        let mode = word(start + 24)?;
        if mode == 0o040_000 {
            // A sparse index contains folders.
            return None;
        }
        let (staged, skipped) = (flags & 0x3000 != 0, more & 0x4000 != 0);
        if staged || skipped || mode >> 12 != 0o10 {
            continue;
        }
        let tracked = Tracked {
            ctime: (word(start)?, word(start + 4)?),
            mtime: (word(start + 8)?, word(start + 12)?),
            inode: word(start + 20)?,
            size: word(start + 36)?,
            oid: bytes.get(start + 40..start + 60)?.try_into().ok()?,
        };
        take(Path::new(OsStr::from_bytes(&name)), tracked);
    }
    // A split index has only a part; SHA-256 names would have been misread up to here.
    let mut rest = bytes.get(at..)?;
    while rest.len() > 20 {
        let kind = rest.get(..4)?;
        if kind == b"link" || !kind.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        let size = u32::from_be_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        rest = rest.get(8 + size..)?;
    }
    (rest.len() == 20).then_some(())
}

/// Git's variable-width number: seven bits a byte, each continuation adding one.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut used = 1;
    while bytes.get(used - 1)? & 0x80 != 0 {
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(bytes.get(used)? & 0x7f);
        used += 1;
    }
    Some((value, used))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_index_bytes(version in 2_u8..5, body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let bytes = [b"DIRC\0\0\0", &[version][..], &[0, 0, 0, 2], &body].concat();
            let _ = parse(&bytes, |_, _| {});
        }
    }
}
