//! The vendors and their API keys (`/login`). A key is typed masked, and checked before it is saved.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::composer::buffer::Buffer;
use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::ListMove;
use base::config::provider::saved_keys::{KeyState, VendorKey};
use base::config::provider::vendors::Vendor;
use base::protocol::notice;
use base::protocol::op::{Op, Quick};
use base::secret::Secret;

const SHOWN_CHARS: usize = 4;

impl PickRow for VendorKey {
    const TITLE: &'static str = "Log in";

    fn searched(&self) -> String {
        self.vendor.clone()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        list::columns(Span::raw(format!("{:<13}", self.vendor)), &self.shown(), theme.dim(), width)
    }

    fn keys(chosen: Option<&Self>) -> String {
        let remove = list::key_name(ListMove::Remove);
        match chosen.map(|row| &row.state) {
            Some(KeyState::Saved) => {
                format!("Enter to type another key · {remove} to remove it · Esc to close")
            }
            _ => "Enter to type a key · Esc to close".to_owned(),
        }
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let vendor = chosen.filter(|row| row.state == KeyState::Saved)?.vendor.clone();
        let remove = PopupAction::Send(Op::Quick(Quick::SaveKey { vendor, key: None }));
        list::does(key, ListMove::Remove).then_some(remove)
    }
}

#[derive(Clone, Debug, Default)]
pub struct KeyPicker {
    pub list: PickList<VendorKey>,
    entry: Option<KeyEntry>,
}

#[derive(Clone, Debug, Default)]
struct KeyEntry {
    vendor: String,
    key: Buffer,
    checking: bool,
    refusal: Option<String>,
}

impl KeyPicker {
    pub fn enter_key(&mut self, vendor: &str) {
        let refusal =
            Vendor::has_account(vendor).then(|| format!("Run `mycode login {vendor}` in a terminal."));
        self.entry = Some(KeyEntry { vendor: vendor.to_owned(), refusal, ..KeyEntry::default() });
    }

    pub fn is_checking(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.checking)
    }

    pub fn refuse(&mut self, why: String) {
        if let Some(entry) = &mut self.entry {
            (entry.checking, entry.refusal) = (false, Some(why));
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        let Some(entry) = &mut self.entry else {
            let chosen = self.list.chosen().map(|row| row.vendor.clone());
            return match chosen.filter(|_| key.code == KeyCode::Enter) {
                Some(vendor) => {
                    self.enter_key(&vendor);
                    PopupAction::Nothing
                }
                None => self.list.key(key),
            };
        };
        match key.code {
            _ if list::closes(key) => self.entry = None,
            _ if entry.checking => {}
            KeyCode::Enter if !entry.key.text().trim().is_empty() => {
                (entry.checking, entry.refusal) = (true, None);
                let (vendor, key) = (entry.vendor.clone(), Some(Secret::new(entry.key.text())));
                return PopupAction::Send(Op::Quick(Quick::SaveKey { vendor, key }));
            }
            KeyCode::Enter => {}
            _ => entry.key.type_key(key),
        }
        PopupAction::Nothing
    }

    pub fn paste(&mut self, text: &str) -> bool {
        match &mut self.entry {
            Some(entry) => entry.key.paste_line(text.trim()),
            None => return self.list.paste(text),
        }
        true
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some(entry) = &self.entry else {
            let note = wrap::wrap_text(notice::NO_SUBSCRIPTIONS, theme.dim(), "  ", "  ", width);
            let note_rows = if room >= 10 { note.len() } else { 0 };
            let mut lines = self.list.lines(width, room - note_rows, theme);
            lines.extend(note.into_iter().take(note_rows));
            return lines;
        };
        let keys = match entry.checking {
            true => "  Checking the key…",
            false => "  Enter to check and save it · Esc to go back",
        };
        let head = format!("API key for {}", wrap::one_line(&entry.vendor, 40));
        let mut lines = vec![list::heading(&head, keys, width, theme)];
        let text = entry.key.text().trim();
        let count = text.chars().count();
        // A short text could be a password.
        let hidden = if count < 5 * SHOWN_CHARS { count } else { count - SHOWN_CHARS };
        let end: String = text.chars().skip(hidden).collect();
        let shown = format!("{}{end}▏", "•".repeat(hidden));
        let shown = Span::raw(wrap::tail(&shown, width.saturating_sub(2)).to_owned());
        lines.push(Line::from(vec![Span::styled("› ", theme.accent()), shown]));
        if let Some(why) = &entry.refusal {
            lines.extend(wrap::wrap_text(why, theme.warning(), "  ", "  ", width));
        }
        lines
    }
}
