//! A terminal without a program in it: takes in what is drawn, can be resized as tmux does it (lines go to the history
//! and come back from it), and shows what a user would see.
#![allow(dead_code)]

use std::io::{self, Write};
use std::num::NonZero;

/// The terminal.
pub struct Emulator {
    pub parser: vt100::Parser,
    /// All that was written.
    pub raw: Vec<u8>,
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

impl Emulator {
    pub fn new(columns: u16, rows: u16) -> Self {
        Self { parser: vt100::Parser::new(cells(rows), cells(columns), 20_000), raw: Vec::new() }
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(cells(rows), cells(columns));
    }

    /// The visible rows, with `▏` at the cursor or at the caret that is drawn in its place.
    pub fn shown(&self) -> String {
        let screen = self.parser.screen();
        let (height, width) = screen.size();
        let cursor = Some(screen.cursor_position()).filter(|_| !screen.hide_cursor());
        let mut rows = Vec::new();
        for y in 0..height.get() {
            let mut row = String::new();
            for x in 0..width.get() {
                let cell = screen.cell(y, x).unwrap();
                if cursor == Some((y, x)) || (cursor.is_none() && cell.inverse()) {
                    row.push('▏');
                }
                if !cell.is_wide_continuation() {
                    row.push_str(if cell.has_contents() { cell.contents() } else { " " });
                }
            }
            rows.push(row.trim_end().to_owned());
        }
        rows.join("\n").trim_end().to_owned()
    }

    /// All lines, from the oldest in the scrollback to the last on the screen.
    pub fn lines(&mut self) -> Vec<String> {
        lines(&mut self.parser)
    }
}

/// All lines of a terminal, from the oldest in the scrollback to the last on the screen.
pub fn lines(parser: &mut vt100::Parser) -> Vec<String> {
    let screen = parser.screen_mut();
    let (height, width) = screen.size();
    let mut lines = Vec::new();
    for offset in (1..=screen.scrollback_len()).rev() {
        screen.set_scrollback(offset);
        lines.extend(screen.rows(0, width.get()).next());
    }
    screen.set_scrollback(0);
    lines.extend(screen.rows(0, width.get()).take(usize::from(height.get())));
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

impl Write for Emulator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.parser.process(bytes);
        self.raw.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
