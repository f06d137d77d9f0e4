//! Pager cells (messages, results, changes), short or in full, and the visible part of a list of them: lays out
//! only those, caches nearby ones, and marks search matches.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ratatui::text::{Line, Span};
use regex::Regex;

use crate::tui::render::theme::Theme;
use crate::tui::render::{markdown, wrap};
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};
use crate::tui::transcript::tool::{self, ToolView};
use crate::tui::transcript::{diff, replay};
use base::model::item::{Item, ItemId, ToolResult};
use base::protocol::review::{ChangedFile, HunkId};
use base::sanitize;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PageLayout {
    pub width: usize,
    pub rows: usize,
    pub theme: Theme,
    pub full: bool,
    pub unwrapped: bool,
}

#[derive(Clone, Debug)]
pub struct PagerCell {
    pub content: CellContent,
    pub begins: bool,
    pub open: bool,
}

#[derive(Clone, Debug)]
pub enum CellContent {
    Item(Arc<Item>, String),
    Heading(String),
    Entry(TranscriptEntry),
    Hunk { diff: Arc<str>, id: HunkId, refused: Option<String> },
}

pub fn of_items(items: &[(ItemId, Arc<Item>)]) -> Vec<PagerCell> {
    let mut titles: HashMap<&str, String> = HashMap::new();
    let mut cells = Vec::with_capacity(items.len());
    for (_, item) in items {
        let title = replay::title(item, &mut titles);
        // Sealed reasoning has no text.
        let is_sealed = matches!(&**item, Item::Reasoning(reasoning) if reasoning.text.trim().is_empty());
        if is_sealed || matches!(&**item, Item::ToolCall(_) | Item::Reminder(_)) {
            continue;
        }
        let content = CellContent::Item(Arc::clone(item), title);
        cells.push(PagerCell { content, begins: item.begins_round(), open: false });
        if let Item::User(message) = item.as_ref()
            && let Some((title, result)) = tool::run_by_user(message)
        {
            let content = CellContent::Item(Arc::new(Item::ToolResult(result)), title);
            cells.push(PagerCell { content, begins: false, open: false });
        }
    }
    cells
}

pub fn of_changes(files: &[ChangedFile]) -> Vec<PagerCell> {
    let mut cells = Vec::new();
    for file in files {
        let content = CellContent::Heading(file.heading());
        cells.push(PagerCell { content, begins: true, open: true });
        for hunk in &file.hunks {
            let (diff, refused) = (hunk.diff.as_str().into(), file.refused.clone());
            let content = CellContent::Hunk { diff, id: hunk.id.clone(), refused };
            cells.push(PagerCell { content, begins: false, open: true });
        }
    }
    cells
}

impl PagerCell {
    /// Whether there's more than the transcript shows, so that Ctrl-O stops here.
    pub fn expands(&self) -> bool {
        matches!(self.item(), Some(Item::Reasoning(_) | Item::ToolResult(_)))
    }

    fn item(&self) -> Option<&Item> {
        let CellContent::Item(item, _) = &self.content else { return None };
        Some(item)
    }

    pub fn text(&self) -> Cow<'_, str> {
        match &self.content {
            CellContent::Item(item, title) => match item.as_ref() {
                Item::User(message) => Cow::Borrowed(&message.text),
                Item::ToolResult(result) => Cow::Owned(format!("{title}\n{}", whole(result))),
                item => item.text(),
            },
            CellContent::Heading(text) => Cow::Borrowed(text),
            CellContent::Entry(entry) => {
                Cow::Owned(unstyled(&entry.lines(None, SEARCHED_WIDTH, Theme::PLAIN)))
            }
            CellContent::Hunk { diff, .. } => Cow::Borrowed(diff),
        }
    }

    /// Results omit their title.
    pub fn copied(&self) -> Cow<'_, str> {
        match self.item() {
            Some(Item::ToolResult(result)) => whole(result),
            _ => self.text(),
        }
    }

    pub fn agent(&self) -> Option<&str> {
        let Item::ToolResult(result) = self.item()? else { return None };
        result.envelope.data.delegated()?.agent.as_deref()
    }

    pub fn code_blocks(&self) -> Vec<String> {
        let Some(Item::Assistant { text, .. }) = self.item() else { return Vec::new() };
        markdown::code_blocks(text)
    }

    pub fn lines(&self, layout: PageLayout) -> Vec<Line<'static>> {
        let PageLayout { width, theme, full, .. } = layout;
        match &self.content {
            CellContent::Item(item, title) => item_lines(item, title, full || self.open, layout),
            CellContent::Heading(text) => {
                wrap::wrap_text(&sanitize::clean(text), theme.heading(), "", "  ", width)
            }
            CellContent::Entry(entry) => entry.lines(None, width, theme),
            CellContent::Hunk { diff, .. } if self.open => diff::render(diff, width, usize::MAX, theme),
            CellContent::Hunk { diff, .. } => diff::render(diff, width, 1, theme),
        }
    }

    pub fn kind(&self) -> TranscriptKind {
        match self.item() {
            Some(Item::ToolResult(_)) if !self.open => TranscriptKind::Tool,
            _ => TranscriptKind::Other,
        }
    }
}

