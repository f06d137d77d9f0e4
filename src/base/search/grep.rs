//! Searches file contents with ripgrep's engine, on two cores, with reproducible results: sorted by path and
//! line, fully counted, cut at a limit.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use globset::GlobMatcher;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use parking_lot::Mutex;

use super::walk::{self, Walk};
use crate::file::FileError;
use crate::folder::exact;

pub const MAX_MATCHES: usize = 100_000;
/// Longer lines make a file unsearchable, because they would have to be kept in memory.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
pub const LINE_CHARS: usize = 200;
/// After this time, a search returns what it has.
const MAX_TIME: Duration = Duration::from_secs(20);

pub struct GrepQuery {
    pub matcher: RegexMatcher,
    pub include: Option<GlobMatcher>,
    pub context: usize,
    pub limit: usize,
    pub per_file: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchLine {
    pub number: u64,
    /// Without line end, cut to about [`LINE_CHARS`] characters.
    pub text: String,
    pub is_match: bool,
}

#[derive(Clone, Debug, Default)]
pub struct FileHits {
    pub lines: Vec<MatchLine>,
    /// All matching lines of the file, including those beyond `per_file`.
    pub matches: usize,
    kept: usize,
}

#[derive(Debug, Default)]
pub struct GrepMatches {
    /// In path order; only as many as needed for `limit` matches.
    pub files: BTreeMap<PathBuf, FileHits>,
    pub total_matches: usize,
    pub total_files: usize,
    pub searched: usize,
    /// Files that couldn't be searched completely (a line too long, no permission).
    pub failed: usize,
    pub closed: usize,
    /// Whether the search ended early (cancelled, too many matches, timeout).
    pub incomplete: bool,
}

pub fn matcher(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// Searches the tree or file at `walk.root`, which must contain no link. Blocks; polls `cancelled`.
pub fn search(walk: &Walk, query: &GrepQuery, cancelled: impl Fn() -> bool + Sync) -> GrepMatches {
    let stop = AtomicBool::new(false);
    let totals = [const { AtomicUsize::new(0) }; 4];
    let [matches, files, searched, failed] = &totals;
    let kept: Mutex<BTreeMap<PathBuf, FileHits>> = Mutex::default();
    // Searchers have buffers worth reusing.
    let spare: Mutex<Vec<Searcher>> = Mutex::default();
    let began = Instant::now();
    let walked = walk.visit(&stop, |entry| {
        if cancelled() || began.elapsed() > MAX_TIME {
            stop.store(true, Ordering::Relaxed);
            return;
        }
        if !walk::is_file(entry) || !included(query, &walk.root, entry) {
            return;
        }
        searched.fetch_add(1, Ordering::Relaxed);
        let taken = spare.lock().pop();
        let mut searcher = taken.unwrap_or_else(|| new_searcher(query.context));
        let (hits, ok) = search_file(&mut searcher, entry.path(), query, &stop, matches);
        spare.lock().push(searcher);
        if !ok {
            failed.fetch_add(1, Ordering::Relaxed);
        }
        if hits.matches > 0 {
            files.fetch_add(1, Ordering::Relaxed);
            keep(&mut kept.lock(), entry.path(), hits, query.limit);
        }
    });
    let [total_matches, total_files, searched, failed] = totals.map(AtomicUsize::into_inner);
    let files = kept.into_inner();
    GrepMatches {
        files,
        total_matches,
        total_files,
        searched,
        failed,
        closed: walked.closed,
        incomplete: !walked.complete,
    }
}

fn included(query: &GrepQuery, root: &Path, entry: &ignore::DirEntry) -> bool {
    // An explicitly named file is always searched.
    let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
    entry.depth() == 0 || query.include.as_ref().is_none_or(|glob| glob.is_match(relative))
}

/// Drops the last files beyond the limit, which limits memory and keeps the result independent of thread timing.
fn keep(kept: &mut BTreeMap<PathBuf, FileHits>, path: &Path, hits: FileHits, limit: usize) {
    kept.insert(path.to_owned(), hits);
    let mut total: usize = kept.values().map(|hits| hits.kept).sum();
    while let Some(last) = kept.last_entry() {
        if total - last.get().kept < limit {
            break;
        }
        total -= last.get().kept;
        last.remove();
    }
}

fn new_searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES))
        .build()
}

