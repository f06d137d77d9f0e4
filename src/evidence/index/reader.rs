//! The whole index as one: numbers run through all segments, and what is gone is left out.

use super::codec::{Damaged, postings};
use super::run::{Doc, Field, Passage};
use super::segment::Segment;

/// A segment with its place among the others.
#[derive(Debug)]
pub struct IndexPart {
    pub name: String,
    pub segment: Segment,
    /// For each of its files whether it is gone.
    pub gone: Vec<bool>,
    first_doc: u32,
    first_piece: u32,
}

/// The opened index.
#[derive(Debug, Default)]
pub struct Index {
    pub parts: Vec<IndexPart>,
    docs: u32,
    pieces: u32,
}

impl Index {
    /// Adds a segment; `gone` are the numbers of its files that are gone.
    ///
    /// # Errors
    /// [`Damaged`] for a number that does not exist.
    pub fn push(&mut self, name: String, segment: Segment, gone: &[u32]) -> Result<(), Damaged> {
        let mut flags = vec![false; segment.docs.len()];
        for &number in gone {
            *flags.get_mut(number as usize).ok_or(Damaged)? = true;
        }
        let (first_doc, first_piece) = (self.docs, self.pieces);
        self.docs += segment.docs.len() as u32;
        self.pieces += segment.pieces.len() as u32;
        self.parts.push(IndexPart { name, segment, gone: flags, first_doc, first_piece });
        Ok(())
    }

    /// Marks a file as gone.
    pub fn drop_doc(&mut self, number: usize) {
        let after = self.parts.partition_point(|part| part.first_doc as usize <= number);
        if let Some(part) = after.checked_sub(1).and_then(|at| self.parts.get_mut(at))
            && let Some(gone) = part.gone.get_mut(number - part.first_doc as usize)
        {
            *gone = true;
        }
    }

    /// File numbers lie under this; some are gone.
    pub fn doc_count(&self) -> usize {
        self.docs as usize
    }

    /// Piece numbers lie under this.
    pub fn piece_count(&self) -> usize {
        self.pieces as usize
    }

    /// Every live file with its number.
    pub fn live(&self) -> impl Iterator<Item = (usize, &Doc)> {
        self.parts.iter().flat_map(|part| {
            part.segment
                .docs
                .iter()
                .enumerate()
                .filter(|(number, _)| !part.gone[*number])
                .map(|(number, doc)| (part.first_doc as usize + number, doc))
        })
    }

    /// The file with this number.
    pub fn doc(&self, number: usize) -> Option<&Doc> {
        let part = self.part_of(number)?;
        part.segment.docs.get(number - part.first_doc as usize)
    }

    /// The piece with this number.
    pub fn piece(&self, number: usize) -> Option<Passage> {
        let after = self.parts.partition_point(|part| part.first_piece as usize <= number);
        let part = self.parts.get(after.checked_sub(1)?)?;
        part.segment.pieces.get(number - part.first_piece as usize).copied()
    }

    fn part_of(&self, doc: usize) -> Option<&IndexPart> {
        let after = self.parts.partition_point(|part| part.first_doc as usize <= doc);
        self.parts.get(after.checked_sub(1)?)
    }

    /// Calls `each` with (number of the piece or file, times) for every place of a word, gone files included; returns how
    /// many places there are.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn places(&self, field: Field, term: &str, mut each: impl FnMut(usize, u32)) -> Result<u32, Damaged> {
        let mut total = 0;
        for part in &self.parts {
            let Some(places) = part.segment.places(field, term)? else { continue };
            total += places.count;
            let first = if field == Field::Body { part.first_piece } else { part.first_doc };
            postings(&places.bytes, places.count, part.segment.limit(field), |id, times| {
                each((first + id) as usize, times);
            })?;
        }
        Ok(total)
    }

    /// What a file imports, as written, one a line.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn imports(&self, doc: usize) -> Result<String, Damaged> {
        let part = self.part_of(doc).ok_or(Damaged)?;
        part.segment.imports(doc - part.first_doc as usize)
    }
}
