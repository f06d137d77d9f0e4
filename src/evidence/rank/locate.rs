//! Ranks files for a task: the entry point for the command, the tool and the task context.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::chance::Chances;
use super::companions::{self, Companion};
use super::gather;
use super::query::{PLAIN_WORD, Query};
use super::signals::{GENERAL, Signal, best};
use super::verbatim;
use crate::categorize::{self, FileCategory};
use crate::commits::cache;
use crate::commits::history::CommitHistory;
use crate::index::format::Damaged;
use crate::index::store::{Index, IndexStore};
use crate::text::kind::FilePurpose;
use base::folder::temporary;
use base::system::os;

/// Files among which the probability is shared.
const RIVALS: usize = 100;
/// Smaller parts of a score aren't given as reasons.
const LEAST_REASON: f32 = 0.08;
pub const MAX_LINES: usize = 5;
pub const MAX_LINE_CHARS: usize = 100;

#[derive(Clone, Debug)]
pub struct RankedFile {
    number: usize,
    pub path: String,
    pub score: f32,
    /// Probability that the task changes it, 0–1; 0 if unknown.
    pub chance: f32,
    pub kind: FilePurpose,
    /// What each signal adds to the score, with its user-visible word.
    pub parts: Vec<(Cow<'static, str>, f32)>,
    /// (1-based number, line).
    pub lines: Vec<(u32, String)>,
}

pub struct Project {
    root: PathBuf,
    store: IndexStore,
    pub index: Index,
    pub history: CommitHistory,
    /// Why the index couldn't be stored, so that it must be rebuilt next time.
    pub unkept: Option<String>,
}

impl Project {
    /// Uses a temporary index if `state` isn't writable. Fails if another process takes too long to build the index.
    pub fn open(root: &Path, state: &Path) -> io::Result<Self> {
        let folder = state.join("evidence");
        match Self::open_in(root, &folder) {
            Err(error) if error.kind() != io::ErrorKind::TimedOut => {
                let temporary = temporary_folder(root)?;
                let opened = Self::open_in(root, &temporary);
                // Open files stay readable, so nothing needs to stay on disk.
                let _ = std::fs::remove_dir_all(&temporary);
                opened.map(|project| Self { unkept: Some(error.to_string()), ..project })
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
        Ok(Self { root: root.to_owned(), store, index, history, unkept: None })
    }

    /// The `limit` best files for `text`, each with its role.
    pub fn locate(&self, text: &str, limit: usize) -> Result<Vec<(RankedFile, FileCategory)>, Damaged> {
        let query = Query::parse(text);
        let mut files = self.rank(&query, limit)?;
        self.add_lines(&query, files.iter_mut().map(|(file, _)| file));
        Ok(files)
    }

    pub fn rank(&self, query: &Query, limit: usize) -> Result<Vec<(RankedFile, FileCategory)>, Damaged> {
        let columns = gather::gather(&self.root, &self.index, &self.history, query)
            .inspect_err(|_| self.store.forget())?;
        let scores = columns.scores();
        let order = best(&scores, limit.max(RIVALS));
        let body = columns.of(Signal::Body).iter().copied().fold(0.0, f32::max);
        let chances = Chances::new(order.iter().take(RIVALS).map(|file| scores[*file]), body);
        let parts = columns.parts(&order);
        let has_evidence = |parts: &[(&str, f32)]| parts.iter().any(|(_, value)| *value > 0.0);
        let found = order.into_iter().zip(parts).filter(|(_, parts)| has_evidence(parts)).take(limit);
        let hits = found.filter_map(|(number, parts)| {
            let parts = parts.into_iter().map(|(word, value)| (word.into(), value)).collect();
            self.ranked((number, scores[number], parts), chances.of(scores[number]))
        });
        let hits: Vec<RankedFile> = hits.collect();
        let facts: Vec<(&str, FilePurpose, f32)> =
            hits.iter().map(|hit| (hit.path.as_str(), hit.kind, hit.score)).collect();
        let roles = categorize::roles(&facts);
        Ok(hits.into_iter().zip(roles).collect())
    }

    /// Files related to `paths`, and unknown paths. `text` describes the task; may be empty.
    pub fn companions(
        &self,
        paths: &[String],
        text: &str,
        limit: usize,
    ) -> Result<(Vec<RankedFile>, Vec<String>), Damaged> {
        let (given, unknown) = companions::known(&self.root, &self.index, paths);
        if given.is_empty() {
            return Ok((Vec::new(), unknown));
        }
        let query = Query::parse(text);
        let found = gather::task(&self.root, &self.index, &self.history, &query)
            .and_then(|task| {
                companions::companions(&self.root, &self.index, &self.history, &given, &task, limit)
            })
            .inspect_err(|_| self.store.forget())?;
        let mut files: Vec<RankedFile> =
            found.into_iter().filter_map(|file| self.ranked(file, 0.0)).collect();
        self.add_lines(&query, files.iter_mut());
        Ok((files, unknown))
    }

    fn ranked(&self, (number, score, parts): Companion, chance: f32) -> Option<RankedFile> {
        let doc = self.index.doc(number)?;
        Some(RankedFile { number, path: doc.name(), score, chance, kind: doc.kind, parts, lines: Vec::new() })
    }

    pub fn add_lines<'a>(&self, query: &Query, files: impl Iterator<Item = &'a mut RankedFile>) {
        let weights: FxHashMap<&str, f32> = query
            .words
            .iter()
            .map(|word| (word.term.as_str(), word.weight * if word.in_title { 1.5 } else { 1.0 }))
            .collect();
        let names = query.identifiers.iter().filter(|(_, sure)| *sure > PLAIN_WORD);
        let names: FxHashMap<&str, f32> = names.map(|(name, sure)| (name.as_str(), *sure)).collect();
        for file in files {
            let Some(doc) = self.index.doc(file.number) else { continue };
            let text = verbatim::text_of(&self.root, &doc.path);
            file.lines = verbatim::lines(&file.path, &weights, &names, &text, MAX_LINES, MAX_LINE_CHARS);
        }
    }
}

fn temporary_folder(root: &Path) -> io::Result<PathBuf> {
    let name = format!("mycode-index-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let folder = temporary::folder_outside(root)?.join(name);
    os::private_folders().create(&folder)?;
    Ok(folder)
}

impl RankedFile {
    pub fn reasons(&self) -> Vec<&str> {
        let telling = self
            .parts
            .iter()
            .filter(|(_, value)| *value > LEAST_REASON)
            .map(|(word, value)| (word.as_ref(), value));
        let mut telling: Vec<(&str, &f32)> = telling.filter(|(word, _)| *word != companions::BUSY).collect();
        telling.sort_by(|a, b| GENERAL.contains(&a.0).cmp(&GENERAL.contains(&b.0)).then(b.1.total_cmp(a.1)));
        telling.into_iter().take(4).map(|(word, _)| word).collect()
    }
}
