//! `/context`: what fills the window, and the user's hand in it. Opens at once and fills when the ledger comes, so
//! that no key typed meanwhile changes anything.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Line;

use super::item_history;
use super::ledger;
use super::list::Selection;
use crate::base::sanitize;
use crate::model::item::ItemId;
use crate::protocol::ledger::{self as view, ContextEdit, ItemHistory, LedgerRow, LedgerView};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::keymap;

/// Rows that PgUp and PgDn move by.
const PAGE: usize = 8;

/// Rows that a story gets at least, where the screen has them.
const STORY_ROWS: usize = 12;

/// The open popup.
#[derive(Clone, Debug, Default)]
pub struct ContextPopup {
    ledger: Option<LedgerView>,
    /// The ledger's rows, largest first.
    rows: Vec<LedgerRow>,
    selection: Selection,
    story: Option<ItemHistory>,
    /// What the last key did, or why not.
    said: Option<String>,
}

/// What a key did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Nothing,
    Closed,
    ContextEdit(ContextEdit, ItemId),
    Explain(String),
}

impl ContextPopup {
    /// Takes up a ledger; the chosen item stays chosen where it is still there.
    pub fn fill(&mut self, ledger: LedgerView) {
        let chosen = self.rows.get(self.selection.index).map(|row| row.id.clone());
        self.rows.clone_from(&ledger.rows);
        self.rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
        let at = chosen.and_then(|id| self.rows.iter().position(|row| row.id == id));
        self.selection.index = at.unwrap_or(0);
        self.ledger = Some(ledger);
    }

    pub fn tell(&mut self, story: ItemHistory) {
        self.story = Some(story);
        self.said = None;
    }

    /// Shows a sentence under the list.
    pub fn say(&mut self, text: &str) {
        self.said = Some(text.to_owned());
    }

    pub fn key(&mut self, key: KeyEvent) -> Act {
        let closes = key.code == KeyCode::Esc || keymap::is_ctrl(key, 'c') || keymap::is_ctrl(key, 'd');
        if self.story.is_some() {
            if closes || matches!(key.code, KeyCode::Enter | KeyCode::Backspace) {
                self.story = None;
            }
            return Act::Nothing;
        }
        if closes {
            return Act::Closed;
        }
        self.said = None;
        let last = self.rows.len().saturating_sub(1);
        match key.code {
            KeyCode::Up => self.selection.up(self.rows.len()),
            KeyCode::Down => self.selection.down(self.rows.len()),
            KeyCode::PageUp => self.selection.index = self.selection.index.saturating_sub(PAGE),
            KeyCode::PageDown => self.selection.index = (self.selection.index + PAGE).min(last),
            KeyCode::Home => self.selection.index = 0,
            KeyCode::End => self.selection.index = last,
            KeyCode::Enter => {
                return self.chosen().map_or(Act::Nothing, |row| Act::Explain(row.id.clone()));
            }
            _ => match keymap::plain_char(key).map(|c| c.to_ascii_lowercase()) {
                Some('p') => {
                    let pinned = self.chosen().is_some_and(|row| row.pinned);
                    return self.edit(if pinned { ContextEdit::Unpin } else { ContextEdit::Pin });
                }
                Some('d') => return self.edit(ContextEdit::Drop),
                Some('r') => return self.edit(ContextEdit::Restore),
                _ => {}
            },
        }
        Act::Nothing
    }

    fn chosen(&self) -> Option<&LedgerRow> {
        self.rows.get(self.selection.index)
    }

    fn edit(&mut self, edit: ContextEdit) -> Act {
        let Some(row) = self.chosen() else { return Act::Nothing };
        match view::item_id(&row.id) {
            Some(id) => Act::ContextEdit(edit, id),
            None => {
                self.said = Some(format!("This part is always sent whole: {}.", row.origin));
                Act::Nothing
            }
        }
    }

    /// Lines within `room`. The list gives way first, then the bars; the keys stay.
    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some(ledger) = &self.ledger else {
            let wait =
                self.said.clone().unwrap_or_else(|| "Adding up what the next request holds…".to_owned());
            let mut lines = wrap::wrap_text(&sanitize::clean(&wait), theme.plain(), "", "", width);
            lines.push(keys("Esc close", width, theme));
            return lines;
        };
        let mut foot: Vec<Line<'static>> = Vec::new();
        if let Some(said) = &self.said {
            foot.extend(
                wrap::wrap_text(&sanitize::clean(said), theme.warning(), "· ", "  ", width)
                    .into_iter()
                    .take(2),
            );
        }
        foot.push(keys("↑↓ move · Enter why · p pin · d drop · r restore · Esc close", width, theme));
        let mut head = ledger::head(ledger, width, theme);
        if room >= 20 {
            head.push(Line::default());
        }
        let list_room = self.rows.len().min(4);
        head.truncate(room.saturating_sub(foot.len() + list_room).max(1));
        let left = room.saturating_sub(head.len() + foot.len());
        let mut lines = head;
        if left > 0 {
            for index in self.selection.window(self.rows.len(), left) {
                lines.push(ledger::item_line(&self.rows[index], index == self.selection.index, width, theme));
            }
        }
        lines.extend(foot);
        match &self.story {
            // As high as the list, so that nothing jumps.
            Some(told) => story_lines(told, width, lines.len().max(room.min(STORY_ROWS)), theme),
            None => lines,
        }
    }
}

fn keys(text: &str, width: usize, theme: Theme) -> Line<'static> {
    Line::styled(wrap::clip(&format!("  {text}"), width), theme.dim())
}

/// The story in exactly `room` rows.
fn story_lines(told: &ItemHistory, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines =
        wrap::wrap_text(&sanitize::clean(&item_history::heading(told)), theme.strong(), "", "  ", width);
    for (name, fact) in item_history::rows(told) {
        let first = format!("  {name:<17} ");
        let rest = " ".repeat(20.min(width / 2));
        lines.extend(wrap::wrap_text(&sanitize::clean(&fact), theme.plain(), &first, &rest, width));
    }
    lines.resize(room.saturating_sub(1), Line::default());
    lines.push(keys("Esc back to the list", width, theme));
    lines
}