fn search_file(
    searcher: &mut Searcher,
    path: &Path,
    query: &GrepQuery,
    stop: &AtomicBool,
    matches: &AtomicUsize,
) -> (FileHits, bool) {
    let mut sink = Collect { hits: FileHits::default(), query, stop, matches, binary: false };
    let done = match exact::open_seen(path) {
        Ok(file) => searcher.search_file(&query.matcher, &file, &mut sink).is_ok(),
        // It vanished, or a folder above was replaced by a link during the walk.
        Err(FileError::NotFound | FileError::Links) => true,
        Err(_) => false,
    };
    if sink.binary {
        // Matches before the first NUL byte of a binary file are noise.
        matches.fetch_sub(sink.hits.matches, Ordering::Relaxed);
        return (FileHits::default(), true);
    }
    (sink.hits, done)
}

struct Collect<'a> {
    hits: FileHits,
    query: &'a GrepQuery,
    stop: &'a AtomicBool,
    matches: &'a AtomicUsize,
    binary: bool,
}

impl Collect<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let focus =
            if is_match { self.query.matcher.find(bytes).ok().flatten().map_or(0, |m| m.start()) } else { 0 };
        let line = MatchLine { number: number.unwrap_or(0), text: elide_around(bytes, focus), is_match };
        self.hits.lines.push(line);
    }
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.hits.matches += 1;
        if self.hits.kept < self.query.per_file {
            self.hits.kept += 1;
            self.push(found.line_number(), found.bytes(), true);
        }
        if self.matches.fetch_add(1, Ordering::Relaxed) >= MAX_MATCHES {
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(!self.stop.load(Ordering::Relaxed))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.hits.kept < self.query.per_file || self.hits.kept == self.hits.matches {
            self.push(line.line_number(), line.bytes(), false);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// The line as text; for a long one, the part around byte `focus`.
fn elide_around(bytes: &[u8], focus: usize) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() <= LINE_CHARS {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // A byte window with enough characters, so that a huge line isn't fully decoded.
    let from = focus.saturating_sub(LINE_CHARS * 2);
    let to = (focus + LINE_CHARS * 4).min(bytes.len());
    let before = String::from_utf8_lossy(&bytes[from..focus.min(bytes.len())]);
    let after = String::from_utf8_lossy(&bytes[focus.min(bytes.len())..to]);
    let lead: Vec<char> = before.chars().rev().take(LINE_CHARS / 4).collect();
    let mut text = String::new();
    if lead.len() < before.chars().count() || from > 0 {
        text.push('…');
    }
    text.extend(lead.iter().rev());
    let room = LINE_CHARS - lead.len();
    text.extend(after.chars().take(room));
    if after.chars().count() > room || to < bytes.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn query(pattern: &str, limit: usize) -> GrepQuery {
        GrepQuery {
            matcher: matcher(pattern, false).unwrap(),
            include: None,
            context: 0,
            limit,
            per_file: limit,
        }
    }

    #[test]
    fn ordered_counted_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for n in 0..40 {
            std::fs::write(root.join(format!("f{n:02}.txt")), "x\ny\nx\n").unwrap();
        }
        std::fs::write(root.join("a.bin"), b"x\n\0x\n").unwrap();
        for _ in 0..5 {
            let found = search(&Walk::new(&root), &query("x", 5), || false);
            assert_eq!((found.total_matches, found.total_files, found.files.len()), (80, 40, 3));
            assert!(found.files.keys().next().unwrap().ends_with("f00.txt"));
            assert!(!found.incomplete && found.failed == 0);
        }
        assert!(search(&Walk::new(&root), &query("x", 5), || true).incomplete);
    }

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let line = format!("{}needle{}\r\n", "é".repeat(500), "b".repeat(500));
        let shown = elide_around(line.as_bytes(), 1000);
        assert!(shown.contains("éneedleb") && shown.chars().count() <= LINE_CHARS + 2);
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(elide_around(b"short\r\n", 0), "short");
    }
}
