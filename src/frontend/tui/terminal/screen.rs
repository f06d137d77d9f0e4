//! The viewport below the terminal's own scrollback, drawn with moves relative to the cursor, like a shell
//! prompt: finished lines are written at the viewport's start, and the viewport moves below them.
//!
//! Rows are never addressed by number: on a resize, terminals move rows (tmux pulls lines from its history,
//! most rewrap long lines) and report it too late. All of them preserve the cursor's line and everything
//! above it; the viewport is everything from its first row on, and only that is erased. The cursor is at the
//! caret, where input methods open. While something moves it is hidden, and the caret is a reversed cell; if
//! a frame then meets a resize, the first row is taken to be too low rather than too high: a line may stand
//! twice, but none is lost. One resize often follows another, so for a while after one the cursor waits at
//! the viewport's first cell, which is always right.

use std::io::{self, Write};
use std::ops::Range;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Rect, Size};
use ratatui::style::{Color, Modifier};
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr as _;

use crate::tui::render::links;
use crate::tui::render::view::Drawing;
use base::sanitize;

pub type Row = Vec<Cell>;

const FREE_ROWS: usize = 4;
/// Frames after a resize during which the cursor doesn't go to the caret.
const UNSETTLED: u8 = 20;
/// The whole row: tmux wraps what was cleared after a row's end as if it were there.
const CLEAR_ROW: &[u8] = b"\x1b[2K";
const PLAIN: Style = (Color::Reset, Color::Reset, Modifier::empty());
/// Those used by the theme and the caret, with their codes (ECMA-48, SGR).
const ATTRIBUTES: [(Modifier, &str); 6] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
    (Modifier::CROSSED_OUT, "9"),
];

pub struct Screen<W: Write> {
    out: W,
    size: Size,
    /// Empty when everything must be redrawn.
    drawn: Vec<Row>,
    at: (usize, usize),
    cursor_shown: bool,
    settled: u8,
    popup: Option<Vec<Row>>,
    waiting: Vec<Line<'static>>,
    widths: Vec<usize>,
    rewrapped: bool,
    /// The terminal rewraps long lines when it becomes narrower.
    reflows: bool,
}

impl<W: Write> Screen<W> {
    pub fn new(out: W, size: Size, reflows: bool) -> Self {
        Self {
            out,
            size,
            drawn: Vec::new(),
            at: (0, 0),
            cursor_shown: true,
            settled: UNSETTLED,
            popup: None,
            waiting: Vec::new(),
            widths: Vec::new(),
            rewrapped: false,
            reflows,
        }
    }

    pub fn room(&self) -> u16 {
        self.size.height.saturating_sub(1).max(1)
    }

    pub fn is_covered(&self) -> bool {
        self.popup.is_some()
    }

    pub fn output(&mut self) -> &mut W {
        &mut self.out
    }

