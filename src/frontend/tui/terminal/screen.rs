//! The viewport below the terminal's own scrollback. Everything is drawn by moves that are relative to the cursor, as a
//! shell draws its prompt: finished lines are written once where the viewport began and the viewport follows below them.
//! No row is ever addressed by its number, because a terminal that is resized moves its rows (tmux fetches lines back
//! from its history, others don't, most break long lines anew) and says so only later, when frames are on their way
//! already. What all of them keep is the line that the cursor stands in and all above it. Therefore the cursor waits at
//! the viewport's first cell while anything moves, and the caret is drawn as a reversed cell: whatever the size becomes,
//! the viewport is what stands from the cursor on, and only that is ever erased. Only when nothing moves does the
//! terminal's own cursor stand at the caret, where input methods look for it.

use std::io::{self, Write};

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Rect, Size};
use ratatui::style::Modifier;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr as _;

use super::paint;
use crate::tui::render::view::Drawing;
use base::sanitize;

/// One row of the viewport as it was drawn.
pub type Row = Vec<Cell>;

/// A terminal of which we own what stands from the viewport's first row on.
pub struct Screen<W: Write> {
    out: W,
    size: Size,
    /// What the viewport's rows hold; empty when they must be drawn anew.
    drawn: Vec<Row>,
    /// Where the cursor stands in the viewport: column and row.
    at: (u16, u16),
    cursor_shown: bool,
    /// The rows of a popup, which has the alternate screen.
    popup: Option<Vec<Row>>,
    /// Lines that finished while a popup was open.
    waiting: Vec<Line<'static>>,
    /// The terminal breaks long lines anew when it becomes narrower.
    reflows: bool,
}

impl<W: Write> Screen<W> {
    /// The viewport begins in the row where the cursor is.
    pub fn new(out: W, size: Size, reflows: bool) -> Self {
        Self {
            out,
            size,
            drawn: Vec::new(),
            at: (0, 0),
            cursor_shown: true,
            popup: None,
            waiting: Vec::new(),
            reflows,
        }
    }

    /// Rows that the viewport may take: one row stays for the scrollback where there is more than one.
    pub fn room(&self) -> u16 {
        self.size.height.saturating_sub(1).max(1)
    }

    /// For tests that look at what was written.
    pub fn output(&mut self) -> &mut W {
        &mut self.out
    }

