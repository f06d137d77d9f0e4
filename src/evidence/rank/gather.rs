//! Runs the signals in their order: words and names for all files, then links from the files that look right, then
//! their texts.

use std::path::Path;

use super::blend::{self, Blended};
use super::fields::{self, Columns};
use super::links;
use super::mentions;
use super::names::{ENTRANCES, Names, stem_of};
use super::query::Query;
use super::signal::Signal;
use super::verbatim;
use crate::evidence::commits::history::History;
use crate::evidence::index::codec::Damaged;
use crate::evidence::index::reader::Index;
use crate::evidence::text::kind::FilePurpose;

/// Files whose text is read for a query.
const READ_FILES: usize = 80;
const READ_BYTES: u64 = 5 << 20;

/// All values for a query.
///
/// # Errors
/// [`Damaged`].
pub fn gather(root: &Path, index: &Index, history: &History, query: &Query) -> Result<Blended, Damaged> {
    let names = Names::new(index);
    let mut columns = Columns::new(index.doc_count());
    fields::fill(index, query, &mut columns)?;
    mentions::fill(&names, query, &mut columns);
    kinds(index, &names, query, &mut columns);
    // What the words and the past say is where links and texts are looked for.
    let today = links::today(history, &names);
    links::past(history, &today, query, &mut columns);
    let first = scores(&blend::blend(&columns), index);
    let seeds = links::seeds(&first);
    links::imports(index, &names, &seeds, &mut columns)?;
    links::folders(&names, &seeds, &mut columns);
    links::pairs(index, &names, &seeds, &mut columns);
    let bodies = columns.of(Signal::Piece).to_vec();
    links::twins(index, &names, &bodies, &mut columns);
    links::together(history, &today, &seeds, &mut columns);
    let second = scores(&blend::blend(&columns), index);
    read(root, index, query, &second, &mut columns);
    Ok(blend::blend(&columns))
}

fn scores(blended: &Blended, index: &Index) -> Vec<f32> {
    let mut scores = vec![f32::MIN; index.doc_count()];
    for (number, _) in index.live() {
        scores[number] = blended.score(number);
    }
    scores
}

fn read(root: &Path, index: &Index, query: &Query, scores: &[f32], columns: &mut Columns) {
    let mut order: Vec<usize> = index.live().map(|(number, _)| number).collect();
    let better = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if order.len() > READ_FILES {
        order.select_nth_unstable_by(READ_FILES, better);
        order.truncate(READ_FILES);
    }
    order.sort_by(better);
    let mut budget = READ_BYTES;
    order.retain(|number| {
        let size = index.doc(*number).map_or(0, |doc| doc.size_bytes.min(256 << 10));
        let fits = size <= budget;
        budget -= if fits { size } else { 0 };
        fits
    });
    let paths: Vec<&[u8]> =
        order.iter().filter_map(|number| index.doc(*number)).map(|doc| doc.path.as_slice()).collect();
    for (number, (quoted, phrase)) in order.iter().copied().zip(verbatim::score(root, query, &paths)) {
        columns.add(Signal::Quoted, number, quoted);
        columns.add(Signal::Phrase, number, phrase);
    }
}

/// What a file is counts against it, unless the task asks for its like.
fn kinds(index: &Index, names: &Names, query: &Query, columns: &mut Columns) {
    for (number, doc) in index.live() {
        columns.add(Signal::Size, number, (doc.words as f32).ln_1p());
        if ENTRANCES.contains(&stem_of(&names.paths[number])) {
            columns.add(Signal::Entrance, number, 1.0);
        }
        let signal = match doc.kind {
            FilePurpose::Source => continue,
            FilePurpose::Test => Signal::Test,
            FilePurpose::Document => Signal::Document,
            FilePurpose::Example => Signal::Example,
            FilePurpose::Settings => Signal::Settings,
            FilePurpose::Foreign => Signal::Foreign,
        };
        let wanted = signal == Signal::Test && query.about_tests
            || signal == Signal::Document && query.about_documents
            || columns.of(Signal::Mention)[number] > 0.5;
        columns.add(signal, number, if wanted { 0.5 } else { 1.0 });
    }
}
