//! How well each file's words fit the task's: in the whole text, in its best piece, in the names it defines, in its
//! path. BM25 per field.

use super::query::Query;
use super::signal::Signal;
use crate::evidence::index::codec::Damaged;
use crate::evidence::index::reader::Index;
use crate::evidence::index::run::Field;

/// How fast repeated words stop counting.
const SATURATION: f32 = 1.2;
/// How much a long file must hold more than a short one.
const LENGTH_SHARE: f32 = 0.7;
const PIECE_LENGTH_SHARE: f32 = 0.4;
/// The same for lists of names and for paths.
const NAME_SATURATION: f32 = 0.6;
const NAME_LENGTH_SHARE: f32 = 0.5;
/// A name in the title counts so much more.
const TITLE_FACTOR: f32 = 1.6;

/// One column of values a signal, by file number.
pub struct Columns {
    pub by_signal: Vec<Vec<f32>>,
}

impl Columns {
    pub fn new(files: usize) -> Self {
        Self { by_signal: vec![vec![0.0; files]; super::signal::COUNT] }
    }

    pub fn of(&self, signal: Signal) -> &[f32] {
        &self.by_signal[signal as usize]
    }

    pub fn of_mut(&mut self, signal: Signal) -> &mut Vec<f32> {
        &mut self.by_signal[signal as usize]
    }

    /// Adds to a file's value.
    pub fn add(&mut self, signal: Signal, file: usize, value: f32) {
        if let Some(cell) = self.by_signal[signal as usize].get_mut(file) {
            *cell += value;
        }
    }

    /// Raises a file's value to at least this.
    pub fn raise(&mut self, signal: Signal, file: usize, value: f32) {
        if let Some(cell) = self.by_signal[signal as usize].get_mut(file) {
            *cell = cell.max(value);
        }
    }
}

/// How rare a word is that `of` out of `total` have.
pub fn rarity(of: usize, total: usize) -> f32 {
    let (of, total) = (of as f32, total as f32);
    (1.0 + (total - of + 0.5).max(0.0) / (of + 0.5)).ln()
}

struct Lengths {
    file: Vec<f32>,
    file_mean: f32,
    names: Vec<f32>,
    names_mean: f32,
    path: Vec<f32>,
    path_mean: f32,
    piece: Vec<f32>,
    piece_mean: f32,
    /// The file of each piece.
    owner: Vec<u32>,
    files: usize,
}

/// Fills the columns of the word signals.
///
/// # Errors
/// [`Damaged`].
pub fn fill(index: &Index, query: &Query, columns: &mut Columns) -> Result<(), Damaged> {
    let lengths = Lengths::of(index);
    let mut pieces = vec![0.0_f32; index.piece_count()];
    let mut title_pieces = vec![0.0_f32; index.piece_count()];
    let mut total_weight = 0.0;
    let mut places: Vec<(u32, u32)> = Vec::new();
    for word in &query.words {
        places.clear();
        index.places(Field::Body, &word.term, |piece, times| places.push((piece as u32, times)))?;
        let files =
            places.chunk_by(|a, b| lengths.owner[a.0 as usize] == lengths.owner[b.0 as usize]).count();
        let file_rarity = rarity(files, lengths.files) * word.weight;
        total_weight += file_rarity;
        let piece_rarity = rarity(places.len(), lengths.piece.len()) * word.weight;
        for group in places.chunk_by(|a, b| lengths.owner[a.0 as usize] == lengths.owner[b.0 as usize]) {
            let file = lengths.owner[group[0].0 as usize] as usize;
            let times: u32 = group.iter().map(|(_, times)| times).sum();
            let value = file_rarity
                * saturated(times, lengths.file[file] / lengths.file_mean, SATURATION, LENGTH_SHARE);
            columns.add(Signal::Body, file, value);
            columns.add(Signal::Coverage, file, file_rarity);
            if word.in_title {
                columns.add(Signal::Title, file, value);
            }
            for &(piece, times) in group {
                let piece = piece as usize;
                let length = lengths.piece[piece] / lengths.piece_mean;
                let value = piece_rarity * saturated(times, length, SATURATION, PIECE_LENGTH_SHARE);
                pieces[piece] += value;
                if word.in_title {
                    title_pieces[piece] += value;
                }
            }
        }
        for (field, all, titled) in [
            (Field::SymbolPart, Signal::SymbolParts, None),
            (Field::Path, Signal::Path, Some(Signal::TitlePath)),
        ] {
            places.clear();
            index.places(field, &word.term, |file, times| places.push((file as u32, times)))?;
            let rarity = rarity(places.len(), lengths.files) * word.weight;
            for &(file, times) in &places {
                let file = file as usize;
                let length = match field {
                    Field::Path => lengths.path[file] / lengths.path_mean,
                    _ => lengths.names[file] / lengths.names_mean,
                };
                let value = rarity * saturated(times, length, NAME_SATURATION, NAME_LENGTH_SHARE);
                columns.add(all, file, value);
                if let Some(titled) = titled.filter(|_| word.in_title) {
                    columns.add(titled, file, value);
                }
            }
        }
    }
    for (piece, owner) in lengths.owner.iter().enumerate() {
        columns.raise(Signal::Piece, *owner as usize, pieces[piece]);
        columns.raise(Signal::TitlePiece, *owner as usize, title_pieces[piece]);
    }
    if total_weight > 0.0 {
        columns.of_mut(Signal::Coverage).iter_mut().for_each(|value| *value /= total_weight);
    }
    symbols(index, query, columns, lengths.files)
}