    /// The terminal has another size. What is drawn of the viewport is unknown now; where it begins is not.
    pub fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        if self.reflows && self.at != (0, 0) {
            let width = size.width.max(1);
            let above = self.drawn.iter().take(usize::from(self.at.1));
            let rows: u16 = above.map(|row| paint::used(row).max(1).div_ceil(width)).sum();
            self.at = (self.at.0 % width, rows + self.at.0 / width);
        }
        self.size = size;
        self.drawn.clear();
        if let Some(rows) = &mut self.popup {
            rows.clear();
        }
    }

    /// Prints `lines` above, then draws `picture` below them. Without a change nothing is written.
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
        // The last row stays where it is: a viewport that shrinks leaves rows free for the lines that come.
        let free = self.drawn.len().min(room).saturating_sub(rows.len() + printed.len());
        rows.splice(0..0, std::iter::repeat_n(self.row(&Line::default()), free));
        let caret = picture.caret.map(|(column, row)| {
            let row = row.saturating_add(u16::try_from(free).unwrap_or(u16::MAX));
            (column.min(self.size.width.saturating_sub(1)), row.min(self.room() - 1))
        });
        let caret_cell = caret.filter(|_| !picture.still);
        if let Some(cell) =
            caret_cell.and_then(|(x, y)| rows.get_mut(usize::from(y))?.get_mut(usize::from(x)))
        {
            cell.modifier.toggle(Modifier::REVERSED);
        }
        // From a caret further down, a screen that has just become lower may put the first row out of reach: then nothing
        // of what stands there is kept.
        if self.at.1 > 0 && (!printed.is_empty() || rows.len() > self.drawn.len()) {
            self.drawn.clear();
        }
        let kept = paint::common_end(&self.drawn, &rows);
        if self.drawn.is_empty() {
            self.print(&printed)?;
        } else {
            self.print_above(&printed, kept)?;
        }
        self.draw(rows, kept)?;
        self.place(caret.filter(|_| picture.still))
    }

    /// Scrolls all that is visible into the scrollback; the viewport then begins at the top of an empty screen.
    pub fn clear(&mut self) -> io::Result<()> {
        self.leave_popup()?;
        self.erase()?;
        let height = usize::from(self.size.height);
        write!(self.out, "\x1b[{height}B{}\x1b[H", "\n".repeat(height))
    }

    /// Takes the viewport away and leaves the cursor where it began, for another program. Drawing goes on from where
    /// the cursor is then.
    pub fn leave(&mut self) -> io::Result<()> {
        self.leave_popup()?;
        let waiting = std::mem::take(&mut self.waiting);
        self.print(&waiting)?;
        self.show_cursor(true)
    }

    /// Another program has written and left the cursor where it ended; the viewport begins there.
    pub fn enter(&mut self) -> io::Result<()> {
        (self.at, self.popup) = ((0, 0), None);
        self.drawn.clear();
        self.cursor_shown = true;
        self.out.write_all(b"\r")
    }

    /// Writes lines where the viewport stood; it is to be drawn anew below them.
    fn print(&mut self, lines: &[Line<'static>]) -> io::Result<()> {
        self.erase()?;
        for line in lines {
            let row = self.row(line);
            paint::cells(&mut self.out, &row, 0..row.len())?;
            self.out.write_all(b"\r\n")?;
        }
        Ok(())
    }

    /// Writes lines where the viewport began, over rows that show what is not wanted any more, and moves its last `kept`
    /// rows down where there are no more of those.
    fn print_above(&mut self, lines: &[Line<'static>], kept: usize) -> io::Result<()> {
        for line in lines {
            if self.drawn.len() <= kept {
                self.insert(0, 1)?;
            }
            self.go(0, 0)?;
            let row = self.row(line);
            paint::cells(&mut self.out, &row, 0..row.len())?;
            // Behind a full row terminals disagree about where the cursor is, and nothing of the old one is left.
            if usize::from(paint::used(&row)) < row.len() {
                self.out.write_all(b"\x1b[K")?;
            }
            self.out.write_all(b"\r\n")?;
            self.drawn.remove(0);
        }
        Ok(())
    }

    /// Inserts empty rows before row `at` of the viewport. One line feed too many first makes room below; it never leads
    /// further than the viewport is high.
    fn insert(&mut self, at: usize, count: usize) -> io::Result<()> {
        let row = |row: usize| u16::try_from(row).unwrap_or(u16::MAX);
        self.go(0, row(self.drawn.len() + count - 1))?;
        self.go(0, row(at))?;
        write!(self.out, "\x1b[{count}L")?;
        let blank = self.row(&Line::default());
        self.drawn.splice(at..at, std::iter::repeat_n(blank, count));
        Ok(())
    }

    /// Makes the rows what is drawn; those that are drawn already are passed over, the last `kept` ones moved. Only line
    /// feeds lead down: they scroll where a move would stop, so that the way back up is always as long as the way down.
    fn draw(&mut self, rows: Vec<Row>, kept: usize) -> io::Result<()> {
        let more = rows.len().saturating_sub(self.drawn.len());
        if more > 0 && kept > 0 {
            self.insert(self.drawn.len() - kept, more)?;
        }
        // What follows may be wider than a terminal that has just become narrow: no row may become two.
        let changed = |at: usize, drawn: &[Row]| drawn.get(at) != rows.get(at);
        if (0..rows.len()).any(|at| changed(at, &self.drawn)) {
            self.out.write_all(b"\x1b[?7l")?;
            for (at, row) in rows.iter().enumerate() {
                if !changed(at, &self.drawn) {
                    continue;
                }
                let before = self.drawn.get(at).map_or(&[][..], Vec::as_slice);
                let part = paint::difference(before, row);
                let (from, shorter) = (part.start, paint::used(before) > paint::used(row));
                self.go(u16::try_from(from).unwrap_or(u16::MAX), u16::try_from(at).unwrap_or(u16::MAX))?;
                self.at.0 = paint::cells(&mut self.out, row, part)?;
                if shorter {
                    self.out.write_all(b"\x1b[K")?;
                }
                // Behind a full row terminals disagree about the column.
                self.out.write_all(b"\r")?;
                self.at.0 = 0;
            }
            self.out.write_all(b"\x1b[?7h")?;
        }
        self.drawn = rows;
        Ok(())
    }

    /// The cursor at the caret, or hidden at the viewport's first cell.
    fn place(&mut self, caret: Option<(u16, u16)>) -> io::Result<()> {
        let (column, row) = caret.unwrap_or_default();
        self.go(column, row)?;
        self.show_cursor(caret.is_some())
    }

    fn go(&mut self, column: u16, row: u16) -> io::Result<()> {
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

    /// Clears the viewport and goes to its first cell. From the second cell on: clearing all from the very first one
    /// makes tmux push the whole screen into its history.
    fn erase(&mut self) -> io::Result<()> {
        self.go(0, 0)?;
        self.drawn.clear();
        self.out.write_all(b"\r \x1b[J\r\x1b[K")
    }

    /// A popup has the alternate screen, so that what it covers comes back as it was.
    fn show_popup(&mut self, picture: &Drawing) -> io::Result<()> {
        let rows: Vec<Row> = picture.lines.iter().map(|line| self.row(line)).collect();
        let drawn = match self.popup.take() {
            Some(drawn) => drawn,
            None => {
                self.place(None)?;
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
                paint::cells(&mut self.out, row, 0..row.len())?;
            }
        }
        self.popup = Some(rows);
        Ok(())
    }

    /// Erased first: where the size has changed meanwhile, tmux (3.3a) leaves rows of it in its history.
    fn leave_popup(&mut self) -> io::Result<()> {
        if self.popup.take().is_some() {
            self.out.write_all(b"\x1b[H \x1b[J\x1b[H\x1b[?1049l")?;
        }
        Ok(())
    }

    /// The last gate: whoever forgot to clean a text, nothing in it reaches the terminal as a command.
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
