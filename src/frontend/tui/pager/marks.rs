//! Changes to displayed lines: search highlighting and horizontal scrolling.

use std::ops::Range;

use ratatui::text::{Line, Span};
use regex::Regex;

use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;

pub fn marked(line: Line<'static>, search: &Regex, theme: Theme) -> Line<'static> {
    let whole = line.to_string();
    let found: Vec<Range<usize>> = search.find_iter(&whole).map(|found| found.range()).collect();
    Line::from(wrap::restyled(line.spans, &found, |style| theme.found(style)))
}

pub fn shifted(spans: &[Span<'static>], cells: usize) -> Vec<Span<'static>> {
    wrap::hard_rows(spans, cells).into_iter().skip(1).flatten().collect()
}
