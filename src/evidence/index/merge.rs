//! Several segments into one, without the files that are gone. Reads and writes in a stream: memory holds the
//! files' facts and one block of words a segment.

use std::io;
use std::path::Path;

use super::codec::{Damaged, Postings, postings};
use super::run::Field;
use super::segment::{AllTerms, Segment, SegmentWriter, Term};

/// Where a segment's ids go; `None` for what is gone.
struct Moves {
    docs: Vec<Option<u32>>,
    pieces: Vec<Option<u32>>,
}

/// Writes the live files of `parts` (a segment and which of its files are gone) to `path`.
///
/// # Errors
/// When the disk refuses or a segment is damaged.
pub fn merge(path: &Path, parts: &[(&Segment, &[bool])]) -> io::Result<u64> {
    let mut docs = Vec::new();
    let mut pieces = Vec::new();
    let mut imports = Vec::new();
    let mut moves = Vec::new();
    for (segment, gone) in parts {
        let mut moved = Moves { docs: Vec::new(), pieces: Vec::new() };
        for (number, doc) in segment.docs.iter().enumerate() {
            let live = !gone.get(number).copied().unwrap_or(false);
            moved.docs.push(live.then_some(docs.len() as u32));
            let range = doc.first_piece as usize..(doc.first_piece + doc.pieces) as usize;
            let first_piece = pieces.len() as u32;
            for piece in &segment.pieces[range] {
                moved.pieces.push(live.then_some(pieces.len() as u32));
                if live {
                    pieces.push(*piece);
                }
            }
            if live {
                let mut doc = doc.clone();
                doc.first_piece = first_piece;
                docs.push(doc);
                imports.push(segment.imports(number).map_err(damaged)?);
            }
        }
        moves.push(moved);
    }
    let mut writer = SegmentWriter::create(path)?;
    let mut streams: Vec<AllTerms<'_>> = parts.iter().map(|(segment, _)| segment.all()).collect();
    let mut heads: Vec<Option<Term>> = Vec::new();
    for stream in &mut streams {
        heads.push(stream.advance().map_err(damaged)?);
    }
    while let Some(key) = heads.iter().flatten().map(|term| term.key.as_slice()).min().map(<[u8]>::to_vec) {
        let mut list = Postings::default();
        for (number, head) in heads.iter_mut().enumerate() {
            let Some(term) = head.take_if(|term| term.key == key) else { continue };
            let body = key.first() == Some(&(Field::Body as u8));
            let moved = if body { &moves[number].pieces } else { &moves[number].docs };
            postings(&term.bytes, term.count, moved.len() as u32, |id, times| {
                if let Some(id) = moved[id as usize] {
                    list.push(id, times);
                }
            })
            .map_err(damaged)?;
            *head = streams[number].advance().map_err(damaged)?;
        }
        if list.count > 0 {
            writer.term(&key, list.count, &list.bytes)?;
        }
    }
    writer.finish(&docs, &pieces, &imports)
}

fn damaged(error: Damaged) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
