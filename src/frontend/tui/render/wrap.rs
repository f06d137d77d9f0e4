//! Wraps text by grapheme clusters and cell widths. The only place that measures text.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use base::{sanitize, text};

/// A fixed width, because tab stops would move when lines are wrapped.
const TAB: &str = "    ";

/// Marks that begin no row.
const CLOSING: &str = "。、，．！？：；」』）】》〉〕］｝”’!?),.:;]}";

/// The caret is (row, cell), if text is typed.
pub type LinesWithCaret = (Vec<Line<'static>>, Option<(usize, usize)>);

pub fn width(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

pub fn detab(text: &str) -> Cow<'_, str> {
    if text.contains('\t') { Cow::Owned(text.replace('\t', TAB)) } else { Cow::Borrowed(text) }
}

/// At most `max` cells plus one hanging space per row; breaks after whitespace or next to wide characters if possible.
pub fn rows(line: &str, max: usize) -> Vec<Range<usize>> {
    rows_with(line, max, UnicodeWidthStr::width)
}

pub fn rows_with(line: &str, max: usize, measure: impl Fn(&str) -> usize) -> Vec<Range<usize>> {
    let max = max.max(1);
    let mut rows = Vec::new();
    let (mut start, mut column) = (0, 0);
    let mut chance: Option<(usize, usize)> = None;
    let mut earlier = chance;
    for (index, grapheme) in line.grapheme_indices(true) {
        let cells = measure(grapheme);
        let space = grapheme.chars().all(char::is_whitespace);
        if CLOSING.contains(grapheme) {
            // It stays with the wide character before it.
            chance = if chance == Some((index, column)) && !line[..index].ends_with(' ') {
                earlier
            } else {
                chance
            };
        } else {
            if cells == 2 && index > start {
                chance = Some((index, column));
            }
            earlier = chance;
        }
        if space && column + cells > max && index > start {
            // A space after a full row hangs there, so that the next row starts with a word.
            rows.push(start..index + grapheme.len());
            (start, column, chance) = (index + grapheme.len(), 0, None);
            continue;
        }
        if column + cells > max && index > start {
            let (at, there) = chance.take().filter(|(at, _)| *at > start).unwrap_or((index, column));
            rows.push(start..at);
            (start, column) = (at, column - there);
            if column + cells > max && index > start {
                rows.push(start..index);
                (start, column) = (index, 0);
            }
        }
        column += cells;
        if space || cells == 2 {
            chance = Some((index + grapheme.len(), column));
        }
    }
    rows.push(start..line.len());
    rows
}

/// Spaces at breaks are dropped.
pub fn wrap_spans(
    spans: &[Span<'static>],
    first: &[Span<'static>],
    rest: &[Span<'static>],
    max: usize,
) -> Vec<Line<'static>> {
    let mut text = String::new();
    let mut styles: Vec<(usize, Style)> = Vec::new();
    for span in spans {
        text.push_str(&detab(&span.content));
        styles.push((text.len(), span.style));
    }
    let indent = spans_width(first).max(spans_width(rest));
    let mut lines = Vec::new();
    for (number, row) in rows(&text, max.saturating_sub(indent).max(1)).into_iter().enumerate() {
        let mut line: Vec<Span<'static>> = if number == 0 { first.to_vec() } else { rest.to_vec() };
        let slice = text[row.clone()].trim_end();
        let end = row.start + slice.len();
        let begin = if number == 0 { row.start } else { end - slice.trim_start().len() };
        let mut at = begin;
        for (until, style) in &styles {
            if at >= end {
                break;
            }
            if *until > at {
                let stop = (*until).min(end);
                line.push(Span::styled(text[at..stop].to_owned(), *style));
                at = stop;
            }
        }
        lines.push(Line::from(line));
    }
    lines
}

/// Ignores words; returns at least one row.
pub fn hard_rows(spans: &[Span<'static>], max: usize) -> Vec<Vec<Span<'static>>> {
    let mut rows = vec![Vec::new()];
    let mut column = 0;
    for span in spans {
        let mut part = String::new();
        for grapheme in span.content.graphemes(true) {
            let cells = UnicodeWidthStr::width(grapheme);
            if column + cells > max && column > 0 {
                push(&mut rows, &mut part, span.style);
                rows.push(Vec::new());
                column = 0;
            }
            column += cells;
            part.push_str(grapheme);
        }
        push(&mut rows, &mut part, span.style);
    }
    rows
}

fn push(rows: &mut [Vec<Span<'static>>], part: &mut String, style: Style) {
    if let Some(row) = rows.last_mut().filter(|_| !part.is_empty()) {
        row.push(Span::styled(std::mem::take(part), style));
    }
}

pub fn wrap_text(text: &str, style: Style, first: &str, rest: &str, max: usize) -> Vec<Line<'static>> {
    let prefix = |text: &str| vec![Span::styled(text.to_owned(), style)];
    let (head, tail) = (prefix(first), prefix(rest));
    let mut lines = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        let first = if number == 0 { &head } else { &tail };
        lines.extend(wrap_spans(&[Span::styled(line.to_owned(), style)], first, &tail, max));
    }
    lines
}

pub fn clip(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut column = 0;
    for grapheme in text.graphemes(true) {
        column += UnicodeWidthStr::width(grapheme);
        if column + 1 > max {
            break;
        }
        out.push_str(grapheme);
    }
    if max > 0 {
        out.push('…');
    }
    out
}

pub fn line(text: &str, max: usize, style: Style) -> Line<'static> {
    Line::styled(clip(text, max), style)
}

pub fn one_line(text: &str, max_chars: usize) -> String {
    text::one_line(&sanitize::clean(text), max_chars)
}

pub fn tail(text: &str, max: usize) -> &str {
    let mut column = 0;
    let mut from = text.len();
    for (index, grapheme) in text.grapheme_indices(true).rev() {
        column += UnicodeWidthStr::width(grapheme);
        if column > max {
            break;
        }
        from = index;
    }
    &text[from..]
}

/// `ranges` must be in order.
pub fn restyled(
    spans: Vec<Span<'static>>,
    ranges: &[Range<usize>],
    style: impl Fn(Style) -> Style,
) -> Vec<Span<'static>> {
    if ranges.is_empty() {
        return spans;
    }
    let (mut cut_spans, mut at) = (Vec::new(), 0);
    for span in spans {
        let end = at + span.content.len();
        let cuts = ranges.iter().flat_map(|range| [range.start, range.end]);
        let mut from = at;
        for cut in cuts.filter(|cut| (at + 1..end).contains(cut)).chain([end]) {
            let inside = ranges.iter().any(|range| range.start <= from && from < range.end);
            let style = if inside { style(span.style) } else { span.style };
            cut_spans.push(Span::styled(span.content[from - at..cut - at].to_owned(), style));
            from = cut;
        }
        at = end;
    }
    cut_spans
}

pub fn spans_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str, max: usize) -> Vec<String> {
        wrap_text(text, Style::new(), "", "", max).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn word_wrap() {
        assert_eq!(plain("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(plain("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(plain("日本語テキスト", 5), ["日本", "語テ", "キス", "ト"]);
        assert_eq!(plain("日本語。テ", 6), ["日本", "語。テ"]);
        assert_eq!(plain("日本「語」。x", 8), ["日本「", "語」。x"]);
        assert_eq!(plain("日本語) a", 6), ["日本", "語) a"]);
        assert_eq!(plain("", 5), [""]);
    }

    #[test]
    fn clipping_counts_cells() {
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abc", 0), "");
    }

    proptest! {
        #[test]
        fn rows_cover_the_line_within_the_width(line in "[^\\pC]{0,80}", max in 2usize..40) {
            let rows = rows(&line, max);
            let joined: String = rows.iter().map(|row| &line[row.clone()]).collect();
            prop_assert_eq!(&joined, &line);
            for row in rows {
                let text = &line[row];
                prop_assert!(width(text.trim_end()) <= max || text.graphemes(true).count() == 1, "{:?}", text);
            }
        }

        #[test]
        fn wrapped_text_keeps_every_visible_character(text in "[^\\pC]{0,80}", max in 6usize..40) {
            let lines = wrap_text(&text, Style::new(), "> ", "  ", max);
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let joined: String = lines.iter().map(|line| line.to_string()[2..].to_owned()).collect();
            prop_assert_eq!(visible(&joined), visible(&text));
            for line in lines {
                prop_assert!(width(&line.to_string()) <= max);
            }
        }
    }
}