const SEARCHED_WIDTH: usize = 1_000;

pub fn unstyled(lines: &[Line<'_>]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn item_lines(item: &Item, title: &str, open: bool, layout: PageLayout) -> Vec<Line<'static>> {
    let PageLayout { width, theme, .. } = layout;
    match item {
        Item::User(message) if open => {
            wrap::wrap_text(&sanitize::clean(&message.text), theme.user(), "› ", "  ", width)
        }
        Item::Reasoning(reasoning) if open => {
            TranscriptEntry::WholeReasoning(Arc::clone(&reasoning.text)).lines(None, width, theme)
        }
        Item::Summary(summary) if open => markdown::render(&summary.text, width, theme),
        Item::ToolResult(result) => {
            let mut view = ToolView::of_result(result, title.to_owned());
            for outcome in view.outcome.iter_mut().filter(|_| open) {
                outcome.tail.clear();
                outcome.diff = None;
            }
            let mut lines = tool::render(&view, width, "●", theme);
            lines.extend(if open { output(result, layout) } else { Vec::new() });
            lines
        }
        item => replay::entry(item).map_or(Vec::new(), |entry| entry.lines(None, width, theme)),
    }
}

fn whole(result: &ToolResult) -> Cow<'_, str> {
    let envelope = &result.envelope;
    let error = envelope.error.as_ref().map_or("", |error| error.message.as_str());
    let mut parts = vec![envelope.data.diff().unwrap_or(""), &envelope.body, error, &envelope.text];
    parts.retain(|part| !part.is_empty());
    if let [one] = parts[..] { Cow::Borrowed(one) } else { Cow::Owned(parts.join("\n")) }
}

fn output(result: &ToolResult, layout: PageLayout) -> Vec<Line<'static>> {
    if let Some(diff) = result.envelope.data.diff() {
        return diff::render(diff, layout.width, usize::MAX, layout.theme);
    }
    let text = whole(result);
    let text = sanitize::clean(&text);
    let room = if layout.unwrapped { usize::MAX } else { layout.width.saturating_sub(2).max(1) };
    let lines = text.trim_end().split('\n').map(|line| [Span::raw(wrap::detab(line).into_owned())]);
    let rows = lines.flat_map(|line| wrap::hard_rows(&line, room));
    rows.map(|row| Line::from([vec![Span::raw("  ")], row].concat())).collect()
}

const KEPT: usize = 300;

pub type Place = (usize, usize);

#[derive(Clone, Debug, Default)]
pub struct PagerPage {
    pub cells: Vec<PagerCell>,
    pub chosen: usize,
    pub layout: PageLayout,
    pub top: Place,
    pub drawn: HashMap<usize, Vec<Line<'static>>>,
}

impl PagerPage {
    pub fn arrange(&mut self, layout: PageLayout) {
        let same = PageLayout { rows: layout.rows, ..self.layout };
        if same != layout {
            self.drawn.clear();
            self.top.1 = 0;
        }
        self.layout = layout;
    }

    /// Only the cells that can be scrolled to: each output is a page of its own.
    fn span(&self) -> Range<usize> {
        let all = self.cells.len();
        if self.layout.full { self.chosen..(self.chosen + 1).min(all) } else { 0..all }
    }

    /// Includes the blank line before it.
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
