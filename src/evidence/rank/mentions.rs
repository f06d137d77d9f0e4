//! Files the task names: paths, file names, and stack frames.

use super::names::Names;
use super::query::Query;
use super::signals::{Columns, Signal};

/// Weight of each outer frame relative to the one before.
const OUTER_FRAME: f32 = 0.7;
/// A name that matches more files is ignored.
const MAX_FITS: usize = 40;

pub fn fill(names: &Names, query: &Query, columns: &mut Columns) {
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
}

fn frames(names: &Names, query: &Query, columns: &mut Columns) {
    let mut strength = 1.0;
    for frame in &query.frames {
        let (fits, parts) = names.ending_like(frame);
        // A file outside the project with a common name would match by name alone.
        let given = frame.split('/').filter(|part| !part.is_empty()).count();
        if fits.is_empty() || fits.len() > 3 || parts < 2 && given > 2 {
            continue;
        }
        for &file in &fits {
            columns.raise(Signal::Frame, file as usize, strength / fits.len() as f32);
        }
        strength *= OUTER_FRAME;
    }
}