    /// The viewport's content is then unknown, but not its start: the terminal has rewrapped the rows above the cursor.
    pub fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        if self.reflows && self.cursor_shown && self.at != (0, 0) {
            let width = usize::from(size.width.max(1));
            let above = self.drawn.iter().take(self.at.1);
            let rows: usize = above.map(|row| used(row).max(1).div_ceil(width)).sum();
            self.at = (self.at.0 % width, rows + self.at.0 / width);
        }
        self.size = size;
        self.settled = 0;
        self.drawn.clear();
        if let Some(rows) = &mut self.popup {
            rows.clear();
        }
    }

    /// Writes nothing if nothing changed.
    pub fn show(&mut self, lines: Vec<Line<'static>>, picture: &Drawing) -> io::Result<()> {
        if picture.popup {
            self.waiting.extend(lines);
            return self.show_popup(picture);
        }
        self.leave_popup()?;
        let mut printed = std::mem::take(&mut self.waiting);
        printed.extend(lines);
        let room = usize::from(self.room());
        let mut rows: Vec<Row> = picture.lines.iter().take(room).map(|line| self.row(line)).collect();
        let free = self.drawn.len().min(room).saturating_sub(rows.len() + printed.len());
        // While something runs, the last row stays in place. Many free rows would look like a hole, so the viewport moves up.
        let above = if picture.still || free > FREE_ROWS { 0 } else { free };
        rows.splice(0..0, std::iter::repeat_n(self.row(&Line::default()), above));
        let last_column = usize::from(self.size.width).saturating_sub(1);
        let caret = picture.caret.map(|(column, row)| (column.min(last_column), (row + above).min(room - 1)));
        mark_caret(&mut rows, caret.filter(|_| !picture.still));
        // If the screen just got much lower, the first row may be out of reach: redraw everything.
        if self.at.1 > usize::from(self.size.height) / 2
            && (!printed.is_empty() || rows.len() > self.drawn.len())
        {
            self.drawn.clear();
        }
        let ends = self.drawn.iter().rev().zip(rows.iter().rev());
        let mut kept = ends.take_while(|(before, after)| before == after).count();
        if self.drawn.is_empty() {
            self.print(&printed)?;
        } else {
            self.print_above(&printed, kept)?;
        }
        if self.drawn.len() > rows.len() {
            self.erase(rows.len().saturating_sub(1))?;
            kept = 0;
        }
        self.draw(rows, kept)?;
        self.settled = self.settled.saturating_add(1);
        self.place(caret.filter(|_| picture.still || self.settled > UNSETTLED), picture.still)
    }

    /// Whether the terminal cut printed lines, now or earlier.
    pub fn is_torn(&self) -> bool {
        self.rewrapped || self.widths.iter().any(|used| *used > usize::from(self.size.width))
    }

    /// Works while everything printed is visible; lines that have scrolled off need the scrollback cleared.
    pub fn rewrap(&mut self, lines: Vec<Line<'static>>, picture: &Drawing) -> io::Result<()> {
        let width = usize::from(self.size.width.max(1));
        let rows = |used: &usize| if self.reflows { (*used).max(1).div_ceil(width) } else { 1 };
        let above: usize = self.widths.iter().map(rows).sum();
        let is_seen = above + picture.lines.len().max(self.at.1 + 1) <= usize::from(self.size.height);
        match above + self.at.1 {
            up if is_seen && up > 0 => write!(self.out, "\x1b[{up}A")?,
            _ if is_seen => {}
            _ => self.out.write_all(b"\x1b[H")?,
        }
        self.at.1 = 0;
        self.erase(0)?;
        if !is_seen {
            self.out.write_all(b"\x1b[3J")?;
        }
        self.widths.clear();
        self.rewrapped = true;
        self.waiting.clear();
        self.show(lines, picture)
    }

    /// Returns `false` if some have left the screen or something else was printed.
    pub fn withdraw(&mut self, lines: &[Line<'static>]) -> io::Result<bool> {
        let printed: Vec<usize> = lines.iter().map(|line| used(&self.row(line))).collect();
        let width = usize::from(self.size.width.max(1));
        let above: usize = printed.iter().map(|used| (*used).max(1).div_ceil(width)).sum();
        let is_seen = above + self.drawn.len() <= usize::from(self.size.height);
        if self.is_covered() || self.drawn.is_empty() || !is_seen || !self.widths.ends_with(&printed) {
            return Ok(false);
        }
        write!(self.out, "\x1b[{}A", above + self.at.1)?;
        self.at.1 = 0;
        self.erase(0)?;
        self.widths.truncate(self.widths.len() - printed.len());
        Ok(true)
    }

    pub fn clear(&mut self) -> io::Result<()> {
        self.leave_popup()?;
        self.erase(0)?;
        let height = usize::from(self.size.height);
        write!(self.out, "\x1b[{height}B{}\x1b[H", "\n".repeat(height))
    }

    /// Leaves the cursor at the viewport's start.
    pub fn leave(&mut self) -> io::Result<()> {
        self.leave_popup()?;
        let waiting = std::mem::take(&mut self.waiting);
        self.print(&waiting)?;
        self.show_cursor(true)
    }

    pub fn enter(&mut self) -> io::Result<()> {
        (self.at, self.popup) = ((0, 0), None);
        self.drawn.clear();
        self.cursor_shown = true;
        self.out.write_all(b"\r")
    }

    /// The viewport must be redrawn below them.
    fn print(&mut self, lines: &[Line<'static>]) -> io::Result<()> {
        self.erase(0)?;
        for line in lines {
            let row = self.row(line);
            cells(&mut self.out, &row, 0..row.len())?;
            self.out.write_all(b"\r\n")?;
            self.widths.push(used(&row));
        }
        Ok(())
    }

    /// Writes over outdated top rows; when those run out, moves the last `kept` rows down.
    fn print_above(&mut self, lines: &[Line<'static>], kept: usize) -> io::Result<()> {
        for line in lines {
            if self.drawn.len() <= kept {
                self.insert(0, 1)?;
            }
            self.go(0, 0)?;
            let row = self.row(line);
            // If it equals the live row, it is already there.
            if self.drawn[0] != row {
                if used(&self.drawn[0]) > used(&row) {
                    self.out.write_all(CLEAR_ROW)?;
                }
                cells(&mut self.out, &row, 0..row.len())?;
            }
            self.out.write_all(b"\r\n")?;
            self.widths.push(used(&row));
            self.drawn.remove(0);
        }
        Ok(())
    }

    /// First moves down to make room below.
    fn insert(&mut self, at: usize, count: usize) -> io::Result<()> {
        self.go(0, self.drawn.len() + count - 1)?;
        self.go(0, at)?;
        write!(self.out, "\x1b[{count}L")?;
        let blank = self.row(&Line::default());
        self.drawn.splice(at..at, std::iter::repeat_n(blank, count));
        Ok(())
    }

    /// The last `kept` rows only move. Goes down by line feeds: they scroll where a move would stop short.
    fn draw(&mut self, rows: Vec<Row>, kept: usize) -> io::Result<()> {
        let more = rows.len().saturating_sub(self.drawn.len());
        if more > 0 && kept > 0 {
            self.insert(self.drawn.len() - kept, more)?;
        }
        // No wrapping: a row may be too wide for a terminal that just became narrower.
        let changed = |at: usize, drawn: &[Row]| drawn.get(at) != rows.get(at);
        if (0..rows.len()).any(|at| changed(at, &self.drawn)) {
            self.out.write_all(b"\x1b[?7l")?;
            for (at, row) in rows.iter().enumerate() {
                if !changed(at, &self.drawn) {
                    continue;
                }
                let before = self.drawn.get(at).map_or(&[][..], Vec::as_slice);
                let shorter = used(before) > used(row);
                let part = if shorter { 0..row.len() } else { difference(before, row) };
                self.go(part.start, at)?;
                if shorter {
                    self.out.write_all(CLEAR_ROW)?;
                }
                self.at.0 = cells(&mut self.out, row, part)?;
                self.out.write_all(b"\r")?;
                self.at.0 = 0;
            }
            self.out.write_all(b"\x1b[?7h")?;
        }
        self.drawn = rows;
        Ok(())
    }

    /// Input methods open at the caret even if it is hidden; without one, the cursor hides at the first cell.
    fn place(&mut self, caret: Option<(usize, usize)>, still: bool) -> io::Result<()> {
        let (column, row) = caret.unwrap_or_default();
        self.go(column, row)?;
        self.show_cursor(still && caret.is_some())
    }

    fn go(&mut self, column: usize, row: usize) -> io::Result<()> {
        let up = self.at.1.saturating_sub(row);
        if up > 0 {
            write!(self.out, "\x1b[{up}A")?;
        }
        for _ in self.at.1..row {
            self.out.write_all(b"\n")?;
        }
        if column != self.at.0 {
            self.out.write_all(b"\r")?;
            if column > 0 {
                write!(self.out, "\x1b[{column}C")?;
            }
        }
        self.at = (column, row);
        Ok(())
    }

    fn show_cursor(&mut self, shown: bool) -> io::Result<()> {
        if shown != self.cursor_shown {
            self.out.write_all(if shown { b"\x1b[?25h" } else { b"\x1b[?25l" })?;
            self.cursor_shown = shown;
        }
        Ok(())
    }

    /// From the row's second cell on: clearing from the very first makes tmux push the screen into its history.
    fn erase(&mut self, row: usize) -> io::Result<()> {
        self.go(0, row)?;
        self.drawn.truncate(row);
        self.out.write_all(b"\r \x1b[J\r\x1b[K")
    }

    fn show_popup(&mut self, picture: &Drawing) -> io::Result<()> {
        let mut rows: Vec<Row> = picture.lines.iter().map(|line| self.row(line)).collect();
        mark_caret(&mut rows, picture.caret);
        let drawn = match self.popup.take() {
            Some(drawn) => drawn,
            None => {
                self.place(None, true)?;
                self.out.write_all(b"\x1b[?1049h")?;
                Vec::new()
            }
        };
        let anew = drawn.is_empty();
        if anew {
            self.out.write_all(b"\x1b[H \x1b[J")?;
        }
        let blank = self.row(&Line::default());
        for at in 0..rows.len().max(drawn.len()).min(usize::from(self.size.height)) {
            let row = rows.get(at).unwrap_or(&blank);
            if drawn.get(at) != Some(row) {
                write!(self.out, "\x1b[{}H\x1b[2K", at + 1)?;
                cells(&mut self.out, row, 0..row.len())?;
            }
        }
        self.popup = Some(rows);
        Ok(())
    }

    /// Erased first: after a resize, tmux (3.3a) would leave its rows in the history.
    fn leave_popup(&mut self) -> io::Result<()> {
        if self.popup.take().is_some() {
            self.out.write_all(b"\x1b[H \x1b[J\x1b[H\x1b[?1049l")?;
        }
        Ok(())
    }

    /// A last line of defense: even uncleaned text can't reach the terminal as a command.
    fn row(&self, line: &Line<'static>) -> Row {
        let width = self.size.width.max(1);
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        buffer.set_line(0, 0, line, width);
        for cell in &mut buffer.content {
            if sanitize::is_harmful(cell.symbol()) || cell.symbol().width() > usize::from(width) {
                cell.set_symbol("\u{fffd}");
            }
        }
        buffer.content
    }
}

fn mark_caret(rows: &mut [Row], caret: Option<(usize, usize)>) {
    let cell = caret.and_then(|(x, y)| rows.get_mut(y)?.get_mut(x));
    cell.into_iter().for_each(|cell| cell.modifier.toggle(Modifier::REVERSED));
}

type Style = (Color, Color, Modifier);

fn used(row: &[Cell]) -> usize {
    let last = row.iter().rposition(|cell| *cell != Cell::default());
    let used = last.map_or(0, |at| at + row[at].symbol().width().max(1));
    used.min(row.len())
}

/// Includes whole wide characters, and the rest of the row after one: terminals disagree about some widths.
fn difference(before: &[Cell], after: &[Cell]) -> Range<usize> {
    let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let plain = |cell: &Cell| cell.symbol().width() == 1 && cell.symbol().chars().nth(1).is_none();
    let wide = |at: usize| {
        [before, after].iter().any(|row| row.get(at).is_some_and(|cell| cell.symbol().width() > 1))
    };
    let start = same.saturating_sub(usize::from(same > 0 && wide(same - 1)));
    let tail = before.iter().zip(after).rev().take_while(|(before, after)| before == after).count();
    let end = after.len().saturating_sub(tail).max(start);
    let all_plain = before.len() == after.len()
        && [before, after].iter().all(|row| row.iter().skip(start).take(end - start).all(plain));
    start..if all_plain { end } else { after.len() }
}

/// Without trailing blanks; returns the column after them.
fn cells(out: &mut impl Write, row: &[Cell], part: Range<usize>) -> io::Result<usize> {
    let end = used(row).min(part.end);
    let mut style = PLAIN;
    let mut link = Color::Reset;
    let mut at = part.start;
    while let Some(cell) = row.get(at).filter(|_| at < end) {
        let wanted = (cell.fg, cell.bg, cell.modifier);
        if wanted != style {
            set_style(out, style, wanted)?;
            style = wanted;
        }
        if cell.underline_color != link {
            link = cell.underline_color;
            set_link(out, link)?;
        }
        out.write_all(cell.symbol().as_bytes())?;
        at += cell.symbol().width().max(1);
        // Terminals disagree about the width of composed characters.
        if cell.symbol().chars().nth(1).is_some() && at < end {
            write!(out, "\x1b[{}G", at + 1)?;
        }
    }
    if style != PLAIN {
        set_style(out, style, PLAIN)?;
    }
    if link != Color::Reset {
        set_link(out, Color::Reset)?;
    }
    Ok(at)
}

/// The address was checked when the link was created. The id joins the parts of a wrapped link.
fn set_link(out: &mut impl Write, link: Color) -> io::Result<()> {
    match links::of(link) {
        Some((number, address)) => write!(out, "\x1b]8;id={number};{address}\x1b\\"),
        None => out.write_all(b"\x1b]8;;\x1b\\"),
    }
}

fn set_style(out: &mut impl Write, before: Style, (fg, bg, modifier): Style) -> io::Result<()> {
    let mut codes: Vec<String> = Vec::new();
    // Bold and dim have only one end, so they end with a reset.
    let resets = !modifier.contains(before.2) || (fg, bg, modifier) == PLAIN;
    let before = if resets { PLAIN } else { before };
    codes.extend(resets.then(|| "0".to_owned()));
    codes.extend((fg != before.0).then(|| color(fg, 30)));
    codes.extend((bg != before.1).then(|| color(bg, 40)));
    let new = ATTRIBUTES.iter().filter(|(name, _)| modifier.contains(*name) && !before.2.contains(*name));
    codes.extend(new.map(|(_, code)| (*code).to_owned()));
    write!(out, "\x1b[{}m", codes.join(";"))
}

/// `base` is 30 for text, 40 for backgrounds. Palettes have no named colors.
fn color(color: Color, base: u16) -> String {
    match color {
        Color::Indexed(number @ 0..8) => (base + u16::from(number)).to_string(),
        Color::Indexed(number @ 8..16) => (base + 52 + u16::from(number)).to_string(),
        Color::Indexed(number) => format!("{};5;{number}", base + 8),
        Color::Rgb(red, green, blue) => format!("{};2;{red};{green};{blue}", base + 8),
        _ => (base + 9).to_string(),
    }
}
