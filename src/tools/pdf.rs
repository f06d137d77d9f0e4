//! The text of PDF documents, page by page. A document may crash its reader or use any amount of memory and time, so
//! a second process reads it, with limits. `hayro-interpret` 0.9 (2026-11-02) provides glyphs with their positions.

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, interpret_page,
};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use base::system::os;
use guard::sandbox::launch;

pub const NAME: &str = "__pdf";
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;
const MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// No page is started after this time.
const TIME: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(20);
/// Glyph units per font size.
const UNITS: f64 = 1_000.0;

pub fn is_pdf(head: &[u8]) -> bool {
    head.starts_with(b"%PDF-")
}

/// All pages, each under a line with its number; the error completes a sentence about the document. Blocks.
pub fn text(document: &[u8], cancel: &CancellationToken) -> Result<String, String> {
    let own = launch::helper().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg(NAME).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let reading = async {
        let mut child = command.kill_on_drop(true).spawn().ok()?;
        let mut asked = child.stdin.take()?;
        // Write and read concurrently, because either pipe could fill up.
        let ask = async move { asked.write_all(document).await };
        let (_, answer) = tokio::join!(ask, child.wait_with_output());
        answer.ok().filter(|answer| answer.status.success())
    };
    let answer = Handle::current().block_on(cancel.run_until_cancelled(timeout(PATIENCE, reading)));
    let answer = answer.and_then(Result::ok).flatten();
    let answer = answer.ok_or("reading it failed, took too long or needed too much memory")?;
    serde_json::from_slice(&answer.stdout).map_err(|error| error.to_string())?
}

/// Entry point of the process that reads a document.
pub fn run() -> ! {
    os::end_with_parent();
    os::limit_memory(MEMORY_BYTES);
    let mut document = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut document).map_err(|error| error.to_string());
    let answer = read.and_then(|_| extract(document));
    let told = serde_json::to_vec(&answer).map(|answer| std::io::stdout().write_all(&answer));
    std::process::exit(i32::from(!matches!(told, Ok(Ok(())))))
}

fn extract(document: Vec<u8>) -> Result<String, String> {
    let until = Instant::now() + TIME;
    let pdf = Pdf::new(document).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => "it is protected by a password",
        LoadPdfError::Decryption(_) => "its encryption is damaged or not supported",
        LoadPdfError::Invalid => "it is damaged",
    })?;
    let cache = InterpreterCache::new();
    let (mut text, mut any) = (String::new(), false);
    let total = pdf.pages().len();
    for (page, number) in pdf.pages().iter().zip(1..) {
        if text.len() > MAX_TEXT_BYTES || Instant::now() > until {
            text.push_str(&format!(
                "--- pages {number}-{total} were not read: the document is too large ---\n"
            ));
            break;
        }
        let settings = InterpreterSettings::default();
        let nowhere = Rect::new(0.0, 0.0, 1.0, 1.0);
        let mut context = Context::new(Affine::IDENTITY, nowhere, &cache, pdf.xref(), settings);
        let mut found = PageText::default();
        interpret_page(page, &mut context, &mut found);
        let found = found.text.trim();
        any |= !found.is_empty();
        if found.is_empty() {
            text.push_str(&format!("--- page {number} of {total} (no text: an image or a drawing) ---\n"));
        } else {
            text.push_str(&format!("--- page {number} of {total} ---\n{found}\n"));
        }
    }
    if any { Ok(text) } else { Err(format!("none of its {total} pages has text: they are scanned or drawn")) }
}

/// The glyphs of a page in drawing order, with line feeds and blanks derived from their positions.
#[derive(Default)]
struct PageText {
    text: String,
    last: Option<Placed>,
}

struct Placed {
    end: Point,
    direction: Vec2,
    size: f64,
}

impl PageText {
    fn part(&mut self, start: Point, next: &Placed) {
        let Some(last) = &self.last else { return };
        let gap = start - last.end;
        let ahead = gap.dot(last.direction);
        let aside = gap.cross(last.direction).abs();
        let size = last.size.max(next.size);
        if next.direction.dot(last.direction) < 0.99 || aside > size * 0.5 {
            self.text.push('\n');
        } else if ahead.abs() > size * 1.5 {
            self.text.push_str("  ");
        } else if ahead.abs() > size * 0.15 && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    fn push(&mut self, c: char) {
        const LIGATURES: [&str; 7] = ["ff", "fi", "fl", "ffi", "ffl", "st", "st"];
        match c {
            '\u{fb00}'..='\u{fb06}' => self.text.push_str(LIGATURES[c as usize - 0xfb00]),
            c if c.is_control() => {}
            c => self.text.push(c),
        }
    }
}

impl Device<'_> for PageText {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, _: &DrawMode) {
        for glyph in run.glyphs() {
            let place = props.transform * glyph.transform();
            let width = match &**glyph {
                Glyph::Outline(glyph) => glyph.advance_width(),
                Glyph::Type3(glyph) => glyph.advance_width(),
            };
            let width = width.map_or(UNITS / 2.0, f64::from);
            let (unit, advance) = match run.writing_mode() {
                WritingMode::Horizontal => (Point::new(UNITS, 0.0), Point::new(width, 0.0)),
                WritingMode::Vertical => (Point::new(0.0, -UNITS), Point::new(0.0, -UNITS)),
            };
            let start = place * Point::ZERO;
            let placed = Placed {
                end: place * advance,
                direction: (place * unit - start).normalize(),
                size: (place * Point::new(0.0, UNITS) - start).hypot(),
            };
            self.part(start, &placed);
            match glyph.as_unicode() {
                Some(BfString::Char(c)) => self.push(c),
                Some(BfString::String(text)) => text.chars().for_each(|c| self.push(c)),
                None => self.push(char::REPLACEMENT_CHARACTER),
            }
            self.last = Some(placed);
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'_>, _: &DrawMode) {}
    fn draw_image(&mut self, _: Image<'_, '_>, _: ImageDrawProps<'_>) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn pop_clip(&mut self) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {}
    fn pop_transparency_group(&mut self) {}
}
