//! Runs the signals: words, names and history for all files, then the texts of promising files.

use std::path::Path;

use super::names::Names;
use super::query::Query;
use super::signals::{Columns, Signal, best};
use super::{fields, links, verbatim};
use crate::commits::history::CommitHistory;
use crate::index::format::Damaged;
use crate::index::store::Index;
use crate::text::kind::FilePurpose;

const READ_FILES: usize = 80;
const READ_BYTES: u64 = 5 << 20;
/// Weight of each outer frame relative to the one before.
const OUTER_FRAME: f32 = 0.7;
/// A name that matches more files is ignored.
const MAX_FITS: usize = 40;

pub fn gather(
    root: &Path,
    index: &Index,
    history: &CommitHistory,
    query: &Query,
) -> Result<Columns, Damaged> {
    let names = Names::new(index);
    let mut columns = Columns::new(index.files().len());
    fields::fill(index, query, &mut columns)?;
    mentions(&names, query, &mut columns);
    kinds(index, query, &mut columns);
    links::past(history, &links::today(history, &names), query, &mut columns);
    read(root, index, query, &mut columns);
    Ok(columns)
}

/// Each file's score for a task, ignoring its kind; empty without words.
pub fn task(root: &Path, index: &Index, history: &CommitHistory, query: &Query) -> Result<Vec<f32>, Damaged> {
    if query.words.is_empty() {
        return Ok(Vec::new());
    }
    let mut columns = gather(root, index, history, query)?;
    for kind in [Signal::Test, Signal::Document, Signal::Example, Signal::Settings] {
        columns.of_mut(kind).fill(0.0);
    }
    Ok(columns.scores())
}

/// Files that the task names: paths, file names, and stack frames.
fn mentions(names: &Names, query: &Query, columns: &mut Columns) {
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
        // A common name outside the project would match by name alone.
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

fn read(root: &Path, index: &Index, query: &Query, columns: &mut Columns) {
    let mut budget = READ_BYTES;
    let mut order = best(&columns.scores(), READ_FILES);
    order.retain(|number| {
        let size = index.doc(*number).map_or(0, |doc| doc.size_bytes.min(verbatim::MAX_BYTES));
        let fits = size <= budget;
        budget -= if fits { size } else { 0 };
        fits
    });
    let paths: Vec<&[u8]> =
        order.iter().filter_map(|number| index.doc(*number)).map(|doc| doc.path.as_slice()).collect();
    for (number, quoted) in order.iter().copied().zip(verbatim::score(root, query, &paths)) {
        columns.add(Signal::Quoted, number, quoted);
    }
}

/// Penalizes a file's kind unless the task asks for it.
fn kinds(index: &Index, query: &Query, columns: &mut Columns) {
    for (number, doc) in index.files() {
        let signal = match doc.kind {
            FilePurpose::Source => continue,
            FilePurpose::Test => Signal::Test,
            FilePurpose::Document => Signal::Document,
            FilePurpose::Example => Signal::Example,
            FilePurpose::Settings => Signal::Settings,
            FilePurpose::Foreign => Signal::Foreign,
        };
        let about = signal == Signal::Test && query.about_tests
            || signal == Signal::Document && query.about_documents;
        let against = match (about, columns.of(Signal::Mention)[number] > 0.5) {
            (true, true) => 0.0,
            (false, false) => 1.0,
            _ => 0.5,
        };
        columns.add(signal, number, against);
    }
}
