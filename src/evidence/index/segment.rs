//! One part of the index as a file: sorted blocks of words with their postings, then a footer with the files
//! and block positions. Blocks and footer have checksums.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::format::{Cursor, Damaged, Postings, postings, put_bytes, put_number};
use crate::text::kind::FilePurpose;
use crate::text::language::FileLanguage;
use base::file;
use base::system::os;

/// Change the last byte with the layout or the word processing, so that older indexes are rebuilt.
const MAGIC: [u8; 8] = *b"mycodeE\x05";
/// Footer position, footer checksum, magic bytes.
const TAIL_BYTES: usize = 8 + 4 + 8;
/// A block ends with the first word beyond this.
const BLOCK_BYTES: usize = 4 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Body = 0,
    Symbol = 1,
    Path = 2,
}

pub const FIELDS: [Field; 3] = [Field::Body, Field::Symbol, Field::Path];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// Relative to the project's root, `/`-separated; not necessarily UTF-8.
    pub path: Vec<u8>,
    pub size_bytes: u64,
    /// Nanoseconds since 1970; 0 if the file was changing when it was read.
    pub modified_ns: u64,
    pub language: FileLanguage,
    pub kind: FilePurpose,
    pub passages: Box<[u32]>,
}

impl Doc {
    pub fn name(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }

    pub fn words(&self) -> u32 {
        self.passages.iter().sum()
    }
}

pub fn key(field: Field, term: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(term.len() + 1);
    key.push(field as u8);
    key.extend_from_slice(term.as_bytes());
    key
}

/// Keys must be written in ascending order.
pub struct SegmentWriter {
    file: BufWriter<File>,
    written: u64,
    block: Vec<u8>,
    last: Vec<u8>,
    /// First key, length and checksum of each block.
    table: Vec<u8>,
    blocks: u64,
}

impl SegmentWriter {
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = file::open_private(File::options().write(true).create(true).truncate(true), path)?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 18, file),
            written: 0,
            block: Vec::new(),
            last: Vec::new(),
            table: Vec::new(),
            blocks: 0,
        })
    }

    pub fn term(&mut self, key: &[u8], list: &Postings) -> io::Result<()> {
        if self.block.is_empty() {
            put_bytes(&mut self.table, key);
            self.last.clear();
        }
        let shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        put_number(&mut self.block, shared as u64);
        put_bytes(&mut self.block, &key[shared..]);
        put_number(&mut self.block, u64::from(list.count));
        put_bytes(&mut self.block, &list.bytes);
        self.last.clear();
        self.last.extend_from_slice(key);
        if self.block.len() > BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            put_number(&mut self.table, self.block.len() as u64);
            put_number(&mut self.table, u64::from(crc32fast::hash(&self.block)));
            self.file.write_all(&self.block)?;
            self.written += self.block.len() as u64;
            self.blocks += 1;
            self.block.clear();
        }
        Ok(())
    }

    pub fn finish(mut self, docs: &[Doc]) -> io::Result<()> {
        self.end_block()?;
        let mut footer = Vec::new();
        put_number(&mut footer, self.blocks);
        footer.append(&mut self.table);
        put_number(&mut footer, docs.len() as u64);
        for doc in docs {
            put_bytes(&mut footer, &doc.path);
            footer.extend([doc.language as u8, doc.kind as u8]);
            put_number(&mut footer, doc.size_bytes);
            put_number(&mut footer, doc.modified_ns);
            put_number(&mut footer, doc.passages.len() as u64);
            for words in &doc.passages {
                put_number(&mut footer, u64::from(*words));
            }
        }
        let sum = crc32fast::hash(&footer);
        self.file.write_all(&footer)?;
        self.file.write_all(&self.written.to_le_bytes())?;
        self.file.write_all(&sum.to_le_bytes())?;
        self.file.write_all(&MAGIC)?;
        self.file.flush()
    }
}

#[derive(Debug)]
struct SegmentBlock {
    first: Box<[u8]>,
    at: u64,
    length: u64,
    sum: u32,
}

#[derive(Debug)]
pub struct Segment {
    file: File,
    blocks: Vec<SegmentBlock>,
    pub docs: Vec<Doc>,
    pub passages: u32,
}

