//! A part of the index while it is gathered in memory: words with their places, files with their facts.

use rustc_hash::FxHashMap;

use super::codec::Postings;
use crate::evidence::text::kind::FilePurpose;
use crate::evidence::text::language::Language;

/// Which words are looked up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Everything in the text, by piece.
    Body = 0,
    /// Whole names that a file defines.
    Symbol = 1,
    /// Parts of the names that a file defines.
    SymbolPart = 2,
    /// Parts of the path.
    Path = 3,
}

/// All fields.
pub const FIELDS: [Field; 4] = [Field::Body, Field::Symbol, Field::SymbolPart, Field::Path];

/// One file as the index knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// Relative to the project's root, `/`-separated; bytes, since a name may be anything.
    pub path: Vec<u8>,
    pub size_bytes: u64,
    /// Nanoseconds since 1970; 0 when the file changed while it was read.
    pub modified_ns: u64,
    pub language: Language,
    pub kind: FilePurpose,
    pub lines: u32,
    /// Words in the body.
    pub words: u32,
    /// Words in names that it defines.
    pub symbol_words: u32,
    pub first_piece: u32,
    pub pieces: u32,
}

impl Doc {
    /// The path for people; what is no UTF-8 is shown as `�`.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

/// A piece of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// From 1.
    pub first_line: u32,
    pub words: u32,
}

/// What has been gathered.
#[derive(Default)]
pub struct IndexBuffer {
    pub docs: Vec<Doc>,
    /// For each file what it imports, as written, joined by line feeds.
    pub imports: Vec<String>,
    pub pieces: Vec<Passage>,
    pub terms: [FxHashMap<Box<str>, Postings>; 4],
}

impl IndexBuffer {
    /// Adds `times` of `term` at `place`: a piece for the body, else a file.
    pub fn add(&mut self, field: Field, term: &str, place: u32, times: u32) {
        let map = &mut self.terms[field as usize];
        match map.get_mut(term) {
            Some(list) => list.push(place, times),
            None => {
                let mut list = Postings::default();
                list.push(place, times);
                map.insert(term.into(), list);
            }
        }
    }
}
