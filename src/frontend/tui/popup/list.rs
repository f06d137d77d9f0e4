//! Shared by popups: a scrolling list with a selection, search by typing, and key actions.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::composer::paste;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::{Action, KeyPlace, ListMove};
use crate::tui::terminal::keymap;
use base::config::settings::Permission;
use base::config::theme::ThemeName;
use base::protocol::op::Op;
use base::sanitize;
use base::search::fold::{SearchWords, fold};

const PAGE: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub index: usize,
    len: usize,
}

impl Selection {
    pub fn new(len: usize) -> Self {
        Self { index: 0, len }
    }

    pub fn key(&mut self, key: KeyEvent) -> bool {
        match keymap::action(KeyPlace::List, key) {
            Some(Action::List(step)) => self.step(step),
            _ => false,
        }
    }

    pub fn step(&mut self, step: ListMove) -> bool {
        let last = self.len.saturating_sub(1);
        self.index = match step {
            ListMove::Up if self.index == 0 => last,
            ListMove::Up => self.index - 1,
            ListMove::Down if self.index >= last => 0,
            ListMove::Down => self.index + 1,
            ListMove::PageUp => self.index.saturating_sub(PAGE),
            ListMove::PageDown => (self.index + PAGE).min(last),
            ListMove::First => 0,
            ListMove::Last => last,
            _ => return false,
        };
        true
    }

    /// `spans` gets a row's index and style.
    pub fn rows(
        &self,
        room: usize,
        theme: Theme,
        mut spans: impl FnMut(usize, Style) -> Vec<Span<'static>>,
    ) -> Vec<Line<'static>> {
        let row = |index| {
            let (mark, style) = theme.row(index == self.index);
            Line::from([vec![Span::styled(mark, style)], spans(index, style)].concat())
        };
        self.window(room).map(row).collect()
    }

    /// If there are more rows, the last line says how many.
    pub fn lines(
        &self,
        room: usize,
        width: usize,
        theme: Theme,
        spans: impl FnMut(usize, Style) -> Vec<Span<'static>>,
    ) -> Vec<Line<'static>> {
        let whole = self.len <= room || room < 2;
        let room = if whole { room } else { room - 1 };
        let window = self.window(room);
        let (above, below) = (window.start, self.len - window.end);
        let mut lines = self.rows(room, theme, spans);
        if !whole {
            lines.push(wrap::line(&more(above, below), width, theme.dim()));
        }
        lines
    }

    pub fn window(&self, room: usize) -> std::ops::Range<usize> {
        let room = room.max(1);
        let start = (self.index + 1).saturating_sub(room).min(self.len.saturating_sub(room));
        start..(start + room).min(self.len)
    }
}

pub trait PickRow: Sized {
    const TITLE: &'static str;

    fn searched(&self) -> String;

