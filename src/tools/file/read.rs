//! Read: numbered lines, page by page, in bounded memory. Remembers the content for later edits.

use std::fs::File;
use std::io::Read as _;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use serde::Deserialize;

use super::change::{EDIT_LIMIT_BYTES, shown_in_editor};
use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use crate::file::matching::lines::Lines;
use crate::paths::{PathTarget, disk_error, lines_asked, open, read_access, read_at};
use crate::pdf;
use base::format::encoding::{self, Encoding};
use base::format::picture;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::observation::{Observation, View};
use base::text::{human_bytes, plural, short_path};
use base::{clock, file};
use guard::policy::access::Access;
use guard::redact::detector::TextSource;

const MAX_LINES: usize = 2_000;
const LINE_CHARS: usize = 2_000;
/// How far to look for a page in a huge file.
const SCAN_BYTES: u64 = 8 * 1024 * 1024 * 1024;

#[derive(Deserialize)]
pub struct Args {
    path: String,
    start_line: Option<usize>,
    limit: Option<usize>,
}

pub struct Read;

impl TypedTool for Read {
    type Args = Args;
    const NAME: &'static str = "Read";
    const ARGUMENTS: &'static str = "path, start_line? integer, limit? integer";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> =
        ToolWork::Blocking(|args, cx| read_at(cx, &args.path, |at| read(cx, at, args)));

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        read_access(cx, &args.path)
    }

    fn title(args: &Args) -> String {
        let path = short_path(&args.path, 120);
        match (args.start_line, args.limit) {
            (None, None) => format!("Read {path}"),
            (start, None) => format!("Read {path}:{}-", start.unwrap_or(1)),
            (start, Some(limit)) => {
                let start = start.unwrap_or(1).max(1);
                format!("Read {path}:{start}-{}", start.saturating_add(limit).saturating_sub(1))
            }
        }
    }
}

struct Page {
    body: String,
    first: usize,
    next: usize,
    limit: usize,
    /// Lower than the general output limit, so that a page is never truncated.
    bytes: usize,
    full: bool,
}

impl Page {
    fn new(first: usize, limit: usize, cx: &ToolCx) -> Self {
        let bytes = cx.observation.bytes / 25 * 24;
        let limit = limit.min(cx.observation.lines);
        Self { body: String::new(), first, next: first, limit, bytes, full: false }
    }

    /// Adds a line, of which `hidden` more bytes weren't read. Returns `false` if the page is full.
    fn push(&mut self, number: usize, line: &str, hidden: u64) -> bool {
        // Even a line of the widest characters must fit, or paging would get stuck on it.
        let shown = match line.char_indices().nth(LINE_CHARS.min(self.bytes / 6)) {
            Some((cut, _)) => &line[..cut],
            None => line,
        };
        let left_out = (line.len() - shown.len()) as u64 + hidden;
        let number_and_note = if left_out > 0 { 60 } else { 12 };
        let size = shown.len() + number_and_note;
        if self.next - self.first >= self.limit || self.body.len() + size > self.bytes {
            self.full = true;
            return false;
        }
        if !self.body.is_empty() {
            self.body.push('\n');
        }
        self.body.push_str(&format!("{number}\t{shown}"));
        if left_out > 0 {
            self.body.push_str(&format!("… [{} more in this line]", human_bytes(left_out)));
        }
        self.next = number + 1;
        true
    }
}

