//! One part of the index as a file: words in order with their places, then files and pieces. Written once, read in
//! parts.

use std::io;
use std::path::Path;

use super::codec::{Cursor, Damaged, put_bytes, put_number};
use super::pages::{PageReader, PageWriter};
use super::run::{Doc, FIELDS, Field, IndexBuffer, Passage};
use crate::evidence::text::kind::FilePurpose;
use crate::evidence::text::language::Language;

/// Words that share one entry of the table that is held in memory.
const BLOCK_TERMS: usize = 64;
/// Changes with every change of the layout or of how words are made: an older index is then built anew.
const LAYOUT: u64 = 1;
const SECTIONS: usize = 6;

/// A block of words: its first key, where its words begin, where its places begin.
#[derive(Debug)]
struct Block {
    first: Box<[u8]>,
    words_at: u64,
    places_at: u64,
}

/// The key under which a word is stored.
pub fn key(field: Field, term: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(term.len() + 1);
    key.push(field as u8);
    key.extend_from_slice(term.as_bytes());
    key
}

/// Writes a segment; keys must come in ascending order.
pub struct SegmentWriter {
    pages: PageWriter,
    words: Vec<u8>,
    index: Vec<u8>,
    blocks: u64,
    in_block: usize,
    last: Vec<u8>,
}

impl SegmentWriter {
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            pages: PageWriter::create(path)?,
            words: Vec::new(),
            index: Vec::new(),
            blocks: 0,
            in_block: 0,
            last: Vec::new(),
        })
    }

    /// Adds a word with its `count` places.
    ///
    /// # Errors
    /// As the disk says.
    pub fn term(&mut self, key: &[u8], count: u32, places: &[u8]) -> io::Result<()> {
        if self.in_block == 0 {
            put_bytes(&mut self.index, key);
            put_number(&mut self.index, self.words.len() as u64);
            put_number(&mut self.index, self.pages.position());
            self.blocks += 1;
            self.last.clear();
        }
        let shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        put_number(&mut self.words, shared as u64);
        put_bytes(&mut self.words, &key[shared..]);
        put_number(&mut self.words, u64::from(count));
        put_number(&mut self.words, places.len() as u64);
        self.pages.write(places)?;
        self.last.clear();
        self.last.extend_from_slice(key);
        self.in_block = (self.in_block + 1) % BLOCK_TERMS;
        Ok(())
    }

    /// Adds files and pieces and ends the file. `imports` has one entry a file.
    ///
    /// # Errors
    /// As the disk says.
    pub fn finish(mut self, docs: &[Doc], pieces: &[Passage], imports: &[String]) -> io::Result<u64> {
        let mut sections = vec![self.pages.position()];
        let mut import_bytes = Vec::new();
        let mut doc_bytes = Vec::new();
        put_number(&mut doc_bytes, docs.len() as u64);
        for (doc, imports) in docs.iter().zip(imports) {
            put_bytes(&mut doc_bytes, &doc.path);
            doc_bytes.push(doc.language.code());
            doc_bytes.push(doc.kind.code());
            for number in [
                doc.size_bytes,
                doc.modified_ns,
                u64::from(doc.lines),
                u64::from(doc.words),
                u64::from(doc.symbol_words),
                u64::from(doc.pieces),
                imports.len() as u64,
            ] {
                put_number(&mut doc_bytes, number);
            }
            import_bytes.extend_from_slice(imports.as_bytes());
        }
        let mut piece_bytes = Vec::new();
        for piece in pieces {
            put_number(&mut piece_bytes, u64::from(piece.first_line));
            put_number(&mut piece_bytes, u64::from(piece.words));
        }
        let mut index = Vec::with_capacity(self.index.len() + 8);
        put_number(&mut index, self.blocks);
        index.extend_from_slice(&self.index);
        for bytes in [&self.words, &index, &doc_bytes, &piece_bytes, &import_bytes] {
            self.pages.write(bytes)?;
            sections.push(self.pages.position());
        }
        let mut trailer = Vec::new();
        for end in sections {
            trailer.extend_from_slice(&end.to_le_bytes());
        }
        trailer.extend_from_slice(&LAYOUT.to_le_bytes());
        self.pages.write(&trailer)?;
        self.pages.finish()
    }
}

