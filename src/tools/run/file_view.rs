//! Counts files that a command shows (`cat`, `head`, `sed -n`, …) as seen. Which lines the model may edit depends
//! on the shown lines; this only decides which files it knows.

use std::collections::HashSet;
use std::path::Path;

use memchr::memmem;

use crate::cx::ToolCx;
use crate::file::change::EDIT_LIMIT_BYTES;
use base::folder::exact;
use base::model::observation::View;
use base::search::words::listed;
use base::{file, path};
use guard::shell::interpret::call::{Arg, Call};

/// Programs that print lines of their argument files.
const SHOW: &str = "cat less more bat batcat nl head tail sed awk gawk mawk";
const FILES: usize = 20;
/// Shorter lines occur in too many files.
const TELLING_BYTES: usize = 4;

/// Returns the view if the output is exactly part of one file and was shown in full (`whole`).
pub(crate) fn of_command(cx: &ToolCx, printed: &[u8], whole: bool) -> Option<View> {
    let lines: HashSet<&[u8]> = printed.split(|byte| *byte == b'\n').map(telling).collect();
    let changes = |call: &Call| call.args().iter().any(|arg| arg.text.starts_with("-i"));
    let shows = cx.calls.iter().filter(|call| listed(SHOW, call.name()) && !changes(call));
    let files = shows.flat_map(|call| {
        let names = call.args().iter().filter_map(Arg::certain).filter(|name| !name.starts_with('-'));
        // After a `cd` that may have failed there are two possible folders; the output tells which.
        names.flat_map(|name| call.folders.iter().map(move |folder| (folder, name)))
    });
    let views =
        files.take(FILES).filter_map(|(folder, name)| of_file(cx, folder, name, printed, whole, &lines));
    views.fold(None, |one, view| one.or(Some(view)))
}

/// The line as it may be in a file: without a line number; empty if too short to identify it.
fn telling(line: &[u8]) -> &[u8] {
    let digits = line.trim_ascii_start().iter().take_while(|byte| byte.is_ascii_digit()).count();
    let numbered = line.trim_ascii_start()[digits..].strip_prefix(b"\t").filter(|_| digits > 0);
    let line = numbered.unwrap_or(line).trim_ascii();
    if line.len() < TELLING_BYTES { &[] } else { line }
}

fn of_file(
    cx: &ToolCx,
    folder: &Path,
    name: &str,
    printed: &[u8],
    whole: bool,
    lines: &HashSet<&[u8]>,
) -> Option<View> {
    let resolved = path::resolve(folder, name);
    let (bytes, _) = exact::read(&resolved.canonical, EDIT_LIMIT_BYTES).ok()?;
    let range = if whole { only_place(&bytes, printed) } else { None };
    let is_shown = |line: &[u8]| !telling(line).is_empty() && lines.contains(telling(line));
    if range.is_none() && !bytes.split(|byte| *byte == b'\n').any(is_shown) {
        return None;
    }
    let hash = file::hash(&bytes);
    // Changes by this command itself are reported separately.
    let told = cx
        .files
        .get(&resolved.canonical)
        .is_none_or(|seen| seen.hash == hash || seen.reported.as_ref() == Some(&hash));
    if range.is_none() && !told {
        return None;
    }
    cx.files.saw(&resolved.canonical, hash.clone(), &bytes);
    let (from, to) = range?;
    Some(View {
        path: Some(path::display(&cx.root, &resolved.absolute)),
        start_line: Some(from as u64),
        end_line: Some(to as u64),
        total_lines: Some(line_count(&bytes) as u64),
        hash: Some(hash),
        ..View::default()
    })
}

/// The first and last line of this exact text, if it occurs only once.
fn only_place(bytes: &[u8], text: &[u8]) -> Option<(usize, usize)> {
    let starts_line = |at: &usize| *at == 0 || bytes[*at - 1] == b'\n';
    let mut places = memmem::find_iter(bytes, text).filter(starts_line);
    let at = places.next().filter(|_| places.next().is_none() && !text.trim_ascii().is_empty())?;
    let ends_line = text.ends_with(b"\n") || at + text.len() == bytes.len();
    let before = line_count(&bytes[..at]);
    ends_line.then(|| (before + 1, before + line_count(text)))
}

fn line_count(bytes: &[u8]) -> usize {
    bytes.split_inclusive(|byte| *byte == b'\n').count()
}
