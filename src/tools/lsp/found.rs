//! What a server has found, file by file, and what of that is known already: what was there before the model's edits, or was
//! told.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::findings::{self, Known};
use super::protocol::{Finding, Severity};

/// Files of which findings are kept.
const FILES: usize = 2_000;

/// What a server has sent of a file.
pub struct Sent {
    pub version: Option<i64>,
    /// Among all that came.
    pub number: u64,
    pub findings: Vec<Finding>,
}

/// What one server has found.
#[derive(Default)]
pub struct Found {
    sent: HashMap<PathBuf, Sent>,
    pulled: HashMap<PathBuf, Vec<Finding>>,
    known: HashMap<PathBuf, Known>,
}

impl Found {
    /// Takes what the server has sent.
    pub fn sent(&mut self, path: PathBuf, sent: Sent) {
        if self.sent.len() < FILES || self.sent.contains_key(&path) {
            self.sent.insert(path, sent);
        }
    }

    /// Takes what it has answered.
    pub fn pulled(&mut self, path: PathBuf, findings: Vec<Finding>) {
        self.pulled.insert(path, findings);
    }

    /// The file is not shown any more.
    pub fn forget(&mut self, path: &Path) {
        self.pulled.remove(path);
        self.known.remove(path);
    }

    /// Whether it has sent something about this version of the file, after so much.
    pub fn is_told(&self, path: &Path, version: i32, after: u64) -> bool {
        let of_this = |sent: &Sent| sent.version.is_none_or(|of| of >= i64::from(version));
        self.sent.get(path).is_some_and(|sent| sent.number > after && of_this(sent))
    }

    pub fn is_known(&self, path: &Path) -> bool {
        self.known.contains_key(path)
    }

    /// What there is in the file is known. What one sends that is asked otherwise is found on the disk, where an edit is done
    /// already: `answered` takes only the other.
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

    /// What is new in the file; it is known from here on.
    pub fn new_in(&mut self, path: &Path, text: &str) -> Vec<Finding> {
        let found = self.in_file(path);
        let known = self.known.insert(path.to_owned(), findings::known(&found, text)).unwrap_or_default();
        findings::new(&found, text, &known).into_iter().cloned().collect()
    }

    /// The new errors in all files but those; they are known from here on.
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