/// Writes what was gathered.
///
/// # Errors
/// As the disk says.
pub fn write_run(path: &Path, run: &IndexBuffer) -> io::Result<u64> {
    let mut writer = SegmentWriter::create(path)?;
    for field in FIELDS {
        let mut terms: Vec<_> = run.terms[field as usize].iter().collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(b.0));
        for (term, list) in terms {
            writer.term(&key(field, term), list.count, &list.bytes)?;
        }
    }
    writer.finish(&run.docs, &run.pieces, &run.imports)
}

/// A segment that is being read.
#[derive(Debug)]
pub struct Segment {
    pages: PageReader,
    pub docs: Vec<Doc>,
    pub pieces: Vec<Passage>,
    blocks: Vec<Block>,
    /// Where each section ends: places, words, index, docs, pieces, imports.
    ends: [u64; SECTIONS],
    /// Where each file's imports begin in their section, and one more for the end.
    imports_at: Vec<u64>,
}

/// A word's places as they are stored.
pub struct Places {
    pub count: u32,
    pub bytes: Vec<u8>,
}

impl Segment {
    /// # Errors
    /// [`Damaged`] for anything but a whole file of this layout.
    pub fn open(path: &Path) -> Result<Self, Damaged> {
        let pages = PageReader::open(path)?;
        let trailer_bytes = (SECTIONS as u64 + 1) * 8;
        let trailer_at = pages.length().checked_sub(trailer_bytes).ok_or(Damaged)?;
        let trailer = pages.read(trailer_at, trailer_bytes)?;
        let mut ends = [0; SECTIONS];
        let mut numbers =
            trailer.chunks_exact(8).filter_map(|eight| eight.try_into().ok()).map(u64::from_le_bytes);
        for end in &mut ends {
            *end = numbers.next().ok_or(Damaged)?;
        }
        if numbers.next() != Some(LAYOUT) || !ends.is_sorted() || ends[SECTIONS - 1] != trailer_at {
            return Err(Damaged);
        }
        let section = |number: usize| pages.read(ends[number - 1], ends[number] - ends[number - 1]);
        let blocks = read_index(&section(2)?)?;
        let (docs, imports_at) = read_docs(&section(3)?)?;
        let pieces = read_pieces(&section(4)?)?;
        let counted: u64 = docs.iter().map(|doc| u64::from(doc.pieces)).sum();
        if counted != pieces.len() as u64 || imports_at.last().is_none_or(|end| *end != ends[5] - ends[4]) {
            return Err(Damaged);
        }
        Ok(Self { pages, docs, pieces, blocks, ends, imports_at })
    }

    /// A word's places.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn places(&self, field: Field, term: &str) -> Result<Option<Places>, Damaged> {
        let wanted = key(field, term);
        let after = self.blocks.partition_point(|block| *block.first <= *wanted);
        let Some(number) = after.checked_sub(1) else { return Ok(None) };
        let mut at = self.blocks[number].places_at;
        let bytes = self.block_words(number)?;
        let mut words = WordsOf { cursor: Cursor::new(&bytes), key: Vec::new() };
        while let Some((count, length)) = words.next()? {
            match words.key.as_slice().cmp(&wanted) {
                std::cmp::Ordering::Less => at += length,
                std::cmp::Ordering::Equal => {
                    return Ok(Some(Places { count, bytes: self.read_places(at, length)? }));
                }
                std::cmp::Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    /// Ids of a field lie under this.
    pub fn limit(&self, field: Field) -> u32 {
        (if field == Field::Body { self.pieces.len() } else { self.docs.len() }) as u32
    }

    /// What a file imports, one a line.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn imports(&self, doc: usize) -> Result<String, Damaged> {
        let (Some(start), Some(end)) = (self.imports_at.get(doc), self.imports_at.get(doc + 1)) else {
            return Err(Damaged);
        };
        let bytes = self.pages.read(self.ends[4] + start, end - start)?;
        String::from_utf8(bytes).map_err(|_| Damaged)
    }

    /// All words in order.
    pub fn all(&self) -> AllTerms<'_> {
        AllTerms { segment: self, block: 0, ready: Vec::new() }
    }

    fn block_words(&self, number: usize) -> Result<Vec<u8>, Damaged> {
        let start = self.blocks[number].words_at;
        let end = self.blocks.get(number + 1).map_or(self.ends[1] - self.ends[0], |next| next.words_at);
        self.pages.read(self.ends[0] + start, end.checked_sub(start).ok_or(Damaged)?)
    }

