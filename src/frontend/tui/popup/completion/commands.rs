//! The `/` popup: commands that start with the typed text.

use ratatui::text::{Line, Span};

use crate::tui::command::table::COMMANDS;
use crate::tui::popup::list::Selection;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::protocol::event::CommandRow;
use base::sanitize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandsPopup {
    offers: Vec<CommandRow>,
    pub selection: Selection,
}

impl CommandsPopup {
    /// Commands that start with `typed` (without the slash); `None` if there are none.
    pub fn new(typed: &str, own: &[CommandRow]) -> Option<Self> {
        let builtin = COMMANDS.iter().map(|command| CommandRow {
            name: command.name.to_owned(),
            args: command.args.to_owned(),
            help: command.help.to_owned(),
        });
        // Built-in names take precedence.
        let is_new = |row: &&CommandRow| COMMANDS.iter().all(|command| command.name != row.name);
        let all = builtin.chain(own.iter().filter(is_new).cloned());
        let offers: Vec<CommandRow> = all.filter(|row| row.name.starts_with(typed)).collect();
        (!offers.is_empty()).then(|| Self { selection: Selection::new(offers.len()), offers })
    }

    /// Takes new offers; keeps the selection if they're unchanged.
    pub fn refresh(&mut self, new: Self) {
        if new.offers != self.offers {
            *self = new;
        }
    }

    pub fn chosen(&self) -> Option<&CommandRow> {
        self.offers.get(self.selection.index)
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let window = self.selection.window(room);
        let below = self.offers.len() - window.end;
        let last = window.end.saturating_sub(1);
        window
            .map(|row| {
                let offer = &self.offers[row];
                let (mark, style) = theme.row(row == self.selection.index);
                let usage =
                    wrap::clip(&sanitize::clean(&format!("/{} {}", offer.name, offer.args)), width / 2);
                // The last row says how many more there are.
                let more =
                    if below > 0 && row == last { format!(" · {below} more ↓") } else { String::new() };
                let room = width.saturating_sub(wrap::width(&usage).max(20) + 4 + wrap::width(&more));
                let help = format!("{}{more}", wrap::clip(&sanitize::clean(&offer.help), room));
                Line::from(vec![
                    Span::styled(mark, style),
                    Span::styled(format!("{usage:<20}"), style),
                    Span::styled(format!(" {help}"), theme.dim()),
                ])
            })
            .collect()
    }
}
