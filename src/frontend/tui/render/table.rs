//! Markdown tables: columns shrink to fit; if even narrow ones don't, rows become lists.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::wrap;

const GAP: usize = 3;
const NARROWEST: usize = 6;

pub struct MarkdownTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Vec<Span<'static>>>>,
}

impl MarkdownTable {
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn begin_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(Vec::new());
        }
    }

    pub fn cell(&mut self) -> Option<&mut Vec<Span<'static>>> {
        self.rows.last_mut()?.last_mut()
    }

    pub fn lines(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; columns];
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                widths[column] = widths[column].max(wrap::spans_width(cell));
            }
        }
        let room = width.saturating_sub(GAP * columns.saturating_sub(1));
        // A screen reader would read each border aloud, and lose the column's name.
        if theme.is_plain() || room < widths.iter().map(|width| *width.min(&NARROWEST)).sum() {
            return self.list(width, theme);
        }
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max() else { break };
            *widest -= 1;
        }
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, &widths, theme));
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rule.join("─┼─"), theme.dim()));
            }
        }
        lines
    }

    fn row(&self, row: &[Vec<Span<'static>>], widths: &[usize], theme: Theme) -> Vec<Line<'static>> {
        let cell = |column: usize| row.get(column).map_or(&[][..], Vec::as_slice);
        let wrapped = |(column, width): (usize, &usize)| wrap::wrap_spans(cell(column), &[], &[], *width);
        let cells: Vec<Vec<Line<'static>>> = widths.iter().enumerate().map(wrapped).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|at| {
                let mut spans = Vec::new();
                for (column, cell) in cells.iter().enumerate() {
                    let text = cell.get(at).map(|line| line.spans.clone()).unwrap_or_default();
                    let pad = widths[column].saturating_sub(wrap::spans_width(&text));
                    let before = match self.alignments.get(column) {
                        Some(Alignment::Right) => pad,
                        Some(Alignment::Center) => pad / 2,
                        _ => 0,
                    };
                    let last = column + 1 == cells.len();
                    spans.push(Span::raw(" ".repeat(before)));
                    spans.extend(text);
                    if !last {
                        spans.push(Span::raw(" ".repeat(pad - before)));
                        spans.push(Span::styled(" │ ", theme.dim()));
                    }
                }
                Line::from(spans)
            })
            .collect()
    }

    fn list(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let Some((names, rows)) = self.rows.split_first() else { return lines };
        for row in rows {
            if !lines.is_empty() {
                lines.push(Line::styled(
                    "─".repeat(if theme.is_plain() { 0 } else { width.min(8) }),
                    theme.dim(),
                ));
            }
            for (name, value) in names.iter().zip(row) {
                let spans = [name.clone(), vec![Span::styled(": ", theme.dim())], value.clone()].concat();
                lines.extend(wrap::wrap_spans(&spans, &[], &[Span::raw("  ")], width));
            }
        }
        lines
    }
}