impl Segment {
    pub fn open(path: &Path) -> Result<Self, Damaged> {
        let (file, meta) = file::open(path).map_err(|_| Damaged)?;
        let tail_at = meta.len().checked_sub(TAIL_BYTES as u64).ok_or(Damaged)?;
        let tail = read(&file, tail_at, TAIL_BYTES as u64)?;
        let (start, tail) = tail.split_first_chunk().ok_or(Damaged)?;
        let (sum, magic) = tail.split_first_chunk().ok_or(Damaged)?;
        let footer_at = u64::from_le_bytes(*start);
        let length = tail_at.checked_sub(footer_at).filter(|_| *magic == MAGIC).ok_or(Damaged)?;
        let footer = read(&file, footer_at, length)?;
        if crc32fast::hash(&footer) != u32::from_le_bytes(*sum) {
            return Err(Damaged);
        }
        let mut cursor = Cursor::new(&footer);
        let mut segment = Self { file, blocks: Vec::new(), docs: Vec::new(), passages: 0 };
        let mut at = 0_u64;
        for _ in 0..cursor.number()? {
            let first = cursor.bytes()?.into();
            let block = SegmentBlock { first, at, length: cursor.number()?, sum: cursor.small()? };
            at = at.checked_add(block.length).filter(|end| *end <= footer_at).ok_or(Damaged)?;
            segment.blocks.push(block);
        }
        for _ in 0..cursor.number()? {
            let path = cursor.bytes()?.to_vec();
            let codes = cursor.take(2)?;
            let doc = Doc {
                path,
                language: FileLanguage::from_repr(codes[0]).ok_or(Damaged)?,
                kind: FilePurpose::from_repr(codes[1]).ok_or(Damaged)?,
                size_bytes: cursor.number()?,
                modified_ns: cursor.number()?,
                passages: (0..cursor.small()?).map(|_| cursor.small()).collect::<Result<_, _>>()?,
            };
            segment.passages = segment.passages.checked_add(doc.passages.len() as u32).ok_or(Damaged)?;
            segment.docs.push(doc);
        }
        Ok(segment)
    }

    pub fn first_passages(&self) -> Vec<usize> {
        let ends = self.docs.iter().scan(0, |end, doc| {
            *end += doc.passages.len();
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Calls `each` with the id of every passage or file that contains the word, and its count.
    pub fn occurrences(&self, field: Field, term: &str, each: impl FnMut(u32, u32)) -> Result<(), Damaged> {
        let wanted = key(field, term);
        let after = self.blocks.partition_point(|block| *block.first <= *wanted);
        let Some(block) = after.checked_sub(1).map(|at| &self.blocks[at]) else { return Ok(()) };
        let bytes = read(&self.file, block.at, block.length)?;
        if crc32fast::hash(&bytes) != block.sum {
            return Err(Damaged);
        }
        let mut cursor = Cursor::new(&bytes);
        let mut key = Vec::new();
        while !cursor.is_empty() {
            key.truncate(cursor.small()? as usize);
            key.extend_from_slice(cursor.bytes()?);
            let (count, list) = (cursor.small()?, cursor.bytes()?);
            if key == wanted {
                let ids = if field == Field::Body { self.passages } else { self.docs.len() as u32 };
                return postings(list, count, ids, each);
            }
            if key > wanted {
                break;
            }
        }
        Ok(())
    }
}

fn read(file: &File, at: u64, length: u64) -> Result<Vec<u8>, Damaged> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| Damaged)?];
    os::read_exact_at(file, &mut bytes, at).map_err(|_| Damaged)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one.part");
        let doc = Doc {
            path: b"a.rs".to_vec(),
            size_bytes: 3,
            modified_ns: 4,
            language: FileLanguage::Rust,
            kind: FilePurpose::Source,
            passages: [7].into(),
        };
        let mut list = Postings::default();
        list.push(0, 9);
        let mut writer = SegmentWriter::create(&path).unwrap();
        let terms: Vec<String> = (0..1_000).map(|number| format!("word{number:03}")).collect();
        for term in &terms {
            writer.term(&key(Field::Body, term), &list).unwrap();
        }
        writer.finish(std::slice::from_ref(&doc)).unwrap();
        let find = |wanted: &[String]| {
            let mut found = Vec::new();
            let segment = Segment::open(&path)?;
            for term in wanted {
                segment.occurrences(Field::Body, term, |id, times| found.push((id, times)))?;
            }
            Ok::<_, Damaged>((found, segment.docs))
        };
        assert_eq!(find(&terms).unwrap(), (vec![(0, 9); 1_000], vec![doc]));
        assert!(find(&["word".to_owned(), "xylophone".to_owned()]).unwrap().0.is_empty());
        let bytes = std::fs::read(&path).unwrap();
        let blocks: Vec<String> = terms.iter().step_by(100).chain(terms.last()).cloned().collect();
        for at in (0..bytes.len()).step_by(997).chain(bytes.len() - TAIL_BYTES..bytes.len()) {
            let mut spoilt = bytes.clone();
            spoilt[at] ^= 0x55;
            std::fs::write(&path, &spoilt).unwrap();
            assert_eq!(find(&blocks), Err(Damaged), "byte {at}");
        }
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(find(&terms), Err(Damaged));
    }
}
