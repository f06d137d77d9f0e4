//! Writes cells as bytes: text, colors and links.

use std::io::{self, Write};
use std::ops::Range;

use crossterm::queue;
use crossterm::style::{Attribute, SetAttribute, SetBackgroundColor, SetForegroundColor};
use ratatui::backend::IntoCrossterm;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

use crate::tui::render::links;

/// The modifiers used by the theme and the caret.
const ATTRIBUTES: [(Modifier, Attribute); 6] = [
    (Modifier::BOLD, Attribute::Bold),
    (Modifier::DIM, Attribute::Dim),
    (Modifier::ITALIC, Attribute::Italic),
    (Modifier::UNDERLINED, Attribute::Underlined),
    (Modifier::REVERSED, Attribute::Reverse),
    (Modifier::CROSSED_OUT, Attribute::CrossedOut),
];

/// Columns up to the last non-blank cell.
pub fn used(row: &[Cell]) -> u16 {
    let last = row.iter().rposition(|cell| *cell != Cell::default());
    let used = last.map_or(0, |at| at + row[at].symbol().width().max(1));
    u16::try_from(used.min(row.len())).unwrap_or(u16::MAX)
}

pub fn common_end(before: &[Vec<Cell>], after: &[Vec<Cell>]) -> usize {
    before.iter().rev().zip(after.iter().rev()).take_while(|(before, after)| before == after).count()
}

/// The columns to rewrite. Never starts at the second half of a wide character, and extends to the row's end
/// after wide or composed characters, since terminals disagree about some widths.
pub fn difference(before: &[Cell], after: &[Cell]) -> Range<usize> {
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

/// Writes these columns, without trailing blanks, from the cursor on; returns the column after them.
pub fn cells(out: &mut impl Write, row: &[Cell], part: Range<usize>) -> io::Result<u16> {
    let end = usize::from(used(row)).min(part.end);
    let plain = (Color::Reset, Color::Reset, Modifier::empty());
    let mut style = plain;
    let mut link = Color::Reset;
    let mut at = part.start;
    while let Some(cell) = row.get(at).filter(|_| at < end) {
        let wanted = (cell.fg, cell.bg, cell.modifier);
        if wanted != style {
            set_style(out, wanted)?;
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
    if style != plain {
        queue!(out, SetAttribute(Attribute::Reset))?;
    }
    if link != Color::Reset {
        set_link(out, Color::Reset)?;
    }
    Ok(u16::try_from(at).unwrap_or(u16::MAX))
}

/// The address was checked when the link was created. The id joins the parts of a wrapped link.
fn set_link(out: &mut impl Write, link: Color) -> io::Result<()> {
    match links::of(link) {
        Some((number, address)) => write!(out, "\x1b]8;id={number};{address}\x1b\\"),
        None => out.write_all(b"\x1b]8;;\x1b\\"),
    }
}

fn set_style(out: &mut impl Write, (fg, bg, modifier): (Color, Color, Modifier)) -> io::Result<()> {
    queue!(out, SetAttribute(Attribute::Reset))?;
    if fg != Color::Reset {
        queue!(out, SetForegroundColor(fg.into_crossterm()))?;
    }
    if bg != Color::Reset {
        queue!(out, SetBackgroundColor(bg.into_crossterm()))?;
    }
    for (_, attribute) in ATTRIBUTES.iter().filter(|(name, _)| modifier.contains(*name)) {
        queue!(out, SetAttribute(*attribute))?;
    }
    Ok(())
}
