//! Counts commands that show files (`cat`, `head`, `tail`, `sed -n`, `nl`, pipes of these, …) as a Read
//! before an edit. The expected output is computed from the current files and searched for in the actual
//! output, so that only what was really shown counts.

use std::path::{Path, PathBuf};

use memchr::memmem;

use super::line_filter::{LineFilter, Row, filter_of};
use crate::cx::ToolCx;
use crate::file::change::EDIT_LIMIT_BYTES;
use base::file;
use base::folder::exact;
use base::model::observation::View;
use base::path;
use guard::shell::interpret::call::{Call, CallInput};

const FILES: usize = 20;
/// If the output was cut, this many lines at either end of a view identify it.
const END_LINES: usize = 8;

pub(crate) struct Printed<'a> {
    pub bytes: &'a [u8],
    /// Whether the model sees all of it; otherwise `bytes` is what remained.
    pub whole: bool,
}

struct ViewedFile {
    canonical: PathBuf,
    shown: String,
    bytes: Vec<u8>,
}

/// Marks shown files as seen. Returns the view if the output is only unchanged lines of one file.
pub(crate) fn of_command(cx: &ToolCx, printed: &Printed) -> Option<View> {
    // A program that reads a pipe comes right after the one that feeds it.
    let pipelines = cx.calls.chunk_by(|_, next| next.input == CallInput::Pipe);
    let views = pipelines.filter_map(|pipeline| {
        let (names, filters) = stages(pipeline)?;
        // After a `cd` that may have failed there are two possible folders; the output tells which.
        pipeline[0].folders.iter().find_map(|folder| view(cx, folder, &names, &filters, printed))
    });
    views.fold(None, |one, view| one.or(view))
}

/// The files read by a pipe's first program, and the filters applied to their lines.
fn stages(pipeline: &[Call]) -> Option<(Vec<&str>, Vec<LineFilter>)> {
    let (first, rest) = pipeline.split_first()?;
    let (names, filter) = filter_of(first)?;
    let mut filters = vec![filter];
    for call in rest {
        let (others, filter) = filter_of(call)?;
        filters.push(filter);
        if !others.is_empty() {
            return None;
        }
    }
    (!names.is_empty() && names.len() <= FILES).then_some((names, filters))
}

/// `None` if nothing was shown; the inner value is [`of_command`]'s.
#[allow(clippy::option_option)]
fn view(
    cx: &ToolCx,
    folder: &Path,
    names: &[&str],
    filters: &[LineFilter],
    printed: &Printed,
) -> Option<Option<View>> {
    let files: Vec<ViewedFile> = names.iter().filter_map(|name| open(cx, folder, name)).collect();
    let mut rows: Vec<Row> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let lines = (1..).zip(file.bytes.split_inclusive(|byte| *byte == b'\n'));
        let own = lines.map(|(number, line)| Row { file: index, number, text: line.into() }).collect();
        // Only `head` and `tail` treat each file separately.
        rows.extend(if filters[0].is_for_each_file() { filters[0].apply(own) } else { own });
    }
    let done = usize::from(filters[0].is_for_each_file());
    let rows = filters[done..].iter().fold(rows, |rows, filter| filter.apply(rows));
    let mut views = rows.chunk_by(|a, b| a.file == b.file).filter(|rows| is_in(rows, printed)).map(|rows| {
        let file = &files[rows[0].file];
        let hash = file::hash(&file.bytes);
        cx.files.saw(&file.canonical, hash.clone(), &file.bytes);
        let (from, to) = (rows[0].number, rows[rows.len() - 1].number);
        let lines: Vec<&[u8]> = file.bytes.split_inclusive(|byte| *byte == b'\n').collect();
        (printed.whole && lines[from - 1..to].concat() == printed.bytes).then(|| View {
            path: Some(file.shown.clone()),
            start_line: Some(from as u64),
            end_line: Some(to as u64),
            total_lines: Some(lines.len() as u64),
            hash: Some(hash),
            ..View::default()
        })
    });
    let first = views.next()?;
    Some(views.fold(first, |one, view| one.or(view)))
}

fn open(cx: &ToolCx, folder: &Path, name: &str) -> Option<ViewedFile> {
    let resolved = path::resolve(folder, name);
    let (bytes, _) = exact::read(&resolved.canonical, EDIT_LIMIT_BYTES).ok()?;
    Some(ViewedFile {
        shown: path::display(&cx.root, &resolved.absolute),
        canonical: resolved.canonical,
        bytes,
    })
}

/// Whether the output contains these lines; either end of them is enough if it was cut.
fn is_in(rows: &[Row], printed: &Printed) -> bool {
    let has = |rows: &[Row]| {
        let text: Vec<u8> = rows.iter().flat_map(|row| row.text.iter().copied()).collect();
        !text.trim_ascii().is_empty() && memmem::find(printed.bytes, &text).is_some()
    };
    let end = END_LINES.min(rows.len());
    match printed.whole {
        true => has(rows),
        false => has(&rows[..end]) || has(&rows[rows.len() - end..]),
    }
}
