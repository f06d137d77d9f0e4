//! BM25 per field: full text, best passage, defined names, path.

use super::query::Query;
use super::signals::{Columns, Signal};
use crate::index::format::Damaged;
use crate::index::segment::{Doc, Field};
use crate::index::store::Index;
use base::search::bm25::rarity;

/// BM25 k1: how fast repeated words stop counting.
const SATURATION: f32 = 1.2;
/// BM25 b: how much longer texts are discounted.
const LENGTH_SHARE: f32 = 0.7;
const PASSAGE_LENGTH_SHARE: f32 = 0.4;
const PATH_SATURATION: f32 = 0.6;
const PATH_LENGTH_SHARE: f32 = 0.5;
const TITLE_FACTOR: f32 = 1.6;

fn relative(lengths: impl Iterator<Item = u32>) -> Vec<f32> {
    let mut lengths: Vec<f32> = lengths.map(|length| length as f32).collect();
    let mean = (lengths.iter().sum::<f32>() / lengths.len().max(1) as f32).max(1.0);
    lengths.iter_mut().for_each(|length| *length /= mean);
    lengths
}

pub fn fill(index: &Index, query: &Query, columns: &mut Columns) -> Result<(), Damaged> {
    let docs = || index.files().map(|(_, doc)| doc);
    let cuts = |path: &[u8]| path.iter().filter(|byte| b"/_-.".contains(byte)).count() as u32;
    let file_lengths = relative(docs().map(Doc::words));
    let passage_lengths = relative(docs().flat_map(|doc| doc.passages.iter().copied()));
    let path_lengths = relative(docs().map(|doc| cuts(&doc.path) + 1));
    let owners = index.owners();
    let mut passages = vec![0.0_f32; owners.len()];
    let mut title_passages = vec![0.0_f32; owners.len()];
    let mut found: Vec<(usize, u32)> = Vec::new();
    for word in &query.words {
        found.clear();
        index.occurrences(Field::Body, &word.term, |passage, times| found.push((passage as usize, times)))?;
        let by_file = || found.chunk_by(|a, b| owners[a.0] == owners[b.0]);
        let file_rarity = rarity(by_file().count(), file_lengths.len()) * word.weight;
        let passage_rarity = rarity(found.len(), owners.len()) * word.weight;
        for group in by_file() {
            let file = owners[group[0].0] as usize;
            let times: u32 = group.iter().map(|(_, times)| times).sum();
            let value = file_rarity * in_text(times, file_lengths[file]);
            columns.add(Signal::Body, file, value);
            for &(passage, times) in group {
                let length = passage_lengths[passage];
                let value = passage_rarity * saturated(times, length, SATURATION, PASSAGE_LENGTH_SHARE);
                passages[passage] += value;
                if word.in_title {
                    title_passages[passage] += value;
                }
            }
        }
        found.clear();
        index.occurrences(Field::Path, &word.term, |file, times| found.push((file as usize, times)))?;
        let path_rarity = rarity(found.len(), path_lengths.len()) * word.weight;
        for &(file, times) in &found {
            let value =
                path_rarity * saturated(times, path_lengths[file], PATH_SATURATION, PATH_LENGTH_SHARE);
            columns.add(Signal::Path, file, value);
        }
    }
    for (passage, owner) in owners.iter().enumerate() {
        columns.raise(Signal::Passage, *owner as usize, passages[passage]);
        columns.raise(Signal::TitlePassage, *owner as usize, title_passages[passage]);
    }
    symbols(index, query, columns)
}

/// Files that define a named identifier; the fewer there are, the more it counts.
fn symbols(index: &Index, query: &Query, columns: &mut Columns) -> Result<(), Damaged> {
    let files = index.files().len();
    let definers = |name: &str| {
        let mut found: Vec<u32> = Vec::new();
        index.occurrences(Field::Symbol, name, |file, _| found.push(file))?;
        found.sort_unstable();
        Ok(found)
    };
    let mut add = |definers: &[u32], factor: f32| {
        let value = factor * rarity(definers.len(), files) / (definers.len().max(1) as f32).sqrt();
        definers.iter().for_each(|file| columns.add(Signal::SymbolNames, *file as usize, value));
    };
    let title = query.title.to_lowercase();
    for (name, sure) in &query.identifiers {
        let titled = if title.contains(name.as_str()) { TITLE_FACTOR } else { 1.0 };
        add(&definers(name)?, sure * titled);
    }
    // For `Basket.total`, prefer the file that defines both.
    for pair in query.dotted.iter().flat_map(|parts| parts.windows(2)) {
        let outer = definers(&pair[0].to_lowercase())?;
        let mut both = definers(&pair[1].to_lowercase())?;
        both.retain(|file| outer.binary_search(file).is_ok());
        add(&both, 1.0);
    }
    Ok(())
}

/// The BM25 value of a count; `length` is a multiple of the mean.
pub fn in_text(times: u32, length: f32) -> f32 {
    saturated(times, length, SATURATION, LENGTH_SHARE)
}

fn saturated(times: u32, length: f32, saturation: f32, length_share: f32) -> f32 {
    let times = times as f32;
    times * (saturation + 1.0) / (times + saturation * (1.0 - length_share + length_share * length))
}