fn read(cx: &ToolCx, target: &PathTarget, args: &Args) -> ToolOutcome {
    let path = &target.resolved.canonical;
    let (start, limit) = lines_asked(&args.path, path).unwrap_or((args.start_line, args.limit));
    let first = start.unwrap_or(1).max(1);
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(cx.observation.page_lines).min(MAX_LINES);
    let refuse = |error| disk_error(cx, target, &error);
    let (mut handle, meta) = open(cx, target)?;
    let mtime_ms = meta.modified().map_or(0, clock::to_ms);
    let mut head = Vec::with_capacity(8192);
    (&mut handle).take(8192).read_to_end(&mut head).map_err(|error| refuse(error.into()))?;
    let binary = |bytes: &[u8]| {
        ToolError::model(
            ErrorCode::BinaryFile,
            format!(
                "{} is {} ({}), not text",
                target.shown,
                file::binary_kind(bytes),
                human_bytes(meta.len().max(bytes.len() as u64))
            ),
        )
    };
    if picture::is_picture(&head) {
        let size = human_bytes(meta.len());
        return read_picture(cx, target, handle, &format!("{} ({size})", file::binary_kind(&head)));
    }
    let is_pdf = pdf::is_pdf(&head);
    if !is_pdf && encoding::looks_binary(&head) {
        return Err(binary(&head));
    }
    let view = View { path: Some(target.shown.clone()), mtime_ms: Some(mtime_ms), ..View::default() };
    if !is_pdf && meta.len() > EDIT_LIMIT_BYTES {
        return read_huge(cx, target, handle, meta.len(), Page::new(first, limit, cx), view);
    }
    handle.seek(SeekFrom::Start(0)).map_err(|error| refuse(error.into()))?;
    let most = if is_pdf { pdf::MAX_BYTES } else { EDIT_LIMIT_BYTES };
    let bytes = file::read_all(handle, &meta, most).map_err(refuse)?;
    let bytes = if is_pdf { bytes } else { shown_in_editor(cx, target, &bytes).unwrap_or(bytes) };
    let (text, kind) = if is_pdf {
        let text = pdf::text(&bytes, &cx.cancel).map_err(|why| {
            if cx.cancel.is_cancelled() {
                return ToolError::interrupted();
            }
            let told = format!("{}; {why}", binary(&bytes).message);
            ToolError::model(ErrorCode::BinaryFile, told)
        })?;
        (text, Encoding::Utf8)
    } else {
        encoding::decode(&bytes).map_err(|_| binary(&bytes))?
    };
    let lines = Lines::new(&text);
    let total = lines.count();
    if first > total.max(1) {
        return Err(past_end(target, first, total));
    }
    let hash = file::hash(&bytes);
    // A document's text can't be edited.
    let before = if is_pdf { None } else { cx.files.saw(path, hash.clone(), &bytes) };
    let changed = before.is_some_and(|seen| seen.hash != hash);
    let mut page = Page::new(first, limit, cx);
    let redacted = cx.redactor.redact_lines(&text, TextSource::of_file(path));
    let clean = redacted.as_ref().map(|(clean, _)| Lines::new(clean));
    let shown = clean.as_ref().unwrap_or(&lines);
    // Leave out lines inside a secret; the others keep their numbers.
    let number =
        |index| redacted.as_ref().map_or(Some(index + 1), |(_, numbers)| numbers.get(index).copied());
    // A line counts as seen even if it is shown cut.
    let long = |index: usize| {
        if shown.content(index).len() > LINE_CHARS {
            cx.files.show(shown.content(index));
        }
    };
    for (index, number) in (0..shown.count()).map_while(|index| Some((index, number(index)?))) {
        if number >= first && !page.push(number, &encoding::shown(shown.content(index), kind), 0) {
            break;
        }
        if number >= first {
            long(index);
        }
    }
    if !page.full {
        page.next = page.next.max(total + 1);
    }
    let mut notes = Vec::new();
    if is_pdf {
        notes.push("the text of a PDF document".to_owned());
    }
    if total == 0 {
        notes.push(format!("{} is empty", target.shown));
    }
    if page.first > 1 || page.next <= total {
        let mut note = format!("lines {}-{} of {total}", page.first, page.next - 1);
        if page.next <= total {
            note.push_str(&format!("; continue with start_line={}", page.next));
        }
        notes.push(note);
    }
    if changed {
        notes.push("changed on disk since you last saw it".to_owned());
    }
    match kind {
        Encoding::Utf8 | Encoding::Utf8Bom => {}
        Encoding::DamagedUtf8 => notes.push("� stands for bytes that are not UTF-8".to_owned()),
        other => notes.push(format!("stored as {}", other.name())),
    }
    let view = View {
        start_line: Some(first as u64),
        end_line: Some(page.next as u64 - 1),
        total_lines: Some(total as u64),
        hash: Some(hash),
        modified_externally: changed.then_some(true),
        encoding: (kind != Encoding::Utf8).then(|| kind.name().to_owned()),
        line_ends: unusual_ends(&text).map(str::to_owned),
        ..view
    };
    let envelope = Envelope::success(notes.join("; ")).observed(Observation::Read(view));
    Ok(envelope.with_body("content", page.body))
}

