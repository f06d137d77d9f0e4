//! Uses what git already stores: a tracked file that git's index shows as unmodified needn't be copied. Reads the
//! index itself and runs only `git cat-file`, which runs no hooks or filters and changes nothing. If in doubt
//! (filters, other kinds of index), git isn't used.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::file::{self, FileError};
use base::git_index::{self, Tracked};
use base::process::timeout;
use base::repository;
use base::system::os;

const INDEX_LIMIT_BYTES: u64 = 256 * 1024 * 1024;
/// Limit for git's text files, which users can edit.
const TEXT_LIMIT_BYTES: u64 = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct GitIndex {
    folder: PathBuf,
    /// When the index was written; a file changed in the same instant may look unmodified.
    written: (u32, u32),
    /// Inode of the index file; git replaces the file on each write.
    inode: u64,
    /// By path relative to the workspace.
    files: HashMap<PathBuf, Tracked>,
    /// Whether the stored bytes equal the bytes on disk (no filters).
    plain: bool,
    /// `git` failed or timed out and isn't asked again.
    silent: AtomicBool,
}

impl GitIndex {
    /// The index of the repository that contains `root`, if usable; reuses `known` if the index is unchanged.
    pub fn load(root: &Path, known: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let top = repository::root(root)?;
        let folder = repository::git_folder(top)?;
        let path = folder.join("index");
        let meta = fs::metadata(&path).ok()?;
        let written = times(os::facts(&meta).modified_ns);
        if let Some(known) =
            known.filter(|known| (known.written, known.inode) == (written, os::facts(&meta).id.1))
        {
            return Some(known);
        }
        let (bytes, _) = file::read(&path, INDEX_LIMIT_BYTES).ok()?;
        let inside = root.strip_prefix(top).ok()?;
        let mut files = HashMap::new();
        let mut attributes = vec![common_folder(&folder).join("info/attributes")];
        git_index::parse(&bytes, |path, tracked| {
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
        Some(Arc::new(Self { folder, written, inode: os::facts(&meta).id.1, files, plain, silent }))
    }

    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.keys()
    }

    /// The object with the bytes of an unmodified file; the caller must still compare its size.
    pub fn object(&self, path: &Path, meta: &Metadata) -> Option<String> {
        let helps = self.plain && !self.silent.load(Ordering::Relaxed);
        let tracked = self.files.get(path).filter(|_| helps)?;
        let facts = os::facts(meta);
        let same = tracked.mtime == times(facts.modified_ns)
            && tracked.ctime == times(facts.changed_ns)
            && tracked.inode == facts.id.1 as u32
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

fn times(ns: i64) -> (u32, u32) {
    (ns.div_euclid(1_000_000_000) as u32, ns.rem_euclid(1_000_000_000) as u32)
}

fn common_folder(folder: &Path) -> PathBuf {
    let common = file::small_text(&folder.join("commondir"), TEXT_LIMIT_BYTES);
    common.map_or_else(|| folder.to_owned(), |text| folder.join(text.trim()))
}
