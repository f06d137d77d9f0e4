//! The open pager: selection, search and keys.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};
use regex::{Regex, RegexBuilder};

use super::cell::{CellContent, PageLayout, PagerCell, PagerPage, Place, marked, shifted, unstyled};
use crate::tui::composer::buffer::Buffer;
use crate::tui::popup::list::{self, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::{Action, KeyPlace, PagerMove};
use crate::tui::terminal::keymap;
use crate::tui::transcript::entry::TranscriptEntry;
use base::protocol::op::{Op, Quick, Undo};
use base::protocol::review::HunkId;
use base::text;

/// Rows taken by heading, key hints, rule, status line, and the viewport's free row.
const AROUND: usize = 5;
const ABOVE: usize = 2;
const SHIFT: usize = 8;
const NOTHING: &str = "Nothing to show yet";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PagerKind {
    #[default]
    Transcript,
    Outputs,
    Agent,
    Changes {
        turn: bool,
    },
    Help,
}

impl PagerKind {
    pub fn shows_items(self, of_agent: bool) -> bool {
        match self {
            Self::Agent => of_agent,
            Self::Transcript | Self::Outputs => !of_agent,
            Self::Changes { .. } | Self::Help => false,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Pager {
    pub kind: PagerKind,
    agent: Option<String>,
    pub before: Option<Box<Pager>>,
    loaded: bool,
    reading: bool,
    outdated: bool,
    page: PagerPage,
    shift: usize,
    unwrapped: bool,
    typing: Option<Buffer>,
    search: Option<Regex>,
    found: Option<Place>,
    code: usize,
    message: Option<String>,
    asks: Option<usize>,
    shown: Vec<(Place, Line<'static>)>,
}

impl Pager {
    pub fn new(kind: PagerKind) -> Self {
        let layout = PageLayout { full: kind == PagerKind::Outputs, ..PageLayout::default() };
        Self { kind, page: PagerPage { layout, ..PagerPage::default() }, ..Self::default() }
    }

    pub fn of_agent(agent: String, before: Option<Box<Self>>) -> Self {
        Self { agent: Some(agent), before, ..Self::new(PagerKind::Agent) }
    }

    pub fn help(tables: Vec<(&str, Vec<(String, String)>)>) -> Self {
        let cell = |(heading, rows): (&str, _)| {
            let content = CellContent::Entry(TranscriptEntry::Table { heading: heading.to_owned(), rows });
            PagerCell { content, begins: true, open: true }
        };
        let mut pager = Self { loaded: true, ..Self::new(PagerKind::Help) };
        pager.page.cells = tables.into_iter().map(cell).collect();
        pager
    }

    pub fn text(&mut self) -> Option<String> {
        if self.page.cells.is_empty() {
            return self.loaded.then(|| NOTHING.to_owned());
        }
        let cells = 0..self.page.cells.len();
        Some(cells.map(|at| unstyled(self.page.lines(at))).collect::<Vec<_>>().join("\n"))
    }

    pub fn ask(&mut self) -> Option<Op> {
        let wanted = match self.kind {
            // Only a sub-agent's pager has one.
            PagerKind::Transcript | PagerKind::Outputs | PagerKind::Agent => {
                Quick::ShowTranscript { agent: self.agent.clone() }
            }
            PagerKind::Changes { turn } => Quick::ShowChanges { turn },
            PagerKind::Help => return None,
        };
        self.outdated = std::mem::replace(&mut self.reading, true);
        (!self.outdated).then_some(Op::Quick(wanted))
    }

    /// Returns a request if the content is already outdated. The position stays, but follows a transcript's end.
    pub fn fill(&mut self, mut cells: Vec<PagerCell>) -> Option<Op> {
        if self.kind == PagerKind::Outputs {
            cells.retain(PagerCell::expands);
        }
        let again = std::mem::replace(&mut self.loaded, true);
        let bottom = self.page.bottom();
        let at_end = !again || self.page.top == bottom;
        let at_last = !again || self.page.chosen + 1 >= self.page.cells.len();
        if again && !matches!(self.kind, PagerKind::Changes { .. }) {
            cells.iter_mut().zip(&self.page.cells).for_each(|(cell, before)| cell.open = before.open);
        }
        self.page.cells = cells;
        self.page.drawn.clear();
        let last = self.page.cells.len().saturating_sub(1);
        match self.kind {
            PagerKind::Changes { .. } => {
                let from = self.page.chosen.min(last);
                let hunk = (from..self.page.cells.len()).chain(0..from).find(|at| self.stops_at(*at));
                self.page.chosen = hunk.unwrap_or(from);
            }
            PagerKind::Transcript | PagerKind::Agent if at_end && at_last => self.page.chosen = last,
            _ if !again => self.page.chosen = last,
            _ => self.page.chosen = self.page.chosen.min(last),
        }
        let top = match self.kind {
            PagerKind::Transcript | PagerKind::Agent if at_end => self.page.bottom(),
            PagerKind::Outputs if !again => (self.page.chosen, 0),
            _ => self.page.top,
        };
        self.page.go(top);
        self.reading = false;
        if self.outdated { self.ask() } else { None }
    }

    pub fn rows_text(&self, first: usize, last: usize) -> String {
        let rows = self.shown.iter().enumerate().map(|(at, (_, line))| (at + ABOVE, line));
        let lines: Vec<_> =
            rows.filter(|(at, _)| (first..=last).contains(at)).map(|(_, line)| line.clone()).collect();
        unstyled(&lines)
    }

    pub fn say(&mut self, text: &str) {
        self.message = Some(text.to_owned());
    }

    /// Call after every change to the pager.
    pub fn arrange(&mut self, (columns, rows): (u16, u16), theme: Theme) {
        let layout = PageLayout {
            width: usize::from(columns).saturating_sub(2).max(1),
            rows: usize::from(rows).saturating_sub(AROUND).max(1),
            theme,
            full: self.kind == PagerKind::Outputs,
            unwrapped: self.unwrapped,
        };
        if layout != self.page.layout {
            let bottom = self.page.bottom();
            let at_end = self.kind == PagerKind::Transcript && self.page.top == bottom;
            self.page.arrange(layout);
            let top = if at_end { self.page.bottom() } else { self.page.top };
            self.page.go(top);
        }
        self.shown = self.page.shown();
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        self.message = None;
        if self.typing.is_some() {
            self.type_search(key);
            return PopupAction::Nothing;
        }
        if let Some(cell) = self.asks.take() {
            return match keymap::plain_char(key).map(|c| c.to_ascii_lowercase()) {
                Some('y') => self.send_hunk(cell, |turn, hunk| Op::Undo(Undo::RevertHunk { turn, hunk })),
                _ => PopupAction::Nothing,
            };
        }
        let Some(Action::Pager(step)) = keymap::action(KeyPlace::Pager, key) else {
            return PopupAction::Nothing;
        };
        let rows = isize::try_from(self.page.layout.rows).unwrap_or(1);
        match step {
            PagerMove::Close => return PopupAction::Close,
            PagerMove::Up => self.scroll(-1),
            PagerMove::Down => self.scroll(1),
            PagerMove::PageUp => self.scroll(1 - rows.max(2)),
            PagerMove::PageDown => self.scroll(rows.max(2) - 1),
            PagerMove::Top => self.go((0, 0)),
            PagerMove::Bottom => {
                let bottom = self.page.bottom();
                self.go(bottom);
                if self.kind != PagerKind::Outputs {
                    self.page.chosen = self.page.cells.len().saturating_sub(1);
                }
            }
            PagerMove::NextCell | PagerMove::PreviousCell => {
                let cell = self.beside(step == PagerMove::NextCell, |at| self.stops_at(at));
                cell.into_iter().for_each(|at| self.choose(at));
            }
            PagerMove::NextTurn | PagerMove::PreviousTurn => {
                let cell = self.beside(step == PagerMove::NextTurn, |at| self.page.cells[at].begins);
                if let Some(at) = cell {
                    (self.page.chosen, self.code) = (at, 0);
                    self.page.go((at, 0));
                }
            }
            PagerMove::Next if self.search.is_some() => self.find(true),
            PagerMove::Previous if self.search.is_some() => self.find(false),
            PagerMove::After | PagerMove::Next => self.choose(self.page.chosen + 1),
            PagerMove::Before | PagerMove::Previous => self.choose(self.page.chosen.saturating_sub(1)),
            PagerMove::Search => self.typing = Some(Buffer::default()),
            PagerMove::Wrap => (self.unwrapped, self.shift) = (!self.unwrapped, 0),
            PagerMove::ShiftLeft => self.shift = self.shift.saturating_sub(SHIFT),
            PagerMove::ShiftRight if self.unwrapped => self.shift += SHIFT,
            PagerMove::ShiftRight => self.say("w to unwrap long lines, then < and > to scroll sideways"),
            PagerMove::Toggle => self.toggle(),
            PagerMove::Copy => {
                let copied = self.page.cells.get(self.page.chosen).map(|cell| cell.copied().into_owned());
                return copied.map_or(PopupAction::Nothing, PopupAction::Copy);
            }
            PagerMove::CopyCode => return self.copy_code(),
            PagerMove::Revert => self.ask_to_revert(),
            PagerMove::Stage => {
                return self
                    .send_hunk(self.page.chosen, |turn, hunk| Op::Undo(Undo::StageHunk { turn, hunk }));
            }
            PagerMove::Agent => {
                if let Some(id) = self.agent_of_chosen() {
                    return PopupAction::Agent(id);
                }
                self.say("no sub-agent worked on this");
            }
        }
        PopupAction::Nothing
    }

    fn beside(&self, after: bool, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        match after {
            true => (self.page.chosen + 1..self.page.cells.len()).find(|at| wanted(*at)),
            false => (0..self.page.chosen).rev().find(|at| wanted(*at)),
        }
    }

    fn scroll(&mut self, rows: isize) {
        self.page.scroll(rows);
        self.page.follow();
    }

    fn go(&mut self, place: Place) {
        self.page.go(place);
        self.page.follow();
    }

    /// Whether Tab stops at the cell; among changes, only at hunks.
    fn stops_at(&self, cell: usize) -> bool {
        let is_hunk = |cell: &PagerCell| matches!(cell.content, CellContent::Hunk { .. });
        !matches!(self.kind, PagerKind::Changes { .. }) || self.page.cells.get(cell).is_some_and(is_hunk)
    }

    fn choose(&mut self, cell: usize) {
        let cell = cell.min(self.page.cells.len().saturating_sub(1));
        if cell != self.page.chosen {
            self.code = 0;
        }
        self.page.chosen = cell;
        let shown = self.page.shown();
        let rows = self.page.lines(cell).len();
        let seen = shown.iter().filter(|((at, _), _)| *at == cell).count();
        if self.kind == PagerKind::Outputs || seen < rows.min(self.page.layout.rows) {
            self.page.go((cell, 0));
        }
    }

    fn toggle(&mut self) {
        if let Some(cell) = self.page.cells.get_mut(self.page.chosen) {
            cell.open = !cell.open;
            self.page.drawn.remove(&self.page.chosen);
            self.page.drawn.remove(&(self.page.chosen + 1));
            let top = self.page.top;
            self.page.go(if top.0 == self.page.chosen { (top.0, 0) } else { top });
        }
    }

    fn agent_of_chosen(&self) -> Option<String> {
        self.page.cells.get(self.page.chosen)?.agent().map(str::to_owned)
    }

    fn copy_code(&mut self) -> PopupAction {
        let blocks = self.page.cells.get(self.page.chosen).map(PagerCell::code_blocks).unwrap_or_default();
        let Some(block) = blocks.get(self.code % blocks.len().max(1)) else {
            self.say("this cell has no code block");
            return PopupAction::Nothing;
        };
        self.code = (self.code + 1) % blocks.len();
        PopupAction::Copy(block.clone())
    }

    fn ask_to_revert(&mut self) {
        match self.page.cells.get(self.page.chosen).map(|cell| &cell.content) {
            Some(CellContent::Hunk { refused: Some(why), .. }) => {
                let why = format!("can't revert this: {why}; /rewind undoes whole turns");
                self.say(&why);
            }
            Some(CellContent::Hunk { id, .. }) => {
                let text = format!("Revert this change in {}? y/n", id.path);
                self.say(&text);
                self.asks = Some(self.page.chosen);
            }
            _ if matches!(self.kind, PagerKind::Changes { .. }) => {
                self.say("Tab to a change, then r to revert it")
            }
            _ => {}
        }
    }

    fn send_hunk(&self, cell: usize, op: impl Fn(bool, HunkId) -> Op) -> PopupAction {
        match (self.kind, self.page.cells.get(cell).map(|cell| &cell.content)) {
            (PagerKind::Changes { turn }, Some(CellContent::Hunk { id, .. })) => {
                PopupAction::Send(op(turn, id.clone()))
            }
            _ => PopupAction::Nothing,
        }
    }

    pub fn paste(&mut self, text: &str) -> bool {
        self.typing.as_mut().map(|typed| typed.paste_line(text)).is_some()
    }

    fn type_search(&mut self, key: KeyEvent) {
        let Some(typed) = &mut self.typing else { return };
        match key.code {
            KeyCode::Esc => self.typing = None,
            KeyCode::Enter => {
                let wanted = regex::escape(typed.text());
                let search = RegexBuilder::new(&wanted).case_insensitive(true).build().ok();
                self.search = search.filter(|_| !wanted.is_empty());
                self.typing = None;
                self.found = None;
                if self.search.is_some() {
                    self.find(true);
                }
            }
            _ => typed.type_key(key),
        }
    }

    /// Wraps around; expands cells that hide the match.
    fn find(&mut self, forward: bool) {
        let Some(search) = self.search.clone().filter(|_| !self.page.cells.is_empty()) else { return };
        let count = self.page.cells.len();
        let start = self.found.unwrap_or((self.page.top.0, 0));
        for step in 0..=count {
            let cell = if forward { (start.0 + step) % count } else { (start.0 + count - step) % count };
            if !search.is_match(&self.page.cells[cell].text()) {
                continue;
            }
            let mut rows = self.rows_of(cell, &search);
            if rows.is_empty() && !self.page.cells[cell].open {
                self.page.cells[cell].open = true;
                self.page.drawn.remove(&cell);
                rows = self.rows_of(cell, &search);
            }
            // A match split across rows: show the cell instead.
            if rows.is_empty() {
                rows.push(0);
            }
            // The first cell is visited twice: from the start position, and at the end for its other side.
            let beyond = |row: &usize| match (step, self.found) {
                (0, Some((_, at))) if forward => *row > at,
                (0, Some((_, at))) => *row < at,
                _ => true,
            };
            let mut found = rows.into_iter().filter(beyond);
            let row = if forward { found.next() } else { found.next_back() };
            if let Some(row) = row {
                let third = isize::try_from(self.page.layout.rows / 3).unwrap_or(0);
                (self.found, self.page.chosen) = (Some((cell, row)), cell);
                self.page.top = (cell, row);
                self.page.scroll(-third);
                return;
            }
        }
        self.say("not found");
    }

    fn rows_of(&mut self, cell: usize, search: &Regex) -> Vec<usize> {
        let lines = self.page.lines(cell).iter().enumerate();
        lines.filter(|(_, line)| search.is_match(&line.to_string())).map(|(row, _)| row).collect()
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let rows = &self.shown;
        let position =
            rows.last().map_or(0, |((cell, _), _)| (cell + 1) * 100 / self.page.cells.len().max(1));
        let mut lines = vec![self.heading(width, position, theme)];
        for ((cell, row), line) in rows.iter().take(room.saturating_sub(2)) {
            // Not next to the blank line above the cell.
            let chosen = *cell == self.page.chosen
                && (*row > 0 || line.width() > 0)
                && !matches!(self.kind, PagerKind::Outputs | PagerKind::Help);
            let mark = Span::styled(if chosen { "▌ " } else { "  " }, theme.accent());
            let line = match &self.search {
                Some(search) => marked(line.clone(), search, theme),
                None => line.clone(),
            };
            let spans = if self.shift > 0 { shifted(&line.spans, self.shift) } else { line.spans };
            lines.push(Line::from([vec![mark], spans].concat()));
        }
        lines.resize(room.saturating_sub(1), Line::default());
        lines.push(self.foot(width, theme));
        lines
    }

    fn heading(&self, width: usize, position: usize, theme: Theme) -> Line<'static> {
        let count = self.page.cells.len();
        let (name, facts) = match self.kind {
            PagerKind::Transcript | PagerKind::Agent => {
                let turns = self.page.cells.iter().filter(|cell| cell.begins).count();
                let name = if self.kind == PagerKind::Agent { "Sub-agent" } else { "Transcript" };
                (name, format!("{} · {position}%", text::plural(turns, "turn")))
            }
            PagerKind::Outputs => ("Output", format!("{} of {count}", (self.page.chosen + 1).min(count))),
            PagerKind::Changes { turn } => {
                let files = self.page.cells.iter().filter(|cell| cell.begins).count();
                let name = if turn { "Changes of the last turn" } else { "Changes of this session" };
                (name, text::plural(files, "file"))
            }
            PagerKind::Help => ("Help", String::new()),
        };
        list::heading(name, &format!("  {facts}"), width, theme)
    }

    fn foot(&self, width: usize, theme: Theme) -> Line<'static> {
        let line = |text: &str, style| wrap::line(&format!("  {text}"), width, style);
        if let Some(typed) = &self.typing {
            let shown = wrap::tail(typed.text(), width.saturating_sub(6));
            return line(&format!("/{shown}▏"), theme.accent());
        }
        if let Some(message) = &self.message {
            return line(message, theme.warning());
        }
        let find = if self.search.is_some() { "n/N next" } else { "/ search" };
        let keys = match self.kind {
            _ if !self.loaded => "Reading the session…".to_owned(),
            _ if self.page.cells.is_empty() => format!("{NOTHING} · q close"),
            PagerKind::Transcript | PagerKind::Outputs if self.agent_of_chosen().is_some() => {
                format!("q close · o sub-agent's work · {find} · Tab cell · Enter expand · y copy")
            }
            PagerKind::Transcript | PagerKind::Agent => {
                format!("q close · {find} · Tab cell · [ ] turn · Enter expand · y copy · c copy code")
            }
            PagerKind::Outputs => format!("q close · ←→ other outputs · {find} · w wrap · y copy"),
            PagerKind::Help => format!("q close · ↑↓ PgUp PgDn scroll · {find}"),
            PagerKind::Changes { .. } => {
                format!("q close · s stage · r revert · Tab change · [ ] file · {find} · y copy")
            }
        };
        line(&keys, theme.dim())
    }
}
