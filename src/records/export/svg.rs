//! SVG picture of the terminal, drawn by the transcript's renderer. Each run of cells is positioned
//! explicitly, so that any monospaced font lines up.

use std::collections::HashMap;
use std::fmt::Write as _;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use super::html::escaped;
use base::config::theme::ThemeName;
use context::session::effective::{EffectiveEntry, EffectiveSession};
use frontend::tui::render::theme::{Background, Depth, Look};
use frontend::tui::render::wrap;
use frontend::tui::transcript::entry::TranscriptEntry;
use frontend::tui::transcript::replay;

const CELL: (f64, f64) = (8.4, 19.0);
const FONT: f64 = 14.0;
const MARGIN: f64 = 16.0;
const BAR: f64 = 30.0;

pub fn render(session: &EffectiveSession, columns: u16, theme: ThemeName) -> String {
    let light = theme == ThemeName::Light;
    let background = Some(if light { Background::Light } else { Background::Dark });
    let name = if theme == ThemeName::Ansi { ThemeName::Auto } else { theme };
    let theme = Look { name, depth: Depth::TrueColor, background }.theme();
    let (paper, ink) = if light { ("#ffffff", "#24292f") } else { ("#16181d", "#d9dce3") };
    let mut lines = Vec::new();
    let mut before = None;
    let mut titles = HashMap::new();
    for (_, standing) in &session.all {
        let entries = match standing {
            EffectiveEntry::Item(_, item) => replay::of_item(item, &mut titles),
            EffectiveEntry::TurnEnd(end) => vec![TranscriptEntry::TurnEnd((**end).clone())],
        };
        for entry in entries {
            lines.extend(entry.lines(before, usize::from(columns.max(20)), theme));
            before = Some(entry.kind());
        }
    }
    let width = f64::from(columns.max(20)) * CELL.0 + 2.0 * MARGIN;
    let height = lines.len() as f64 * CELL.1 + BAR + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
         {height:.0}\" role=\"img\" aria-label=\"A session of mycode in a terminal\">\n\
         <style>text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans \
         Mono\",monospace;white-space:pre}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{paper}\" stroke=\"#8b949e\" stroke-opacity=\".4\"/>\n"
    );
    for (at, color) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = MARGIN + 6.0 + 20.0 * at as f64;
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"20\" r=\"6\" fill=\"{color}\"/>");
    }
    for (row, line) in lines.iter().enumerate() {
        text_row(&mut out, line, row, ink, paper);
    }
    out.push_str("</svg>\n");
    out
}

fn text_row(out: &mut String, line: &Line<'_>, row: usize, ink: &str, paper: &str) {
    let top = MARGIN + BAR + row as f64 * CELL.1;
    let (mut cell, mut spans) = (0, String::new());
    for span in &line.spans {
        let cells = wrap::width(&span.content);
        let (x, wide) = (MARGIN + cell as f64 * CELL.0, cells as f64 * CELL.0);
        cell += cells;
        let mut colors = (css(span.style.fg, ink), span.style.bg.map(|color| css(Some(color), paper)));
        if span.style.add_modifier.contains(Modifier::REVERSED) {
            colors = (colors.1.unwrap_or_else(|| paper.to_owned()), Some(colors.0));
        }
        if let Some(background) = colors.1 {
            let height = CELL.1;
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{height}\" fill=\"{background}\"/>"
            );
        }
        if !span.content.trim().is_empty() {
            let _ = write!(
                spans,
                "<tspan x=\"{x:.1}\" textLength=\"{wide:.1}\" fill=\"{}\"{}>{}</tspan>",
                colors.0,
                weight(span.style),
                escaped(&span.content)
            );
        }
    }
    if !spans.is_empty() {
        let base = top + FONT;
        let _ = writeln!(out, "<text y=\"{base:.1}\" xml:space=\"preserve\">{spans}</text>");
    }
}

fn css(color: Option<Color>, fallback: &str) -> String {
    match color {
        Some(Color::Rgb(red, green, blue)) => format!("#{red:02x}{green:02x}{blue:02x}"),
        _ => fallback.to_owned(),
    }
}

fn weight(style: Style) -> String {
    let has = |modifier| style.add_modifier.contains(modifier);
    let mut out = String::new();
    for (modifier, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
    ] {
        if has(modifier) {
            out.push_str(attribute);
        }
    }
    out
}
