//! The colors, in one place. Only the terminal's own sixteen are used, so that every theme of every terminal fits,
//! and with `NO_COLOR` only weight is left.

use ratatui::style::{Color, Modifier, Style};

/// Styles by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    color: bool,
}

impl Theme {
    /// `color: false` keeps bold, dim and underline only.
    pub const fn new(color: bool) -> Self {
        Self { color }
    }

    fn fg(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    pub fn plain(self) -> Style {
        Style::new()
    }

    pub fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn accent(self) -> Style {
        self.fg(Color::Cyan)
    }

    pub fn user(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub fn good(self) -> Style {
        self.fg(Color::Green)
    }

    pub fn bad(self) -> Style {
        self.fg(Color::Red)
    }

    pub fn warning(self) -> Style {
        self.fg(Color::Yellow)
    }

    pub fn code(self) -> Style {
        self.fg(Color::Cyan)
    }

    pub fn heading(self) -> Style {
        self.fg(Color::Magenta).add_modifier(Modifier::BOLD)
    }

    pub fn link(self) -> Style {
        self.fg(Color::Blue).add_modifier(Modifier::UNDERLINED)
    }

    /// The chosen row of a list.
    pub fn selected(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The mark and style of a list's row.
    pub fn row(self, chosen: bool) -> (&'static str, Style) {
        if chosen { ("▸ ", self.selected()) } else { ("  ", self.plain()) }
    }
}
