//! Builds segments from files on several threads with bounded memory. Huge, binary and foreign files are
//! indexed by name only.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::format::Postings;
use super::segment::{Doc, FIELDS, Field, SegmentWriter, key};
use crate::text::kind::{self, FilePurpose};
use crate::text::language::FileLanguage;
use crate::text::symbols;
use base::folder::exact;
use base::format::encoding;
use base::search::walk::{self, Walk};
use base::search::words;
use base::system::os;
use guard::redact::detector::{self, TextSource};

/// Further files aren't indexed; in a giant tree, Grep finds the rest.
const MAX_FILES: usize = 200_000;
/// Text per segment, which limits memory use.
const RUN_BYTES: u64 = 6 << 20;
/// More segments would slow down queries.
const MAX_RUNS: u64 = 64;
/// Fewer files are read by one thread.
const FEW_FILES: usize = 64;
const MAX_THREADS: usize = 4;
/// Bytes read of a code file, far above the usual size.
const MAX_CODE_BYTES: u64 = 1 << 20;
/// For data and settings only the start is informative.
const MAX_DATA_BYTES: u64 = 64 << 10;
/// For generated, vendored and similar files.
const MAX_FOREIGN_BYTES: u64 = 16 << 10;
/// Cache size: words whose terms are kept while building a segment.
const MAX_WORDS: usize = 8_192;
/// A file modified this recently may change again within the same tick of the file system's clock.
const TICK_NS: u64 = 30_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    pub path: Vec<u8>,
    pub size_bytes: u64,
    pub modified_ns: u64,
}

/// All regular files that aren't hidden or ignored, sorted by path.
pub fn scan(root: &Path) -> Vec<ProjectFile> {
    let found: Mutex<Vec<ProjectFile>> = Mutex::default();
    Walk::new(root).visit(&AtomicBool::new(false), |entry| {
        if !walk::is_file(entry) {
            return;
        }
        let Ok(meta) = entry.metadata() else { return };
        let Ok(path) = entry.path().strip_prefix(root) else { return };
        let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let file = ProjectFile {
            path: path.as_os_str().as_encoded_bytes().to_vec(),
            size_bytes: meta.len(),
            modified_ns: modified.map_or(1, |since| (since.as_nanos() as u64).max(1)),
        };
        found.lock().push(file);
    });
    let mut found = found.into_inner();
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found.truncate(MAX_FILES);
    found
}

/// Reads `files` and writes segments into `folder`; returns their names.
pub fn build(root: &Path, folder: &Path, files: &[ProjectFile]) -> io::Result<Vec<String>> {
    let threads = match files.len() {
        0..FEW_FILES => 1,
        _ => std::thread::available_parallelism().map_or(2, usize::from).min(MAX_THREADS),
    };
    let size = |file: &ProjectFile| file.size_bytes.min(read_limit(&String::from_utf8_lossy(&file.path)));
    let total: u64 = files.iter().map(size).sum();
    let run_bytes = RUN_BYTES.min(total / threads as u64 + 1).max(total / MAX_RUNS);
    let mut filled = 0;
    let runs: Vec<&[ProjectFile]> = files
        .chunk_by(|file, _| {
            filled += size(file);
            let room = filled < run_bytes;
            filled = if room { filled } else { 0 };
            room
        })
        .collect();
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut buffer = Buffer::default();
            run.iter().for_each(|file| buffer.add(root, file));
            let name = fresh_name();
            buffer.write(&folder.join(&name))?;
            names.push(name);
        }
        Ok(names)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut names = work();
        for other in others {
            let more = other.join().unwrap_or_else(|_| Err(io::Error::other("a file could not be indexed")));
            names = names.and_then(|names| Ok([names, more?].concat()));
        }
        names
    })
}

pub const ENDING: &str = "part";

pub fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:08x}-{count:x}-{:08x}.{ENDING}", std::process::id(), fastrand::u32(..))
}

#[derive(Default)]
struct Buffer {
    docs: Vec<Doc>,
    passages: u32,
    ids: FxHashMap<Box<str>, u32>,
    terms: Vec<Term>,
    words: FxHashMap<Box<str>, Box<[u32]>>,
    /// Terms counted since the last `store`.
    touched: Vec<u32>,
}

#[derive(Default)]
struct Term {
    count: u32,
    body: Postings,
    /// For the fields other than the body; most words aren't in any name.
    names: Option<Box<[Postings; FIELDS.len() - 1]>>,
}

impl Term {
    fn list(&self, field: Field) -> Option<&Postings> {
        match (field as usize).checked_sub(1) {
            None => Some(&self.body),
            Some(name) => Some(&self.names.as_ref()?[name]),
        }
    }

    fn list_mut(&mut self, field: Field) -> &mut Postings {
        match (field as usize).checked_sub(1) {
            None => &mut self.body,
            Some(name) => &mut self.names.get_or_insert_default()[name],
        }
    }
}

