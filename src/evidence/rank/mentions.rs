//! Files that the task calls by name: paths, file names, modules, stack frames, and words that are a file's name.

use rustc_hash::FxHashMap;

use super::names::{ENTRANCES, Names, stem_of};
use super::query::Query;
use super::signals::{Columns, Signal};
use crate::evidence::text::stem::stem;
use crate::evidence::text::words::{self, rarity};

/// Each frame further out counts this share of the one before.
const OUTER_FRAME: f32 = 0.7;
/// A name that fits more files than this names none of them.
const MAX_FITS: usize = 40;

/// Fills the columns of the naming signals.
pub fn fill(names: &Names, query: &Query, columns: &mut Columns) {
    let files = names.paths.len();
    for path in &query.paths {
        let (fits, parts) = names.ending_like(path);
        if fits.is_empty() || fits.len() > MAX_FITS {
            continue;
        }
        let value = (0.6 + 0.2 * parts.min(3) as f32) / (fits.len() as f32).sqrt();
        for file in fits {
            columns.add(Signal::Mention, file as usize, value);
        }
    }
    frames(names, query, columns);
    for parts in &query.dotted {
        let (fits, used) = names.module(parts);
        if fits.is_empty() || fits.len() > MAX_FITS {
            continue;
        }
        let value = used.min(4) as f32 * rarity(fits.len(), files) / (fits.len() as f32).sqrt();
        for file in fits {
            columns.raise(Signal::Dotted, file as usize, value);
        }
    }
    stems(names, query, columns, files);
}

fn frames(names: &Names, query: &Query, columns: &mut Columns) {
    let mut strength = 1.0;
    for frame in &query.frames {
        let (fits, parts) = names.ending_like(&frame.path);
        // A foreign file with a common name fits by its name alone.
        let given = frame.path.split('/').filter(|part| !part.is_empty()).count();
        if fits.is_empty() || fits.len() > 3 || parts < 2 && given > 2 {
            continue;
        }
        for &file in &fits {
            columns.raise(Signal::Frame, file as usize, strength / fits.len() as f32);
        }
        strength *= OUTER_FRAME;
    }
}

/// A word of the task that is the file's name, or all parts of the file's name among the words.
fn stems(names: &Names, query: &Query, columns: &mut Columns, files: usize) {
    for word in &query.words {
        let fits = names.with_stem(&word.term);
        if fits.is_empty() || fits.len() > MAX_FITS {
            continue;
        }
        let value = word.weight * if word.in_title { 1.5 } else { 1.0 } * rarity(fits.len(), files);
        for &file in fits {
            columns.raise(Signal::Stem, file as usize, value / (fits.len() as f32).sqrt());
        }
    }
    let known: FxHashMap<&str, bool> =
        query.words.iter().map(|word| (word.term.as_str(), word.in_title)).collect();
    for (file, path) in names.paths.iter().enumerate() {
        let name = stem_of(path);
        if ENTRANCES.contains(&name) {
            continue;
        }
        let (mut parts, mut found, mut titled) = (0, 0.0, 0.0);
        words::parts(name, |part| {
            parts += 1;
            let part = stem(part);
            if let Some(in_title) = known.get(part) {
                found += 1.0;
                titled += f32::from(u8::from(*in_title));
            }
        });
        if parts > 0 && found > 0.0 {
            let share = found / parts as f32;
            // Two of two parts say more than one of one.
            let value = share * share * (found + titled) * rarity(names.with_stem(name).len(), files);
            columns.raise(Signal::Stem, file, value * 0.5);
        }
    }
}
