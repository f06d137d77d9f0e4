//! The `/` popup: the commands whose name begins with what was typed. Gets the commands as rows; runs none.

use ratatui::text::{Line, Span};

use super::list::Selection;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;

/// One offered command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    pub name: &'static str,
    pub args: &'static str,
    pub help: &'static str,
}

/// The open popup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandsPopup {
    offers: Vec<Offer>,
    selection: Selection,
}

impl CommandsPopup {
    /// The commands among `all` that begin with `typed` (without the slash); `None` when there is none.
    pub fn new(typed: &str, all: impl Iterator<Item = Offer>) -> Option<Self> {
        let offers: Vec<Offer> = all.filter(|offer| offer.name.starts_with(typed)).collect();
        (!offers.is_empty()).then_some(Self { offers, selection: Selection::default() })
    }

    /// Takes over new offers and keeps the choice where the list is the same.
    pub fn refresh(&mut self, new: Self) {
        if new.offers != self.offers {
            *self = new;
        }
    }

    pub fn up(&mut self) {
        self.selection.up(self.offers.len());
    }

    pub fn down(&mut self) {
        self.selection.down(self.offers.len());
    }

    pub fn chosen(&self) -> Option<Offer> {
        self.offers.get(self.selection.index).copied()
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let window = self.selection.window(self.offers.len(), room);
        let below = self.offers.len() - window.end;
        let last = window.end.saturating_sub(1);
        window
            .map(|row| {
                let offer = self.offers[row];
                let chosen = row == self.selection.index;
                let (mark, style) = if chosen { ("▸ ", theme.selected()) } else { ("  ", theme.plain()) };
                let usage = format!("/{} {}", offer.name, offer.args);
                // A list that goes on says so in its last row.
                let more =
                    if below > 0 && row == last { format!(" · {below} more ↓") } else { String::new() };
                let room = width.saturating_sub(24 + wrap::width(&more));
                let help = format!("{}{more}", wrap::clip(offer.help, room));
                Line::from(vec![
                    Span::styled(mark, style),
                    Span::styled(format!("{usage:<20}"), style),
                    Span::styled(format!(" {help}"), theme.dim()),
                ])
            })
            .collect()
    }
}