impl Buffer {
    /// A file that can't be read is indexed by name only.
    fn add(&mut self, root: &Path, file: &ProjectFile) {
        let name = String::from_utf8_lossy(&file.path);
        let language = FileLanguage::of(&name);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let path = os::path_of(file.path.clone());
        let text = read(&root.join(&path), read_limit(&name));
        // Secrets must not leave words in the index.
        let text = detector::blank(&text, TextSource::of_file(&path));
        // An exported session says what was asked, not where it belongs.
        let text = if kind::is_exported_session(&text) { "".into() } else { text };
        let number = self.docs.len() as u32;
        let mut passages = Vec::new();
        each_passage(&text, |passage| {
            passages.push(self.count(passage));
            self.store(Field::Body, self.passages);
            self.passages += 1;
        });
        let symbols = symbols::symbols(language, &text);
        for symbol in &symbols {
            let id = self.id(&symbol.to_lowercase());
            touch(&mut self.terms, &mut self.touched, id);
        }
        self.store(Field::Symbol, number);
        self.count(&name);
        self.store(Field::Path, number);
        self.docs.push(Doc {
            path: file.path.clone(),
            size_bytes: file.size_bytes,
            // 0 never matches, so a file that may still change unnoticed is read again.
            modified_ns: if now.abs_diff(file.modified_ns) < TICK_NS { 0 } else { file.modified_ns },
            language,
            kind: FilePurpose::of(&name, language, &text),
            passages: passages.into(),
        });
    }

    fn count(&mut self, text: &str) -> u32 {
        let mut total = 0;
        words::raw(text, |word| {
            if !self.words.contains_key(word) {
                let mut expansion = Vec::new();
                words::expand(word, |term, _| expansion.push(self.id(term)));
                if self.words.len() == MAX_WORDS {
                    self.words.clear();
                }
                self.words.insert(word.into(), expansion.into());
            }
            let expansion = &self.words[word];
            total += u32::from(!expansion.is_empty());
            for &id in expansion {
                touch(&mut self.terms, &mut self.touched, id);
            }
        });
        total
    }

    fn id(&mut self, term: &str) -> u32 {
        if let Some(id) = self.ids.get(term) {
            return *id;
        }
        let id = self.terms.len() as u32;
        self.terms.push(Term::default());
        self.ids.insert(term.into(), id);
        id
    }

    /// Assigns the counted terms to this passage or file.
    fn store(&mut self, field: Field, id: u32) {
        for term in self.touched.drain(..) {
            let term = &mut self.terms[term as usize];
            let times = std::mem::take(&mut term.count);
            term.list_mut(field).push(id, times);
        }
    }

    fn write(self, path: &Path) -> io::Result<()> {
        let mut sorted: Vec<(&str, &Term)> =
            self.ids.iter().map(|(text, id)| (&**text, &self.terms[*id as usize])).collect();
        sorted.sort_unstable_by_key(|(text, _)| *text);
        let mut writer = SegmentWriter::create(path)?;
        for field in FIELDS {
            for (text, term) in &sorted {
                if let Some(list) = term.list(field).filter(|list| list.count > 0) {
                    writer.term(&key(field, text), list)?;
                }
            }
        }
        writer.finish(&self.docs)
    }
}

fn read_limit(name: &str) -> u64 {
    let language = FileLanguage::of(name);
    match (FilePurpose::of(name, language, ""), language) {
        (FilePurpose::Foreign, _) => MAX_FOREIGN_BYTES,
        (_, FileLanguage::Data) => MAX_DATA_BYTES,
        _ => MAX_CODE_BYTES,
    }
}

fn touch(terms: &mut [Term], touched: &mut Vec<u32>, id: u32) {
    let term = &mut terms[id as usize];
    if term.count == 0 {
        touched.push(id);
    }
    term.count += 1;
}

fn read(path: &Path, limit: u64) -> String {
    let Ok(handle) = exact::open_seen(path) else { return String::new() };
    let mut bytes = Vec::new();
    if handle.take(limit).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    let wide = encoding::has_utf16_bom(&bytes);
    if !wide && encoding::looks_binary(&bytes[..bytes.len().min(8_192)]) {
        return String::new();
    }
    String::from_utf8(bytes).unwrap_or_else(|error| match encoding::decode(error.as_bytes()) {
        Ok((text, _)) if wide => text,
        _ => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// A passage has at least this many lines, and ends at the next blank line or unindented definition.
const MIN_LINES: usize = 40;
const MAX_LINES: usize = 80;
const MAX_BYTES: usize = 4_000;

fn each_passage<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    let mut start = 0;
    let mut lines = 0_usize;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let margin = line.trim_end().is_empty() || !line.starts_with([' ', '\t', '}', ')', ']']);
        let full = lines >= MIN_LINES && margin
            || lines >= MAX_LINES
            || at - start + line.len() > MAX_BYTES && lines > 0;
        if full {
            each(&text[start..at]);
            start = at;
            lines = 0;
        }
        at += line.len();
        lines += 1;
    }
    if start < text.len() {
        each(&text[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_cover_the_text() {
        let text: String =
            (0..500).map(|n| if n % 7 == 0 { "\n".into() } else { format!("    line {n}\n") }).collect();
        let mut joined = String::new();
        each_passage(&text, |passage| {
            assert!(passage.lines().count() <= MAX_LINES);
            joined.push_str(passage);
        });
        assert_eq!(joined, text);
        each_passage("", |_| unreachable!());
    }
}
