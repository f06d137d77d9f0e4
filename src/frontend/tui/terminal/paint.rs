//! Writes cells as bytes: text, colors and links.

use std::io::{self, Write};
use std::ops::Range;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

use crate::tui::render::links;

type Style = (Color, Color, Modifier);

const PLAIN: Style = (Color::Reset, Color::Reset, Modifier::empty());

/// The modifiers used by the theme and the caret, and their codes (ECMA-48, SGR).
const ATTRIBUTES: [(Modifier, &str); 6] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
    (Modifier::CROSSED_OUT, "9"),
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
    Ok(u16::try_from(at).unwrap_or(u16::MAX))
}

/// The address was checked when the link was created. The id joins the parts of a wrapped link.
fn set_link(out: &mut impl Write, link: Color) -> io::Result<()> {
    match links::of(link) {
        Some((number, address)) => write!(out, "\x1b]8;id={number};{address}\x1b\\"),
        None => out.write_all(b"\x1b]8;;\x1b\\"),
    }
}

/// One sequence for all that changes.
fn set_style(out: &mut impl Write, before: Style, (fg, bg, modifier): Style) -> io::Result<()> {
    let mut codes = String::new();
    let mut add = |code: &str| {
        if !codes.is_empty() {
            codes.push(';');
        }
        codes.push_str(code);
    };
    // Bold and dim have only one end, so they end with a reset.
    let resets = !modifier.contains(before.2) || (fg, bg, modifier) == PLAIN;
    let before = if resets { PLAIN } else { before };
    if resets {
        add("0");
    }
    if fg != before.0 {
        add(&color(fg, 30));
    }
    if bg != before.1 {
        add(&color(bg, 40));
    }
    let new = ATTRIBUTES.iter().filter(|(name, _)| modifier.contains(*name) && !before.2.contains(*name));
    new.for_each(|(_, code)| add(code));
    write!(out, "\x1b[{codes}m")
}

/// `base` is 30 for the text, 40 for what is behind it. Palettes have no named colors.
fn color(color: Color, base: u16) -> String {
    match color {
        Color::Indexed(number @ 0..8) => (base + u16::from(number)).to_string(),
        Color::Indexed(number @ 8..16) => (base + 52 + u16::from(number)).to_string(),
        Color::Indexed(number) => format!("{};5;{number}", base + 8),
        Color::Rgb(red, green, blue) => format!("{};2;{red};{green};{blue}", base + 8),
        _ => (base + 9).to_string(),
    }
}
