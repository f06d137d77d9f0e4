//! One file into the run: read with limits, cut into pieces, words counted. Huge, binary and foreign files are
//! known by name only.

use std::io::Read;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::run::{Doc, Field, IndexBuffer, Passage};
use crate::base::encoding;
use crate::base::file;
use crate::evidence::text::chunks;
use crate::evidence::text::kind::FilePurpose;
use crate::evidence::text::language::Language;
use crate::evidence::text::symbols;
use crate::evidence::text::words;

/// More of a file is not read: code stays far under it.
const MAX_CODE_BYTES: u64 = 1 << 20;
/// Of data and settings only the beginning tells something.
const MAX_DATA_BYTES: u64 = 64 << 10;
/// Of what nobody edits by hand.
const MAX_FOREIGN_BYTES: u64 = 16 << 10;

/// Reads files into runs; keeps what it has learnt about words between files.
#[derive(Default)]
pub struct Extractor {
    ids: FxHashMap<Box<str>, u32>,
    /// For each word seen, its terms.
    expansions: Vec<Box<[u32]>>,
    words: FxHashMap<Box<str>, u32>,
    terms: Vec<Box<str>>,
    /// Times of each term in the current piece.
    counts: Vec<u32>,
    touched: Vec<u32>,
}

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Relative, `/`-separated.
    pub path: Vec<u8>,
    pub size_bytes: u64,
    pub modified_ns: u64,
}

impl Extractor {
    /// Reads the file under `root` and adds it to `run`. A file that cannot be read is known by name only. Returns the
    /// bytes of text taken.
    pub fn take(&mut self, root: &Path, entry: &Entry, run: &mut IndexBuffer) -> usize {
        use std::os::unix::ffi::OsStrExt;
        let name = String::from_utf8_lossy(&entry.path);
        let language = Language::of(&name);
        let path = root.join(std::ffi::OsStr::from_bytes(&entry.path));
        let by_name = FilePurpose::of(&name, language, "");
        let limit = match (by_name, language) {
            (FilePurpose::Foreign, _) => MAX_FOREIGN_BYTES,
            (_, Language::Data) => MAX_DATA_BYTES,
            _ => MAX_CODE_BYTES,
        };
        let text = read(&path, limit);
        let kind = FilePurpose::of(&name, language, &text);
        let doc = run.docs.len() as u32;
        let first_piece = run.pieces.len() as u32;
        let mut total = 0;
        let mut lines = 0;
        chunks::cut(&text, |first_line, piece| {
            lines = first_line + piece.bytes().filter(|&byte| byte == b'\n').count() as u32;
            let number = run.pieces.len() as u32;
            let count = self.count(piece, |term, times| run.add(Field::Body, term, number, times));
            run.pieces.push(Passage { first_line, words: count });
            total += count;
        });
        let outline = symbols::outline(language, &text);
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        for symbol in &outline.symbols {
            *names.entry(symbol.to_lowercase()).or_default() += 1;
        }
        for (symbol, times) in &names {
            run.add(Field::Symbol, symbol, doc, *times);
        }
        let joined = outline.symbols.join(" ");
        let symbol_words = self.count(&joined, |term, times| run.add(Field::SymbolPart, term, doc, times));
        self.count(&name, |term, times| run.add(Field::Path, term, doc, times));
        let mut imports = outline.imports;
        imports.sort();
        imports.dedup();
        run.docs.push(Doc {
            path: entry.path.clone(),
            size_bytes: entry.size_bytes,
            modified_ns: entry.modified_ns,
            language,
            kind,
            lines,
            words: total,
            symbol_words,
            first_piece,
            pieces: run.pieces.len() as u32 - first_piece,
        });
        run.imports.push(imports.join("\n"));
        text.len()
    }

    /// Counts the terms of `text`, gives each once to `each`, and returns how many words there were.
    fn count(&mut self, text: &str, mut each: impl FnMut(&str, u32)) -> u32 {
        let mut total = 0;
        words::raw(text, |word| {
            let id = match self.words.get(word) {
                Some(id) => *id,
                None => self.learn(word),
            };
            let expansion = &self.expansions[id as usize];
            total += u32::from(!expansion.is_empty());
            for &term in expansion {
                let count = &mut self.counts[term as usize];
                if *count == 0 {
                    self.touched.push(term);
                }
                *count += 1;
            }
        });
        for term in self.touched.drain(..) {
            each(&self.terms[term as usize], std::mem::take(&mut self.counts[term as usize]));
        }
        total
    }

    fn learn(&mut self, word: &str) -> u32 {
        let mut expansion = Vec::new();
        words::terms(word, |term, _| {
            let id = match self.ids.get(term) {
                Some(id) => *id,
                None => {
                    let id = self.terms.len() as u32;
                    self.terms.push(term.into());
                    self.counts.push(0);
                    self.ids.insert(term.into(), id);
                    id
                }
            };
            expansion.push(id);
        });
        let id = self.expansions.len() as u32;
        self.expansions.push(expansion.into());
        self.words.insert(word.into(), id);
        id
    }
}

/// The text, or nothing when it is none.
fn read(path: &Path, limit: u64) -> String {
    let Ok((handle, _)) = file::open(path) else { return String::new() };
    let mut bytes = Vec::new();
    if handle.take(limit).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    if !encoding::has_utf16_bom(&bytes) && encoding::looks_binary(&bytes[..bytes.len().min(8_192)]) {
        return String::new();
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let bytes = error.into_bytes();
            match encoding::decode(&bytes) {
                Ok((text, _)) if encoding::has_utf16_bom(&bytes) => text,
                _ => String::from_utf8_lossy(&bytes).into_owned(),
            }
        }
    }
}
