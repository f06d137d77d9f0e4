//! Changes to displayed lines: search highlighting and horizontal scrolling.

use std::ops::Range;

use ratatui::text::{Line, Span};
use regex::Regex;

use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;

pub fn marked(line: Line<'static>, search: &Regex, theme: Theme) -> Line<'static> {
    let whole = line.to_string();
    let found: Vec<Range<usize>> = search.find_iter(&whole).map(|found| found.range()).collect();
    if found.is_empty() {
        return line;
    }
    let (mut spans, mut at) = (Vec::new(), 0);
    for span in line.spans {
        let end = at + span.content.len();
        let mut cuts: Vec<usize> = found.iter().flat_map(|range| [range.start, range.end]).collect();
        cuts.retain(|cut| (at + 1..end).contains(cut));
        cuts.push(end);
        let mut from = at;
        for cut in cuts {
            let inside = found.iter().any(|range| range.start <= from && from < range.end);
            let style = if inside { theme.found(span.style) } else { span.style };
            spans.push(Span::styled(span.content[from - at..cut - at].to_owned(), style));
            from = cut;
        }
        at = end;
    }
    Line::from(spans)
}

pub fn shifted(spans: &[Span<'static>], cells: usize) -> Vec<Span<'static>> {
    wrap::hard_rows(spans, cells).into_iter().skip(1).flatten().collect()
}
