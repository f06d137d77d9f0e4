//! The viewport at the end of the terminal's own scrollback. Finished lines are written where the viewport stood and
//! scroll up by themselves, as a plain program's output would; so every terminal keeps them, and no scrolling region
//! or cursor query is needed. The viewport is a `Viewport::Fixed` of ratatui that this file moves and sizes: its inline
//! viewport can neither change its height nor be resized without asking the terminal for the cursor, which must not
//! happen while keys are being read. Generic over the backend, so that tests can look at screen and scrollback.

use ratatui::backend::{Backend, ClearType};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::text::Line;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::base::sanitize;
use crate::tui::render::view::Drawing;

/// The last gate: whoever forgot to clean a text, nothing in it reaches the terminal as a command.
fn disarm(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if sanitize::is_harmful(cell.symbol()) {
            cell.set_symbol("\u{fffd}");
        }
    }
}

/// A terminal of which we own the lower part.
pub struct Screen<B: Backend> {
    terminal: Terminal<B>,
    size: Size,
    area: Rect,
}

impl<B: Backend + Clone> Screen<B> {
    /// The viewport begins at row `top`, the row of the cursor.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn new(backend: B, size: Size, top: u16) -> Result<Self, B::Error> {
        let area = Rect::new(0, top.min(size.height.saturating_sub(1)), size.width, 0);
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })?;
        Ok(Self { terminal, size, area })
    }

    /// Rows that the viewport may take: one row stays for the scrollback where there is more than one.
    pub fn room(&self) -> u16 {
        self.size.height.saturating_sub(1).max(1)
    }

    /// For tests that look at the screen.
    pub fn backend(&self) -> &B {
        self.terminal.backend()
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Prints `lines` above, then draws `picture` below them.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn show(&mut self, lines: &[Line<'static>], picture: &Drawing) -> Result<(), B::Error> {
        let height = picture.height().min(self.room());
        if !lines.is_empty() || height != self.area.height {
            self.erase()?;
            self.insert(lines)?;
            self.place(height)?;
        }
        self.terminal.draw(|frame| {
            picture.draw(frame);
            disarm(frame.buffer_mut());
        })?;
        Ok(())
    }

    /// The terminal has another size, or its content is unknown: what is visible is erased and drawn anew from `lines`,
    /// the end of the transcript.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn reset(&mut self, size: Size, lines: &[Line<'static>], picture: &Drawing) -> Result<(), B::Error> {
        self.size = size;
        self.area = Rect::new(0, 0, size.width, size.height);
        self.erase()?;
        let height = picture.height().min(self.room());
        let kept = usize::from(size.height - height.min(size.height));
        self.area.height = 0;
        // Told of a narrower screen, ratatui would clear all of it, which some terminals push into their scrollback.
        let options = TerminalOptions { viewport: Viewport::Fixed(self.area) };
        self.terminal = Terminal::with_options(self.terminal.backend().clone(), options)?;
        self.insert(&lines[lines.len().saturating_sub(kept)..])?;
        self.place(height)?;
        self.terminal.draw(|frame| {
            picture.draw(frame);
            disarm(frame.buffer_mut());
        })?;
        Ok(())
    }

    /// Scrolls away what others have written on the screen, so that drawing anew does not destroy it.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn scroll_away(&mut self) -> Result<(), B::Error> {
        let backend = self.terminal.backend_mut();
        backend.set_cursor_position(Position::new(0, self.size.height.saturating_sub(1)))?;
        backend.append_lines(self.size.height)
    }

    /// Takes the viewport away and leaves the cursor where it began, for the shell.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn leave(&mut self) -> Result<(), B::Error> {
        self.erase()?;
        self.terminal.show_cursor()?;
        self.terminal.backend_mut().set_cursor_position(Position::new(0, self.area.y))?;
        self.area.height = 0;
        self.terminal.backend_mut().flush()
    }

    /// Clears the viewport's rows one by one: clearing "from here down" at the top of the screen makes some terminals
    /// push the whole screen into their scrollback.
    fn erase(&mut self) -> Result<(), B::Error> {
        let backend = self.terminal.backend_mut();
        for row in self.area.top()..self.area.bottom().min(self.size.height) {
            backend.set_cursor_position(Position::new(0, row))?;
            backend.clear_region(ClearType::CurrentLine)?;
        }
        Ok(())
    }

    /// Writes lines from the viewport's top on and moves the top below them.
    fn insert(&mut self, lines: &[Line<'static>]) -> Result<(), B::Error> {
        let height = self.size.height.max(1);
        for chunk in lines.chunks(usize::from(height)) {
            let rows = u16::try_from(chunk.len()).unwrap_or(height);
            self.make_room(rows)?;
            let area = Rect::new(0, self.area.y, self.size.width, rows);
            let empty = Buffer::empty(area);
            let mut buffer = empty.clone();
            for (row, line) in (area.top()..).zip(chunk) {
                buffer.set_line(0, row, line, area.width);
            }
            disarm(&mut buffer);
            self.terminal.backend_mut().draw(empty.diff_iter(&buffer))?;
            self.area.y += rows;
        }
        Ok(())
    }

    /// Scrolls until `rows` rows are free from the viewport's top on.
    fn make_room(&mut self, rows: u16) -> Result<(), B::Error> {
        let missing = (self.area.y + rows).saturating_sub(self.size.height).min(self.area.y);
        if missing > 0 {
            let backend = self.terminal.backend_mut();
            backend.set_cursor_position(Position::new(0, self.size.height.saturating_sub(1)))?;
            backend.append_lines(missing)?;
            self.area.y -= missing;
        }
        Ok(())
    }

    /// Gives the viewport its height, on cleared rows.
    fn place(&mut self, height: u16) -> Result<(), B::Error> {
        self.make_room(height)?;
        self.area.width = self.size.width;
        self.area.height = height;
        self.terminal.resize(self.area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;

    fn lines(texts: &[&str]) -> Vec<Line<'static>> {
        texts.iter().map(|text| Line::from((*text).to_owned())).collect()
    }

    fn picture(texts: &[&str]) -> Drawing {
        Drawing { lines: lines(texts), caret: Some((1, 0)) }
    }

    fn shown(screen: &Screen<TestBackend>) -> Vec<String> {
        let buffer = screen.terminal.backend().buffer();
        let row = |y| {
            (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
        };
        (0..buffer.area.height).map(row).collect()
    }

    #[test]
    fn viewport_size_and_scrollback() {
        let mut screen = Screen::new(TestBackend::new(8, 6), Size::new(8, 6), 1).unwrap();
        screen.show(&[], &picture(&["a", "b"])).unwrap();
        assert_eq!(shown(&screen), ["", "a", "b", "", "", ""]);
        screen.show(&lines(&["1", "2"]), &picture(&["a", "b"])).unwrap();
        assert_eq!(shown(&screen), ["", "1", "2", "a", "b", ""]);
        screen.show(&lines(&["3", "4"]), &picture(&["a", "b", "c"])).unwrap();
        assert_eq!(shown(&screen), ["2", "3", "4", "a", "b", "c"]);
        screen.show(&[], &picture(&["x"])).unwrap();
        assert_eq!(shown(&screen), ["2", "3", "4", "x", "", ""]);
        let many: Vec<String> = (5..25).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        screen.show(&lines(&many), &picture(&["x", "y"])).unwrap();
        assert_eq!(shown(&screen), ["21", "22", "23", "24", "x", "y"]);
        let scrollback = screen.terminal.backend().scrollback();
        let kept: Vec<String> = (0..scrollback.area.height)
            .map(|y| (0..8).map(|x| scrollback[(x, y)].symbol()).collect::<String>().trim_end().to_owned())
            .collect();
        let expected: Vec<String> = (1..21).map(|number| number.to_string()).collect();
        assert_eq!(kept[kept.len() - 20..], expected);
    }

    #[test]
    fn one_row_is_enough() {
        let mut screen = Screen::new(TestBackend::new(3, 1), Size::new(3, 1), 0).unwrap();
        screen.show(&lines(&["1", "2"]), &picture(&["a", "b"])).unwrap();
        assert_eq!(shown(&screen), ["a"]);
    }

    #[test]
    fn resize_redraws_transcript() {
        let mut screen = Screen::new(TestBackend::new(8, 6), Size::new(8, 6), 0).unwrap();
        screen.show(&lines(&["1", "2", "3"]), &picture(&["a"])).unwrap();
        screen.terminal.backend_mut().resize(5, 3);
        screen.reset(Size::new(5, 3), &lines(&["1", "2", "3"]), &picture(&["a"])).unwrap();
        assert_eq!(shown(&screen), ["2", "3", "a"]);
    }
}