/// Reads a picture, which is sent after the results of the step.
fn read_picture(cx: &ToolCx, target: &PathTarget, handle: File, kind: &str) -> ToolOutcome {
    let refuse = |why: String| {
        ToolError::model(ErrorCode::BinaryFile, format!("{} is {kind}, not text; {why}", target.shown))
    };
    if let Some(why) = cx.images.refusal() {
        return Err(refuse(format!("{why}. Ask the user what it shows, or use a tool that describes it")));
    }
    let (width, height) = cx.images.put(handle, &target.shown).map_err(|error| refuse(error.to_string()))?;
    let path = Some(target.shown.clone());
    let view = View { path, width: Some(width), height: Some(height), ..View::default() };
    let said = format!("image, shown at {width}×{height} below");
    Ok(Envelope::success(said).observed(Observation::Read(view)))
}

fn past_end(target: &PathTarget, first: usize, total: usize) -> ToolError {
    let lines = plural(total, "line");
    ToolError::invalid(format!("start_line {first} is past the end: {} has {lines}", target.shown))
}

/// `CRLF` or `mixed`; `None` for plain line feeds.
fn unusual_ends(text: &str) -> Option<&'static str> {
    let crlf = text.matches("\r\n").count();
    match (crlf, text.matches('\n').count()) {
        (0, _) => None,
        (crlf, all) if crlf == all => Some("CRLF"),
        _ => Some("mixed"),
    }
}

/// Streams a file that is too large for memory. It can't be edited, so its content isn't remembered.
fn read_huge(
    cx: &ToolCx,
    target: &PathTarget,
    mut handle: File,
    size: u64,
    mut page: Page,
    view: View,
) -> ToolOutcome {
    let refuse = |error| disk_error(cx, target, &error);
    handle.seek(SeekFrom::Start(0)).map_err(|error| refuse(error.into()))?;
    let mut reader = BufReader::with_capacity(256 * 1024, handle);
    let keep = LINE_CHARS * 4 + 4;
    let mut line: Vec<u8> = Vec::with_capacity(keep);
    let (mut number, mut line_bytes, mut scanned) = (1_usize, 0_u64, 0_u64);
    let mut ended = false;
    while !page.full && !ended {
        if cx.cancel.is_cancelled() {
            return Err(ToolError::interrupted());
        }
        let chunk = reader.fill_buf().map_err(|error| refuse(error.into()))?;
        ended = chunk.is_empty() || scanned > SCAN_BYTES;
        // `skip_until` is much faster than a loop here.
        let mut rest = chunk;
        let used = rest.skip_until(b'\n').unwrap_or(0);
        let feed = chunk[..used].ends_with(b"\n");
        let part = &chunk[..used - usize::from(feed)];
        if number >= page.first && line.len() < keep {
            line.extend_from_slice(&part[..part.len().min(keep - line.len())]);
        }
        line_bytes += part.len() as u64;
        reader.consume(used);
        scanned += used as u64;
        if feed || ended && line_bytes > 0 {
            if number >= page.first {
                let hidden = line_bytes - line.len() as u64;
                let text = String::from_utf8_lossy(&line);
                let text = text.strip_suffix('\r').unwrap_or(&text);
                page.push(number, text, hidden);
                page.full |= page.next - page.first >= page.limit;
            }
            line.clear();
            line_bytes = 0;
            number += 1;
        } else if number >= page.first && line.len() >= keep && page.next - page.first + 1 >= page.limit {
            // The page's last line is already long enough.
            let hidden = size.saturating_sub(scanned);
            page.push(number, &String::from_utf8_lossy(&line), hidden);
            page.full = true;
        }
    }
    if page.next == page.first {
        return Err(past_end(target, page.first, number - 1));
    }
    let mut note = format!("lines {}-{} of a file of {}", page.first, page.next - 1, human_bytes(size));
    if page.full {
        note.push_str(&format!("; continue with start_line={}", page.next));
    }
    note.push_str("; too large for Edit");
    let (start_line, end_line) = (Some(page.first as u64), Some(page.next as u64 - 1));
    let view = View { start_line, end_line, ..view };
    Ok(Envelope::success(note).observed(Observation::Read(view)).with_body("content", page.body))
}
