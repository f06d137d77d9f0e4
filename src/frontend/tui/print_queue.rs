//! What is printed above the composer, in order, and its lines that are still waiting for a frame.

use std::collections::VecDeque;

use ratatui::text::Line;

use crate::tui::render::theme::Theme;
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};

/// Entries kept for rewrapping; the transcript view has all.
const KEPT: usize = 4_000;

#[derive(Default)]
pub struct PrintQueue {
    entries: VecDeque<TranscriptEntry>,
    /// How many of the last `entries` have no lines yet.
    fresh: usize,
    /// They wait for the next frames, because one can't carry all.
    pub lines: VecDeque<Line<'static>>,
    last: Option<TranscriptKind>,
}

impl PrintQueue {
    pub fn push(&mut self, entry: TranscriptEntry) {
        self.entries.push_back(entry);
        self.fresh += 1;
    }

    pub fn forget(&mut self) {
        self.entries.clear();
    }

    pub fn render(&mut self, width: usize, theme: Theme) {
        let lines = self.last_lines(self.fresh, self.last, width, theme);
        self.lines.extend(lines);
        self.last = self.entries.back().map(TranscriptEntry::kind).or(self.last);
        self.fresh = 0;
        if self.entries.len() > KEPT {
            self.entries.drain(..self.entries.len() - KEPT);
            self.entries[0] = TranscriptEntry::cut();
        }
    }

    pub fn render_anew(&mut self, width: usize, theme: Theme) {
        (self.fresh, self.last) = (self.entries.len(), None);
        self.lines.clear();
        self.render(width, theme);
    }

    /// After an interruption, skips more than `most` lines: on a slow terminal the user would have to wait for them.
    pub fn skip(&mut self, most: usize, width: usize, theme: Theme) {
        self.render(width, theme);
        if self.lines.len() > most {
            let skipped = TranscriptEntry::not_printed(self.lines.len());
            self.lines = skipped.lines(self.last, width, theme).into();
        }
    }

    /// The lines of the last `count` entries; `before` is the kind of the entry before them.
    pub fn last_lines(
        &self,
        count: usize,
        mut before: Option<TranscriptKind>,
        width: usize,
        theme: Theme,
    ) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for entry in self.entries.range(self.entries.len().saturating_sub(count)..) {
            lines.extend(entry.lines(before, width, theme));
            before = Some(entry.kind());
        }
        lines
    }

    pub fn kind_before(&self, count: usize) -> Option<TranscriptKind> {
        let at = self.entries.len().checked_sub(count + 1)?;
        self.entries.get(at).map(TranscriptEntry::kind)
    }

    pub fn take_back(&mut self, count: usize) {
        self.last = self.kind_before(count);
        self.entries.truncate(self.entries.len().saturating_sub(count));
    }
}
