//! A server's diagnostics by file, which of them are known (from before the model's edits, or already reported), and how
//! the model is told about new ones.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::protocol::{Finding, Severity};
use base::text::one_line;

const FILES: usize = 2_000;
const LINES: usize = 8;
const BYTES: usize = 700;
const ELSEWHERE: usize = 3;
const MESSAGE_CHARS: usize = 160;

pub struct Sent {
    pub version: Option<i64>,
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

    /// Whether the server has pushed findings for this version after message number `after`.
    pub fn is_told(&self, path: &Path, version: i32, after: u64) -> bool {
        let of_this = |sent: &Sent| sent.version.is_none_or(|of| of >= i64::from(version));
        self.sent.get(path).is_some_and(|sent| sent.number > after && of_this(sent))
    }

    pub fn is_known(&self, path: &Path) -> bool {
        self.known.contains_key(path)
    }

    /// `answered`: only requested ones count, because pushed findings come from the disk, which has the edit already.
    pub fn know(&mut self, path: &Path, text: &str, answered: bool) {
        let found =
            if answered { self.pulled.get(path).cloned().unwrap_or_default() } else { self.in_file(path) };
        self.known.insert(path.to_owned(), known(&found, text));
    }

    fn in_file(&self, path: &Path) -> Vec<Finding> {
        let sent = self.sent.get(path).map(|sent| &sent.findings);
        let mut found: Vec<Finding> =
            self.pulled.get(path).into_iter().chain(sent).flatten().cloned().collect();
        found.sort_by(|a, b| (a.line, a.column, &a.message).cmp(&(b.line, b.column, &b.message)));
        found.dedup();
        found
    }

    /// New findings in the file; marks them as known.
    pub fn new_in(&mut self, path: &Path, text: &str) -> Vec<Finding> {
        let found = self.in_file(path);
        let known = self.known.insert(path.to_owned(), known(&found, text)).unwrap_or_default();
        not_known(&found, text, &known).into_iter().cloned().collect()
    }

    /// New errors in all other files; marks them as known.
    pub fn new_elsewhere(&mut self, except: impl Fn(&Path) -> bool) -> Vec<(PathBuf, Finding)> {
        let mut new = Vec::new();
        for (path, sent) in self.sent.iter().filter(|(path, _)| !except(path)) {
            let known = self.known.insert(path.clone(), known(&sent.findings, "")).unwrap_or_default();
            let fresh = not_known(&sent.findings, "", &known).into_iter();
            let errors = fresh.filter(|finding| finding.severity == Severity::Error);
            new.extend(errors.map(|finding| (path.clone(), finding.clone())));
        }
        new.sort_by(|(a, _), (b, _)| a.cmp(b));
        new
    }
}

/// Identifies a finding even if lines above it are added or removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    severity: Severity,
    message: String,
    /// The text of its line; empty if unavailable.
    line: String,
}

type Known = HashMap<Key, usize>;

fn key(finding: &Finding, text: &str) -> Key {
    let line = text.lines().nth(finding.line as usize).unwrap_or("").trim().to_owned();
    Key { severity: finding.severity, message: finding.message.clone(), line }
}

fn known(findings: &[Finding], text: &str) -> Known {
    let mut known = Known::new();
    for finding in findings {
        *known.entry(key(finding, text)).or_default() += 1;
    }
    known
}

/// Findings not in `known`, worst first, without hints.
fn not_known<'a>(findings: &'a [Finding], text: &str, known: &Known) -> Vec<&'a Finding> {
    let mut left = known.clone();
    let mut is_new = |finding: &&Finding| match left.get_mut(&key(finding, text)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => finding.severity < Severity::Hint,
    };
    let mut new: Vec<&Finding> = findings.iter().filter(|finding| is_new(finding)).collect();
    new.sort_by_key(|finding| (finding.severity, finding.line, finding.column));
    // The server and the compiler that it runs may both report it.
    new.dedup_by(|b, a| a.code.is_some() && (a.line, a.column, &a.code) == (b.line, b.column, &b.code));
    // Other findings on a line with an error are usually caused by it.
    let wrong: HashSet<u32> = new
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| finding.line)
        .collect();
    new.retain(|finding| finding.severity == Severity::Error || !wrong.contains(&finding.line));
    new
}

/// One line for the model; `column` is 1-based.
pub fn line(shown: &str, finding: &Finding, column: usize) -> String {
    let message = one_line(finding.message.trim(), MESSAGE_CHARS);
    let code = finding.code.as_deref().map(|code| format!(" [{}]", one_line(code, 60))).unwrap_or_default();
    let severity = format!("{:?}", finding.severity).to_lowercase();
    format!("{shown}:{}:{column} {severity} {message}{code}", finding.line + 1)
}

/// The report of one server: the file's own findings, then a few in others.
pub fn report(server: &str, own: &[String], elsewhere: &[String]) -> Option<String> {
    let total = own.len() + elsewhere.len();
    if total == 0 {
        return None;
    }
    let room = LINES.saturating_sub(elsewhere.len().min(ELSEWHERE));
    let mut text = format!("New problems ({server}):");
    let mut shown = 0;
    for line in own.iter().take(room).chain(elsewhere.iter().take(ELSEWHERE)) {
        if shown > 0 && text.len() + line.len() > BYTES {
            break;
        }
        text.push('\n');
        text.push_str(line);
        shown += 1;
    }
    if total > shown {
        text.push_str(&format!("\n{} more", total - shown));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: u32, severity: Severity, message: &str) -> Finding {
        Finding { line, column: 0, severity, message: message.to_owned(), code: None }
    }

    #[test]
    fn only_what_is_new() {
        let before = [finding(0, Severity::Error, "old"), finding(1, Severity::Warning, "old too")];
        let known = known(&before, "a\nb\n");
        // A line was inserted above: the same findings, one line down.
        let after = [
            finding(1, Severity::Error, "old"),
            finding(2, Severity::Warning, "old too"),
            finding(4, Severity::Warning, "fresh"),
            finding(0, Severity::Warning, "follows"),
            finding(0, Severity::Error, "worse"),
            finding(0, Severity::Hint, "dull"),
        ];
        let told: Vec<&str> =
            not_known(&after, "new\na\nb\n", &known).iter().map(|f| f.message.as_str()).collect();
        assert_eq!(told, ["worse", "fresh"]);
        // The same message on another line is a different finding.
        let moved = [finding(0, Severity::Error, "old")];
        assert_eq!(not_known(&moved, "c\n", &known).len(), 1);
    }

    #[test]
    fn reports_are_short() {
        assert_eq!(report("x", &[], &[]), None);
        let own: Vec<String> = (0..20).map(|n| format!("a.rs:{n}:1 error e")).collect();
        let other = ["b.rs:1:1 error e".to_owned()];
        let text = report("x", &own, &other).unwrap_or_default();
        assert_eq!(text.lines().count(), 10, "{text}");
        assert!(text.contains("b.rs") && text.ends_with("\n13 more"), "{text}");
        let long: Vec<String> = (0..8).map(|_| "y".repeat(300)).collect();
        assert!(report("x", &long, &[]).is_some_and(|text| text.len() < 800));
    }
}