    fn is_same(&self, other: &Self) -> bool {
        self.searched() == other.searched()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>>;

    fn keys(chosen: Option<&Self>) -> String;

    /// Other keys move and search. Without a row, `search` may name one.
    fn act(_chosen: Option<&Self>, _search: &str, _key: KeyEvent) -> Option<PopupAction> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct PickList<T> {
    pub rows: Vec<T>,
    search: String,
    found: Vec<usize>,
    selection: Selection,
}

impl<T> Default for PickList<T> {
    fn default() -> Self {
        let (rows, search, found) = (Vec::new(), String::new(), Vec::new());
        Self { rows, search, found, selection: Selection::default() }
    }
}

impl<T: PickRow> PickList<T> {
    pub fn new(rows: Vec<T>) -> Self {
        let found: Vec<usize> = (0..rows.len()).collect();
        Self { selection: Selection::new(found.len()), search: String::new(), found, rows }
    }

    pub fn fill(&mut self, rows: Vec<T>) {
        let (before, at) = (std::mem::replace(&mut self.rows, rows), self.selection.index);
        let chosen = self.found.get(at).and_then(|row| before.get(*row));
        self.find();
        let same = |row: &usize| chosen.is_some_and(|chosen| self.rows[*row].is_same(chosen));
        let last = self.found.len().saturating_sub(1);
        self.selection.index = self.found.iter().position(same).unwrap_or(at.min(last));
    }

    pub fn chosen(&self) -> Option<&T> {
        self.found.get(self.selection.index).and_then(|row| self.rows.get(*row))
    }

    pub fn choose(&mut self, wanted: impl Fn(&T) -> bool) {
        let at = self.found.iter().position(|row| wanted(&self.rows[*row]));
        self.selection.index = at.unwrap_or(self.selection.index);
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if self.is_message() && (closes(key) || key.code == KeyCode::Enter) {
            return PopupAction::Write(std::mem::take(&mut self.search)).closing();
        }
        if closes(key) {
            return PopupAction::Close;
        }
        if let Some(action) = T::act(self.chosen(), self.search.trim(), key) {
            return action;
        }
        if self.selection.key(key) {
            return PopupAction::Nothing;
        }
        if key.code == KeyCode::Backspace {
            self.search.pop();
        } else if does(key, ListMove::Undo) {
            self.search.clear();
        } else if let Some(letter) = keymap::plain_char(key) {
            self.search.push(letter);
        } else {
            return PopupAction::Nothing;
        }
        self.find();
        PopupAction::Nothing
    }

    /// Words that match no row, or a command, are meant for the composer.
    fn is_message(&self) -> bool {
        self.found.is_empty() && (self.search.trim().contains(' ') || self.search.starts_with('/'))
    }

    pub fn paste(&mut self, text: &str) -> bool {
        self.search.push_str(&paste::printable(text).replace('\n', " "));
        self.find();
        true
    }

    fn find(&mut self) {
        let wanted = SearchWords::new(&self.search);
        let query = fold(self.search.trim());
        let texts: Vec<String> = self.rows.iter().map(|row| fold(&row.searched())).collect();
        self.found = (0..texts.len()).filter(|at| wanted.are_in(&texts[*at])).collect();
        // Exact phrases before scattered words; otherwise the order stays.
        self.found.sort_by_key(|at| !texts[*at].contains(&query));
        self.selection = Selection::new(self.found.len());
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        self.lines_with(&T::keys(self.chosen()), width, room, theme)
    }

    pub fn lines_with(&self, keys: &str, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let typed = match self.search.as_str() {
            "" => "  type to search".to_owned(),
            search => format!("  search: {}▏", sanitize::clean(search)),
        };
        let mut lines = vec![heading(T::TITLE, &typed, width, theme)];
        if room > 4 {
            let keys = if self.is_message() { "Enter to move this to your message" } else { keys };
            lines.extend(hint(keys, width, theme));
        }
        if self.found.is_empty() {
            let nothing = if self.rows.is_empty() { "  Nothing here" } else { "  No match" };
            lines.push(Line::styled(nothing, theme.dim()));
        }
        let left = room.saturating_sub(lines.len());
        lines.extend(self.selection.lines(left, width, theme, |at, style| {
            let spans = self.rows[self.found[at]].spans(width.saturating_sub(2), theme).into_iter();
            spans.map(|span| if at == self.selection.index { span.style(style) } else { span }).collect()
        }));
        lines
    }
}

pub fn hint(keys: &str, width: usize, theme: Theme) -> Option<Line<'static>> {
    (!theme.is_plain()).then(|| wrap::line(&format!("  {keys}"), width, theme.dim()))
}

/// `rest` is about keys and what they typed.
pub fn heading(title: &str, rest: &str, width: usize, theme: Theme) -> Line<'static> {
    let room = if theme.is_plain() { 0 } else { width.saturating_sub(wrap::width(title)) };
    let title = Span::styled(wrap::clip(title, width), theme.strong());
    Line::from(vec![title, Span::styled(wrap::clip(rest, room), theme.dim())])
}

pub fn columns(facts: Span<'static>, text: &str, style: Style, width: usize) -> Vec<Span<'static>> {
    let room = width.saturating_sub(wrap::width(&facts.content));
    vec![facts, Span::styled(wrap::clip(text, room), style)]
}

pub fn turned(chosen: Option<usize>, down: bool, count: usize) -> Option<usize> {
    let next = |at: usize| if down { at + 1 } else { at + count - 1 };
    chosen.map_or(if down { 0 } else { count.checked_sub(1)? }, next).checked_rem(count)
}

pub fn more(above: usize, below: usize) -> String {
    match (above, below) {
        (0, below) => format!("  ↓ {below} more"),
        (above, 0) => format!("  ↑ {above} more"),
        _ => format!("  ↑ {above} more · ↓ {below} more"),
    }
}

pub fn key_name(what: ListMove) -> String {
    keymap::name(Action::List(what))
}

pub fn does(key: KeyEvent, what: ListMove) -> bool {
    keymap::action(KeyPlace::List, key) == Some(Action::List(what))
}

#[derive(Clone, Debug, PartialEq)]
pub enum PopupAction {
    Nothing,
    Close,
    Closing(Box<Self>),
    Send(Op),
    Inform(String),
    Write(String),
    Replace(String),
    Edit(String),
    Agent(String),
    Copy(String),
    SetPermission(Permission),
    Theme { name: ThemeName, keep: bool },
}

impl PopupAction {
    pub fn closing(self) -> Self {
        Self::Closing(Box::new(self))
    }
}

pub fn closes(key: KeyEvent) -> bool {
    does(key, ListMove::Close)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode, KeyModifiers};

    #[test]
    fn selection_window() {
        let mut selection = Selection::new(10);
        let mut press = |code| {
            assert!(selection.key(KeyEvent::new(code, KeyModifiers::NONE)));
            selection.window(4)
        };
        assert_eq!(press(KeyCode::Up), 6..10);
        assert_eq!(press(KeyCode::Down), 0..4);
        assert_eq!(press(KeyCode::PageDown), 5..9);
        assert_eq!(press(KeyCode::End), 6..10);
        assert_eq!(Selection::new(0).window(4), 0..0);
    }
}
