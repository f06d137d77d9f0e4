//! A server's findings by file, and which are known: from before the model's edits, or already reported.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::findings::{self, Known};
use super::protocol::{Finding, Severity};

const FILES: usize = 2_000;

pub struct Sent {
    pub version: Option<i64>,
    /// Position among all messages.
    pub number: u64,
    pub findings: Vec<Finding>,
}

#[derive(Default)]
pub struct Found {
    sent: HashMap<PathBuf, Sent>,
    pulled: HashMap<PathBuf, Vec<Finding>>,
    known: HashMap<PathBuf, Known>,
}

impl Found {
    pub fn sent(&mut self, path: PathBuf, sent: Sent) {
        if self.sent.len() < FILES || self.sent.contains_key(&path) {
            self.sent.insert(path, sent);
        }
    }

    pub fn pulled(&mut self, path: PathBuf, findings: Vec<Finding>) {
        self.pulled.insert(path, findings);
    }

    pub fn forget(&mut self, path: &Path) {
        self.pulled.remove(path);
        self.known.remove(path);
    }

    /// Whether the server has pushed findings for this version since message `after`.
    pub fn is_told(&self, path: &Path, version: i32, after: u64) -> bool {
        let of_this = |sent: &Sent| sent.version.is_none_or(|of| of >= i64::from(version));
        self.sent.get(path).is_some_and(|sent| sent.number > after && of_this(sent))
    }

    pub fn is_known(&self, path: &Path) -> bool {
        self.known.contains_key(path)
    }

    /// Marks the current findings as known. With `answered` only requested ones count: pushed findings come
    /// from the disk, where the edit is already made.
    pub fn know(&mut self, path: &Path, text: &str, answered: bool) {
        let found = match answered {
            true => self.pulled.get(path).cloned().unwrap_or_default(),
            false => self.in_file(path),
        };
        self.known.insert(path.to_owned(), findings::known(&found, text));
    }

    fn in_file(&self, path: &Path) -> Vec<Finding> {
        let sent = self.sent.get(path).map(|sent| &sent.findings);
        let mut found: Vec<Finding> =
            self.pulled.get(path).into_iter().chain(sent).flatten().cloned().collect();
        found.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
        found.dedup();
        found
    }

    /// New findings in the file, which become known.
    pub fn new_in(&mut self, path: &Path, text: &str) -> Vec<Finding> {
        let found = self.in_file(path);
        let known = self.known.insert(path.to_owned(), findings::known(&found, text)).unwrap_or_default();
        findings::new(&found, text, &known).into_iter().cloned().collect()
    }

    /// New errors in all other files, which become known.
    pub fn new_elsewhere(&mut self, except: impl Fn(&Path) -> bool) -> Vec<(PathBuf, Finding)> {
        let mut new = Vec::new();
        for (path, sent) in self.sent.iter().filter(|(path, _)| !except(path)) {
            let known =
                self.known.insert(path.clone(), findings::known(&sent.findings, "")).unwrap_or_default();
            let fresh = findings::new(&sent.findings, "", &known).into_iter();
            let errors = fresh.filter(|finding| finding.severity == Severity::Error);
            new.extend(errors.map(|finding| (path.clone(), finding.clone())));
        }
        new.sort_by(|(a, _), (b, _)| a.cmp(b));
        new
    }
}