/// Files that define a named identifier: few definers make it telling.
fn symbols(index: &Index, query: &Query, columns: &mut Columns, files: usize) -> Result<(), Damaged> {
    let mut definers: Vec<u32> = Vec::new();
    let title = query.title.to_lowercase();
    for (name, sure) in &query.identifiers {
        definers.clear();
        index.places(Field::Symbol, name, |file, _| definers.push(file as u32))?;
        let titled = if title.contains(name.as_str()) { TITLE_FACTOR } else { 1.0 };
        let value = sure * titled * rarity(definers.len(), files) / (definers.len().max(1) as f32).sqrt();
        for &file in &definers {
            columns.add(Signal::SymbolNames, file as usize, value);
        }
    }
    // `Basket.total`: the file that defines both is meant.
    for parts in &query.dotted {
        for pair in parts.windows(2) {
            definers.clear();
            index.places(Field::Symbol, &pair[0].to_lowercase(), |file, _| definers.push(file as u32))?;
            let mut both: Vec<u32> = Vec::new();
            index.places(Field::Symbol, &pair[1].to_lowercase(), |file, _| {
                if definers.binary_search(&(file as u32)).is_ok() {
                    both.push(file as u32);
                }
            })?;
            let value = rarity(both.len(), files) / (both.len().max(1) as f32).sqrt();
            for &file in &both {
                columns.add(Signal::SymbolNames, file as usize, value);
            }
        }
    }
    Ok(())
}

fn saturated(times: u32, length: f32, saturation: f32, length_share: f32) -> f32 {
    let times = times as f32;
    times * (saturation + 1.0) / (times + saturation * (1.0 - length_share + length_share * length))
}

impl Lengths {
    fn of(index: &Index) -> Self {
        let count = index.doc_count();
        let mut lengths = Self {
            file: vec![0.0; count],
            names: vec![0.0; count],
            path: vec![0.0; count],
            piece: vec![0.0; index.piece_count()],
            owner: vec![0; index.piece_count()],
            file_mean: 1.0,
            names_mean: 1.0,
            path_mean: 1.0,
            piece_mean: 1.0,
            files: 0,
        };
        let mut number = 0;
        let mut piece_number = 0;
        for part in &index.parts {
            for doc in &part.segment.docs {
                lengths.file[number] = doc.words as f32;
                lengths.names[number] = doc.symbol_words as f32;
                let cuts = doc.path.iter().filter(|byte| b"/_-.".contains(byte)).count();
                lengths.path[number] = cuts as f32 + 1.0;
                number += 1;
                for _ in 0..doc.pieces {
                    lengths.owner[piece_number] = number as u32 - 1;
                    piece_number += 1;
                }
            }
            for (at, piece) in part.segment.pieces.iter().enumerate() {
                let start = piece_number - part.segment.pieces.len();
                lengths.piece[start + at] = piece.words as f32;
            }
        }
        lengths.files = index.live().count();
        let mean = |values: &[f32]| (values.iter().sum::<f32>() / values.len().max(1) as f32).max(1.0);
        lengths.file_mean = mean(&lengths.file);
        lengths.names_mean = mean(&lengths.names);
        lengths.path_mean = mean(&lengths.path);
        lengths.piece_mean = mean(&lengths.piece);
        lengths
    }
}
