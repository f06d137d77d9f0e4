//! What only the text itself shows: quoted texts and phrases of the task, word for word, and the lines worth showing.
//! Reads the few files that already look right.

use std::path::Path;

use memchr::memmem::Finder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::query::Query;
use crate::base::folder::exact;
use crate::evidence::text::words::{self, rarity};

/// Larger files are looked at in their beginning only.
pub const MAX_BYTES: u64 = 256 << 10;
const MAX_QUOTED: usize = 40;

/// A file's text, lossy, or nothing.
pub fn text_of(root: &Path, path: &[u8]) -> String {
    use std::io::Read as _;
    use std::os::unix::ffi::OsStrExt as _;
    let path = root.join(std::ffi::OsStr::from_bytes(path));
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

/// What one text has of what is looked for.
#[derive(Default)]
struct Matches {
    quoted: Vec<usize>,
    phrases: FxHashSet<u64>,
}

/// For each file: how much of the quoted texts and of the phrases it holds.
pub fn score(root: &Path, query: &Query, paths: &[&[u8]]) -> Vec<(f32, f32)> {
    let finders: Vec<Finder<'_>> =
        query.quoted.iter().take(MAX_QUOTED).map(|text| Finder::new(text.as_bytes())).collect();
    let wanted = phrases(&query.text);
    let look = |path: &[u8]| {
        let text = text_of(root, path);
        let quoted = (0..finders.len()).filter(|n| finders[*n].find(text.as_bytes()).is_some());
        let mut found = Matches { quoted: quoted.collect(), phrases: FxHashSet::default() };
        each_phrase(&text, |phrase| {
            if wanted.contains(&phrase) {
                found.phrases.insert(phrase);
            }
        });
        found
    };
    let (first, second) = paths.split_at(paths.len() / 2);
    let found: Vec<Matches> = std::thread::scope(|scope| {
        let second = scope.spawn(|| second.iter().map(|path| look(path)).collect::<Vec<_>>());
        let first: Vec<Matches> = first.iter().map(|path| look(path)).collect();
        first.into_iter().chain(second.join().unwrap_or_default()).collect()
    });
    weigh(query, &found)
}

fn weigh(query: &Query, found: &[Matches]) -> Vec<(f32, f32)> {
    let mut scores = vec![(0.0, 0.0); found.len()];
    let mut quoted: FxHashMap<usize, usize> = FxHashMap::default();
    let mut phrases: FxHashMap<u64, usize> = FxHashMap::default();
    for file in found {
        file.quoted.iter().for_each(|text| *quoted.entry(*text).or_default() += 1);
        file.phrases.iter().for_each(|phrase| *phrases.entry(*phrase).or_default() += 1);
    }
    for (file, score) in found.iter().zip(&mut scores) {
        for text in &file.quoted {
            let length = query.quoted.get(*text).map_or(0, String::len) as f32;
            score.0 += rarity(quoted[text], found.len()) * (1.0 + (length / 10.0).ln_1p());
        }
        // In a fixed order, so that the sum is the same each time.
        let mut held: Vec<&u64> = file.phrases.iter().collect();
        held.sort_unstable();
        score.1 = held.into_iter().map(|phrase| rarity(phrases[phrase], found.len())).sum();
    }
    scores
}

fn phrases(text: &str) -> FxHashSet<u64> {
    let mut found = FxHashSet::default();
    each_phrase(text, |phrase| {
        found.insert(phrase);
    });
    found
}

/// Three words in a row, as a number.
fn each_phrase(text: &str, mut each: impl FnMut(u64)) {
    let (mut first, mut second) = (0_u64, 0_u64);
    words::raw(text, |word| {
        let mut number = 0xcbf2_9ce4_8422_2325_u64;
        for byte in word.bytes() {
            number = (number ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
        }
        if first != 0 {
            each(first.rotate_left(23) ^ second.rotate_left(11) ^ number);
        }
        (first, second) = (second, number);
    });
}

/// The lines of `text` that hold most of the task's rare words: (number from 1, line), in the order of the file. A line
/// with a name of the task as it stands (`names`, lower case) comes before all that only share parts of it.
pub fn lines(
    weights: &FxHashMap<&str, f32>,
    names: &FxHashMap<&str, f32>,
    text: &str,
    limit: usize,
    max_chars: usize,
) -> Vec<(u32, String)> {
    let whole: f32 = weights.values().sum();
    let mut scored: Vec<(f32, u32, &str)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.len() > 2_000 {
            continue;
        }
        let mut seen: Vec<&str> = Vec::new();
        let mut value = 0.0;
        words::raw(line, |word| {
            if !names.is_empty()
                && let Some((name, sure)) = names.get_key_value(word.to_ascii_lowercase().as_str())
                && !seen.contains(name)
            {
                seen.push(name);
                value += whole * sure;
            }
            words::terms(word, |term, _| {
                if let Some((term, weight)) = weights.get_key_value(term)
                    && !seen.contains(term)
                {
                    seen.push(term);
                    value += weight;
                }
            });
        });
        if value > 0.0 {
            scored.push((value, number, line));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(limit);
    scored.sort_by_key(|(_, number, _)| *number);
    scored
        .into_iter()
        .map(|(_, number, line)| (number, crate::base::text::one_line(line.trim(), max_chars)))
        .collect()
}
