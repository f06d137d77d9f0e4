//! Files for a task, ranked: the one entrance for the command, the tool and the task context.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::companions::{self, Companion};
use super::gather;
use super::names::Names;
use super::query::Query;
use super::signals::best;
use super::verbatim;
use crate::base::folder::temporary;
use crate::evidence::categorize::{self, Role};
use crate::evidence::commits::cache;
use crate::evidence::commits::history::CommitHistory;
use crate::evidence::index::format::Damaged;
use crate::evidence::index::store::Index;
use crate::evidence::index::store::IndexStore;
use crate::evidence::text::kind::FilePurpose;

/// Lines shown of a file, and characters of each.
pub const MAX_LINES: usize = 5;
pub const MAX_LINE_CHARS: usize = 100;
/// Files whose companions are looked for.
const MAX_GIVEN: usize = 8;

/// A ranked file.
#[derive(Clone, Debug)]
pub struct RankedFile {
    /// Relative, `/`-separated.
    pub path: String,
    pub score: f32,
    pub kind: FilePurpose,
    /// What each signal adds to the score, with its word.
    pub parts: Vec<(Cow<'static, str>, f32)>,
    /// (number from 1, line).
    pub lines: Vec<(u32, String)>,
}

/// A project with its index and its past.
pub struct Project {
    root: PathBuf,
    folder: PathBuf,
    store: IndexStore,
    pub index: Index,
    pub history: CommitHistory,
    /// Why the index could not be kept, so that the next opening builds it again.
    pub unkept: Option<String>,
}

impl Project {
    /// Opens the project at `root` with everything up to date; `state` is the project's state folder. Where nothing can be
    /// kept there, the index lives for this opening only.
    ///
    /// # Errors
    /// When the index cannot be written anywhere, or another process takes too long to build it.
    pub fn open(root: &Path, state: &Path) -> io::Result<Self> {
        let folder = state.join("evidence");
        match Self::open_in(root, &folder) {
            Err(error) if error.kind() != io::ErrorKind::TimedOut => {
                let temporary = temporary_folder(root)?;
                let opened = Self::open_in(root, &temporary);
                // What is open stays readable; nothing is left behind.
                let _ = std::fs::remove_dir_all(&temporary);
                opened.map(|project| Self { folder, unkept: Some(error.to_string()), ..project })
            }
            opened => opened,
        }
    }

    fn open_in(root: &Path, folder: &Path) -> io::Result<Self> {
        let store = IndexStore::new(root, folder);
        let (index, history) = std::thread::scope(|scope| {
            let past = scope.spawn(|| cache::refreshed(root, folder));
            (store.refreshed(), past.join().unwrap_or_default())
        });
        let (index, _) = index?;
        Ok(Self { root: root.to_owned(), folder: folder.to_owned(), store, index, history, unkept: None })
    }

    /// Where the project's evidence is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The text of one of its files, or nothing.
    pub fn text(&self, path: &str) -> String {
        verbatim::text_of(&self.root, path.as_bytes())
    }

    /// The `limit` files that fit `text` best, each with its role.
    ///
    /// # Errors
    /// [`Damaged`]; the index is then dropped and the next opening rebuilds it.
    pub fn locate(&self, text: &str, limit: usize) -> Result<Vec<(RankedFile, Role)>, Damaged> {
        let query = Query::parse(text);
        let columns = gather::gather(&self.root, &self.index, &self.history, &query)
            .inspect_err(|_| self.store.forget())?;
        let scores = columns.scores();
        let order = best(&scores, limit);
        let parts = columns.parts(&order).into_iter();
        let parts = parts.map(|parts| parts.into_iter().map(|(word, value)| (word.into(), value)).collect());
        let ranked = order.into_iter().zip(parts).map(|(number, parts)| (number, scores[number], parts));
        let hits = self.ranked(&query, ranked);
        let facts: Vec<(&str, FilePurpose, f32)> =
            hits.iter().map(|hit| (hit.path.as_str(), hit.kind, hit.score)).collect();
        let roles = categorize::roles(&facts);
        Ok(hits.into_iter().zip(roles).collect())
    }

    /// The `limit` files that belong to these, which are part of the change already, and which of them are not known. What
    /// `text` says of the task, if anything, counts too.
    ///
    /// # Errors
    /// [`Damaged`], as for [`Project::locate`].
    pub fn companions(
        &self,
        paths: &[String],
        text: &str,
        limit: usize,
    ) -> Result<(Vec<RankedFile>, Vec<String>), Damaged> {
        let names = Names::new(&self.index);
        let (mut given, mut unknown) = (Vec::new(), Vec::new());
        for path in paths {
            match names.named(path) {
                Some(file) if !given.contains(&file) => given.push(file),
                Some(_) => {}
                None => unknown.push(path.clone()),
            }
        }
        if given.is_empty() {
            return Ok((Vec::new(), unknown));
        }
        given.truncate(MAX_GIVEN);
        let query = Query::parse(text);
        let found = gather::task(&self.root, &self.index, &self.history, &query)
            .and_then(|task| {
                companions::companions(&self.root, &self.index, &names, &self.history, &given, &task, limit)
            })
            .inspect_err(|_| self.store.forget())?;
        Ok((self.ranked(&query, found.into_iter()), unknown))
    }

    /// The files with what is shown of them.
    fn ranked(&self, query: &Query, files: impl Iterator<Item = Companion>) -> Vec<RankedFile> {
        let weights: FxHashMap<&str, f32> = query
            .words
            .iter()
            .map(|word| (word.term.as_str(), word.weight * if word.in_title { 1.5 } else { 1.0 }))
            .collect();
        let names: FxHashMap<&str, f32> =
            query.identifiers.iter().map(|(name, sure)| (name.as_str(), *sure)).collect();
        let hits = files.filter_map(|(number, score, parts)| {
            let doc = self.index.doc(number)?;
            let text = verbatim::text_of(&self.root, &doc.path);
            Some(RankedFile {
                path: doc.name(),
                score,
                kind: doc.kind,
                parts,
                lines: verbatim::lines(&weights, &names, &text, MAX_LINES, MAX_LINE_CHARS),
            })
        });
        hits.collect()
    }
}

/// A fresh folder that only this user can read.
fn temporary_folder(root: &Path) -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    let name = format!("mycode-index-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let folder = temporary::folder_outside(root)?.join(name);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

impl RankedFile {
    /// Why, in words: the signals that add most.
    pub fn reasons(&self) -> Vec<&str> {
        let mut telling: Vec<_> = self.parts.iter().filter(|(_, value)| *value > 0.15).collect();
        telling.sort_by(|a, b| b.1.total_cmp(&a.1));
        telling.into_iter().take(4).map(|(word, _)| word.as_ref()).collect()
    }
}
