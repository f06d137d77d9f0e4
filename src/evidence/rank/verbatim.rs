//! Exact matches of quoted texts, and the lines worth showing. Reads only a few promising files.

use std::path::Path;

use memchr::memmem::Finder;
use rustc_hash::FxHashMap;

use super::query::Query;
use crate::text::language::FileLanguage;
use crate::text::symbols;
use base::folder::exact;
use base::search::bm25::rarity;
use base::search::words;
use base::system::os;
use base::text;
use guard::redact::detector;

/// Only the start of larger files is read.
pub const MAX_BYTES: u64 = 256 << 10;
const MAX_QUOTED: usize = 40;
/// Marks that a line defines a name.
const DEFINITION: &str = "";

/// A file's text, lossily decoded, or empty.
pub fn text_of(root: &Path, path: &[u8]) -> String {
    use std::io::Read as _;
    let path = root.join(os::path_of(path.to_vec()));
    let Ok(handle) = exact::open_seen(&path) else { return String::new() };
    let mut bytes = Vec::new();
    if handle.take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// For each file, how much of the quoted texts it contains.
pub fn score(root: &Path, query: &Query, paths: &[&[u8]]) -> Vec<f32> {
    let finders: Vec<Finder<'_>> =
        query.quoted.iter().take(MAX_QUOTED).map(|text| Finder::new(text.as_bytes())).collect();
    if finders.is_empty() {
        return vec![0.0; paths.len()];
    }
    let look = |path: &[u8]| -> Vec<bool> {
        let text = text_of(root, path);
        finders.iter().map(|finder| finder.find(text.as_bytes()).is_some()).collect()
    };
    let found: Vec<Vec<bool>> = paths.iter().map(|path| look(path)).collect();
    let worth = |number: usize| {
        let holders = found.iter().filter(|held| held[number]).count();
        rarity(holders, found.len()) * (1.0 + (query.quoted[number].len() as f32 / 10.0).ln_1p())
    };
    let worths: Vec<f32> = (0..finders.len()).map(worth).collect();
    found
        .iter()
        .map(|held| held.iter().zip(&worths).filter(|(held, _)| **held).map(|(_, worth)| worth).sum())
        .collect()
}

/// In file order. Lines with an exact name (`names`, lowercase) come before those with a part; repeats count little.
pub fn lines(
    path: &str,
    weights: &FxHashMap<&str, f32>,
    names: &FxHashMap<&str, f32>,
    whole_text: &str,
    limit: usize,
    max_chars: usize,
) -> Vec<(u32, String)> {
    let whole: f32 = weights.values().sum();
    let language = FileLanguage::of(path);
    let mut holders: FxHashMap<&str, usize> = FxHashMap::default();
    let mut found = Vec::new();
    for (number, line) in (1..).zip(whole_text.lines()).filter(|(_, line)| line.len() <= 2_000) {
        let mut shared: Vec<(&str, f32)> = Vec::new();
        let mut share = |(term, worth)| {
            if !shared.iter().any(|(known, _)| *known == term) {
                shared.push((term, worth));
            }
        };
        words::raw(line, |word| {
            if let Some((name, sure)) = names.get_key_value(word.to_ascii_lowercase().as_str()) {
                share((*name, whole * sure));
            }
            words::expand(word, |term, _| {
                if let Some((term, weight)) = weights.get_key_value(term) {
                    share((*term, *weight));
                }
            });
        });
        let is_named = shared.iter().any(|(term, _)| names.contains_key(term));
        let mut defined = symbols::symbols(language, if is_named { line } else { "" }).into_iter();
        if defined.any(|name| names.contains_key(&*name.to_ascii_lowercase())) {
            shared.push((DEFINITION, whole));
        }
        if !shared.is_empty() {
            shared.iter().for_each(|(term, _)| *holders.entry(term).or_default() += 1);
            found.push((number, line, shared));
        }
    }
    let total = whole_text.lines().count();
    let value = |shared: &[(&str, f32)]| -> f32 {
        shared.iter().map(|(term, worth)| worth * rarity(holders[term], total)).sum()
    };
    let mut scored: Vec<(f32, u32, &str)> =
        found.iter().map(|(number, line, shared)| (value(shared), *number, *line)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(limit);
    scored.sort_by_key(|(_, number, _)| *number);
    scored
        .into_iter()
        .map(|(_, number, line)| (number, text::one_line(&detector::redact(line.trim()), max_chars)))
        .collect()
}
