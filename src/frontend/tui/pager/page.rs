//! The visible part of a list of cells: lays out only those, caches nearby ones, and marks search matches.

use std::collections::HashMap;
use std::ops::Range;

use ratatui::text::{Line, Span};
use regex::Regex;

use super::cell::{PageLayout, PagerCell};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::transcript::entry::TranscriptKind;

const KEPT: usize = 300;

pub type Place = (usize, usize);

#[derive(Clone, Debug, Default)]
pub struct Page {
    pub cells: Vec<PagerCell>,
    pub chosen: usize,
    pub layout: PageLayout,
    pub top: Place,
    pub drawn: HashMap<usize, Vec<Line<'static>>>,
}

impl Page {
    pub fn arrange(&mut self, layout: PageLayout) {
        let same = PageLayout { rows: layout.rows, ..self.layout };
        if same != layout {
            self.drawn.clear();
            self.top.1 = 0;
        }
        self.layout = layout;
    }

    /// The cells that can be scrolled to: outputs stand alone.
    fn span(&self) -> Range<usize> {
        let all = self.cells.len();
        if self.layout.full { self.chosen..(self.chosen + 1).min(all) } else { 0..all }
    }

    /// The lines of a cell, including the blank line before it.
    pub fn lines(&mut self, at: usize) -> &[Line<'static>] {
        if self.drawn.len() > KEPT {
            let top = self.top.0;
            self.drawn.retain(|cell, _| cell.abs_diff(top) < KEPT / 4);
        }
        let (cells, layout) = (&self.cells, self.layout);
        self.drawn.entry(at).or_insert_with(|| {
            let mut lines = cells.get(at).map(|cell| cell.lines(layout)).unwrap_or_default();
            let kind = |at: usize| cells.get(at).map(PagerCell::kind);
            let tools = kind(at) == Some(TranscriptKind::Tool);
            let tight = at == 0 || layout.full || (tools && kind(at - 1) == Some(TranscriptKind::Tool));
            if !tight && !lines.is_empty() {
                lines.insert(0, Line::default());
            }
            lines
        })
    }

    pub fn scroll(&mut self, rows: isize) {
        let span = self.span();
        let (mut cell, mut row) = self.top;
        let mut left = rows.unsigned_abs();
        while left > 0 {
            if rows < 0 {
                let step = left.min(row);
                (row, left) = (row - step, left - step);
                if left > 0 {
                    if cell <= span.start {
                        break;
                    }
                    cell -= 1;
                    row = self.lines(cell).len();
                }
            } else {
                let below = self.lines(cell).len().saturating_sub(row);
                if left < below || cell + 1 >= span.end {
                    (row, left) = (row + left, 0);
                } else {
                    (cell, row, left) = (cell + 1, 0, left - below);
                }
            }
        }
        self.go((cell, row));
    }

    pub fn go(&mut self, place: Place) {
        self.top = place;
        self.top = place.max((self.span().start, 0)).min(self.bottom());
    }

    /// The last position that still fills the screen.
    pub fn bottom(&mut self) -> Place {
        let (span, mut left) = (self.span(), self.layout.rows);
        for cell in span.clone().rev() {
            let rows = self.lines(cell).len();
            if rows >= left {
                return (cell, rows - left);
            }
            left -= rows;
        }
        (span.start, 0)
    }

    pub fn shown(&mut self) -> Vec<(Place, Line<'static>)> {
        let (end, room) = (self.span().end, self.layout.rows);
        let mut shown = Vec::with_capacity(room);
        let (mut cell, mut row) = self.top;
        while shown.len() < room && cell < end {
            let rows = self.lines(cell).iter().enumerate().skip(row).take(room - shown.len());
            shown.extend(rows.map(|(at, line)| ((cell, at), line.clone())));
            (cell, row) = (cell + 1, 0);
        }
        shown
    }

    pub fn follow(&mut self) {
        let shown = self.shown();
        if let (Some(((first, _), _)), Some(((last, _), _))) = (shown.first(), shown.last()) {
            self.chosen = self.chosen.clamp(*first, *last);
        }
    }
}

pub fn marked(line: Line<'static>, search: &Regex, theme: Theme) -> Line<'static> {
    let whole = line.to_string();
    let found: Vec<Range<usize>> = search.find_iter(&whole).map(|found| found.range()).collect();
    Line::from(wrap::restyled(line.spans, &found, |style| theme.found(style)))
}

pub fn shifted(spans: &[Span<'static>], cells: usize) -> Vec<Span<'static>> {
    wrap::hard_rows(spans, cells).into_iter().skip(1).flatten().collect()
}
