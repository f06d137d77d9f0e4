//! `/context`: shows what fills the window; keys pin, drop and restore items. Keys do nothing until the
//! ledger arrives.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Line;

use super::ledger;
use super::list::{self, PopupAction, Selection};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::keymap;
use base::protocol::ledger::{self as view, ContextEdit, ItemHistory, LedgerRow, LedgerView};
use base::protocol::op::{Control, Op, Quick};
use base::sanitize;

const STORY_ROWS: usize = 12;

#[derive(Clone, Debug, Default)]
pub struct ContextPopup {
    ledger: Option<LedgerView>,
    /// The ledger's rows, largest first.
    rows: Vec<LedgerRow>,
    selection: Selection,
    history: Option<ItemHistory>,
    message: Option<String>,
}

impl ContextPopup {
    /// Takes a new ledger; keeps the selection if the item still exists.
    pub fn fill(&mut self, ledger: LedgerView) {
        let chosen = self.rows.get(self.selection.index).map(|row| row.id.clone());
        self.rows.clone_from(&ledger.rows);
        self.rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
        let at = chosen.and_then(|id| self.rows.iter().position(|row| row.id == id));
        self.selection = Selection::new(self.rows.len());
        self.selection.index = at.unwrap_or(0);
        self.ledger = Some(ledger);
    }

    pub fn tell(&mut self, history: ItemHistory) {
        self.history = Some(history);
        self.message = None;
    }

    pub fn say(&mut self, text: &str) {
        self.message = Some(text.to_owned());
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if self.history.is_some() {
            if list::closes(key) || matches!(key.code, KeyCode::Enter | KeyCode::Backspace) {
                self.history = None;
            }
            return PopupAction::Nothing;
        }
        if list::closes(key) {
            return PopupAction::Close;
        }
        self.message = None;
        if self.selection.key(key) {
            return PopupAction::Nothing;
        }
        let Some(row) = self.rows.get(self.selection.index) else { return PopupAction::Nothing };
        if key.code == KeyCode::Enter {
            return PopupAction::Send(Op::Quick(Quick::Explain { id: row.id.clone() }));
        }
        let edit = match keymap::plain_char(key).map(|c| c.to_ascii_lowercase()) {
            Some('p') if row.pinned => ContextEdit::Unpin,
            Some('p') => ContextEdit::Pin,
            Some('d') => ContextEdit::Drop,
            Some('r') => ContextEdit::Restore,
            _ => return PopupAction::Nothing,
        };
        if let Some(id) = view::item_id(&row.id) {
            return PopupAction::Send(Op::Control(Control::EditContext { edit, id }));
        }
        self.message = Some(format!("This part is always sent in full: {}.", row.origin));
        PopupAction::Nothing
    }

    /// Lines within `room`. The list is cut first, then the bars; the key hints stay.
    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some(ledger) = &self.ledger else {
            let wait = self.message.clone().unwrap_or_else(|| "Measuring the next request…".to_owned());
            let mut lines = wrap::wrap_text(&sanitize::clean(&wait), theme.plain(), "", "", width);
            lines.push(keys("Esc close", width, theme));
            return lines;
        };
        let mut foot: Vec<Line<'static>> = Vec::new();
        if let Some(message) = &self.message {
            foot.extend(
                wrap::wrap_text(&sanitize::clean(message), theme.warning(), "· ", "  ", width)
                    .into_iter()
                    .take(2),
            );
        }
        foot.push(keys("↑↓ select · Enter why · p pin · d drop · r restore · Esc close", width, theme));
        let mut head = ledger::head(ledger, width, theme);
        if room >= 20 {
            head.push(Line::default());
        }
        let list_room = self.rows.len().min(4);
        head.truncate(room.saturating_sub(foot.len() + list_room).max(1));
        let left = room.saturating_sub(head.len() + foot.len());
        let mut lines = head;
        if left > 0 {
            lines.extend(self.selection.lines(left, width, theme, |index, _| {
                ledger::item_spans(&self.rows[index], index == self.selection.index, width, theme)
            }));
        }
        lines.extend(foot);
        match &self.history {
            // As high as the list, so that nothing jumps.
            Some(told) => story_lines(told, width, lines.len().max(room.min(STORY_ROWS)), theme),
            None => lines,
        }
    }
}

fn keys(text: &str, width: usize, theme: Theme) -> Line<'static> {
    wrap::line(&format!("  {text}"), width, theme.dim())
}

fn story_lines(told: &ItemHistory, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines =
        wrap::wrap_text(&sanitize::clean(&ledger::history_heading(told)), theme.strong(), "", "  ", width);
    for (name, fact) in ledger::history_rows(told) {
        let first = format!("  {name:<17} ");
        let rest = " ".repeat(20.min(width / 2));
        lines.extend(wrap::wrap_text(&sanitize::clean(&fact), theme.plain(), &first, &rest, width));
    }
    lines.resize(room.saturating_sub(1), Line::default());
    lines.push(keys("Esc back", width, theme));
    lines
}