    fn read_places(&self, at: u64, length: u64) -> Result<Vec<u8>, Damaged> {
        if at.checked_add(length).is_none_or(|end| end > self.ends[0]) {
            return Err(Damaged);
        }
        self.pages.read(at, length)
    }
}

/// The words of one block, each as (count, bytes of places) with its key.
struct WordsOf<'a> {
    cursor: Cursor<'a>,
    key: Vec<u8>,
}

impl WordsOf<'_> {
    fn next(&mut self) -> Result<Option<(u32, u64)>, Damaged> {
        if self.cursor.is_empty() {
            return Ok(None);
        }
        let shared = self.cursor.small()? as usize;
        if shared > self.key.len() {
            return Err(Damaged);
        }
        self.key.truncate(shared);
        let rest = self.cursor.bytes()?;
        self.key.extend_from_slice(rest);
        Ok(Some((self.cursor.small()?, self.cursor.number()?)))
    }
}

/// One word while all are visited.
pub struct Term {
    pub key: Vec<u8>,
    pub count: u32,
    pub bytes: Vec<u8>,
}

/// Visits all words of a segment, a block at a time.
pub struct AllTerms<'a> {
    segment: &'a Segment,
    block: usize,
    /// Reversed, so that the next one is at the end.
    ready: Vec<Term>,
}

impl AllTerms<'_> {
    /// The next word.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn advance(&mut self) -> Result<Option<Term>, Damaged> {
        if self.ready.is_empty() && self.block < self.segment.blocks.len() {
            let bytes = self.segment.block_words(self.block)?;
            let mut words = WordsOf { cursor: Cursor::new(&bytes), key: Vec::new() };
            let mut total = 0_u64;
            let mut lengths = Vec::new();
            while let Some((count, length)) = words.next()? {
                lengths.push((words.key.clone(), count, length));
                total = total.checked_add(length).ok_or(Damaged)?;
            }
            let places = self.segment.read_places(self.segment.blocks[self.block].places_at, total)?;
            let mut cursor = Cursor::new(&places);
            for (key, count, length) in lengths {
                let bytes = cursor.take(usize::try_from(length).map_err(|_| Damaged)?)?.to_vec();
                self.ready.push(Term { key, count, bytes });
            }
            self.ready.reverse();
            self.block += 1;
        }
        Ok(self.ready.pop())
    }
}

fn read_index(bytes: &[u8]) -> Result<Vec<Block>, Damaged> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.number()?;
    let mut blocks = Vec::new();
    for _ in 0..count {
        let first = cursor.bytes()?.into();
        blocks.push(Block { first, words_at: cursor.number()?, places_at: cursor.number()? });
    }
    Ok(blocks)
}

fn read_docs(bytes: &[u8]) -> Result<(Vec<Doc>, Vec<u64>), Damaged> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.number()?;
    let mut docs = Vec::new();
    let mut imports_at = vec![0_u64];
    let (mut first_piece, mut imports) = (0_u32, 0_u64);
    for _ in 0..count {
        let path = cursor.bytes()?.to_vec();
        let codes = cursor.take(2)?;
        let doc = Doc {
            path,
            language: Language::from_code(codes[0]).ok_or(Damaged)?,
            kind: FilePurpose::from_code(codes[1]).ok_or(Damaged)?,
            size_bytes: cursor.number()?,
            modified_ns: cursor.number()?,
            lines: cursor.small()?,
            words: cursor.small()?,
            symbol_words: cursor.small()?,
            first_piece,
            pieces: cursor.small()?,
        };
        first_piece = first_piece.checked_add(doc.pieces).ok_or(Damaged)?;
        imports = imports.checked_add(cursor.number()?).ok_or(Damaged)?;
        imports_at.push(imports);
        docs.push(doc);
    }
    Ok((docs, imports_at))
}

fn read_pieces(bytes: &[u8]) -> Result<Vec<Passage>, Damaged> {
    let mut cursor = Cursor::new(bytes);
    let mut pieces = Vec::new();
    while !cursor.is_empty() {
        pieces.push(Passage { first_line: cursor.small()?, words: cursor.small()? });
    }
    Ok(pieces)
}
