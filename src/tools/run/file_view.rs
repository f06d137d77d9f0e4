//! A command that shows files (`cat`, `head`, `tail`, `sed -n`, `nl`, piped into each other, behind a `cd`, among others) is
//! a view of those files, as a Read is: it may stand in for one, and a Read before an edit is not asked for again. What the
//! command must have shown is worked out from the files as they are now and looked for in its output, so that only what
//! was really shown counts as seen.

use std::path::{Path, PathBuf};

use memchr::memmem;
use serde_json::{Value, json};

use super::line_filter::{LineFilter, Row, filter_of};
use crate::cx::ToolCx;
use crate::file::change::EDIT_LIMIT_BYTES;
use base::file;
use base::folder::exact;
use base::path;
use guard::shell::interpret::call::{Call, Input};

/// Files of one program that are looked at.
const FILES: usize = 20;
/// Lines at an end of a view by which it is recognized in output that was cut.
const END_LINES: usize = 8;

/// What a command printed.
pub(crate) struct Printed<'a> {
    pub bytes: &'a [u8],
    /// Whether the model sees all of it; `bytes` is else what was left of it.
    pub whole: bool,
}

struct ViewedFile {
    canonical: PathBuf,
    /// As it is shown to the model.
    shown: String,
    bytes: Vec<u8>,
}

/// Notes the files that the command of this call showed: they count as seen then. When it showed lines of one file as they
/// are and nothing else, that view is the answer.
pub(crate) fn of_command(cx: &ToolCx, printed: &Printed) -> Option<Value> {
    // What reads a pipe follows what feeds it.
    let pipelines = cx.calls.chunk_by(|_, next| next.input == Input::Pipe);
    let views = pipelines.filter_map(|pipeline| {
        let (names, filters) = stages(pipeline)?;
        // After a `cd` that may have failed there are two folders; the output tells which it was.
        pipeline[0].folders.iter().find_map(|folder| view(cx, folder, &names, &filters, printed))
    });
    views.fold(None, |one, view| one.or(view))
}

/// The files that the first program of a pipe reads, and what is done to their lines from there on.
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

/// Notes what was shown of the files `names` in `folder`. `None` when nothing was; the inner answer is
/// [`of_command`]'s.
#[allow(clippy::option_option)]
fn view(
    cx: &ToolCx,
    folder: &Path,
    names: &[&str],
    filters: &[LineFilter],
    printed: &Printed,
) -> Option<Option<Value>> {
    let files: Vec<ViewedFile> = names.iter().filter_map(|name| open(cx, folder, name)).collect();
    let mut rows: Vec<Row> = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let lines = (1..).zip(file.bytes.split_inclusive(|byte| *byte == b'\n'));
        let own = lines.map(|(number, line)| Row { file: index, number, text: line.into() }).collect();
        // Only `head` and `tail` look at their files one by one.
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
        (printed.whole && lines[from - 1..to].concat() == printed.bytes).then(|| {
            json!({
                "path": file.shown,
                "hash": hash,
                "start_line": from,
                "end_line": to,
                "total_lines": lines.len()
            })
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

/// Whether the output has these lines; of a cut one an end of them is enough.
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
