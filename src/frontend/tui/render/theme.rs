//! The colors, in one place: styles by meaning. A palette is made for dark or for light backgrounds; where the background
//! is not known, the terminal's own sixteen colors are used, which every terminal's scheme makes readable. With `NO_COLOR`
//! only weight is left.

use ratatui::style::{Color, Modifier, Style};

use super::highlight::scanner::Role;
use super::palette::{self, Palette};
use base::config::theme::ThemeName;

/// How many colors the terminal has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// None are wanted (`NO_COLOR`).
    None,
    #[default]
    Sixteen,
    TwoHundredFiftySix,
    TrueColor,
}

/// What the colors are drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    Dark,
    Light,
}

/// What the terminal can show, and what the user has chosen: what a theme is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub name: ThemeName,
    pub depth: Depth,
    /// `None`: the terminal did not say.
    pub background: Option<Background>,
}

impl Look {
    pub fn theme(self) -> Theme {
        let palette = match (self.depth, self.name, self.background) {
            (Depth::None, ..) => return Theme::new(false),
            (Depth::Sixteen, ..) | (_, ThemeName::Ansi, _) | (_, ThemeName::Auto, None) => {
                return Theme::new(true);
            }
            (_, ThemeName::Dark, _) | (_, ThemeName::Auto, Some(Background::Dark)) => &palette::DARK,
            (_, ThemeName::Light, _) | (_, ThemeName::Auto, Some(Background::Light)) => &palette::LIGHT,
            (_, ThemeName::HighContrast, Some(Background::Light)) => &palette::HIGH_CONTRAST_LIGHT,
            (_, ThemeName::HighContrast, _) => &palette::HIGH_CONTRAST_DARK,
        };
        Theme { palette: Some(palette), indexed: self.depth == Depth::TwoHundredFiftySix }
    }
}

/// Styles by meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    palette: Option<&'static Palette>,
    /// Only 256 colors.
    indexed: bool,
}

impl Theme {
    /// The terminal's sixteen colors; `color: false` keeps bold, dim and underline only.
    pub const fn new(color: bool) -> Self {
        Self { palette: if color { Some(&palette::ANSI) } else { None }, indexed: false }
    }

    fn color(self, color: Color) -> Color {
        if self.indexed { palette::indexed(color) } else { color }
    }

    fn fg(self, of: impl Fn(&Palette) -> Color) -> Style {
        self.palette.map_or_else(Style::new, |palette| Style::new().fg(self.color(of(palette))))
    }

    pub fn plain(self) -> Style {
        Style::new()
    }

    pub fn dim(self) -> Style {
        match self.palette.and_then(|palette| palette.dim) {
            Some(color) => Style::new().fg(self.color(color)),
            None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn accent(self) -> Style {
        self.fg(|palette| palette.accent)
    }

    pub fn user(self) -> Style {
        self.accent().add_modifier(Modifier::BOLD)
    }

    pub fn good(self) -> Style {
        self.fg(|palette| palette.good)
    }

    pub fn bad(self) -> Style {
        self.fg(|palette| palette.bad)
    }

    pub fn warning(self) -> Style {
        self.fg(|palette| palette.warning)
    }

    pub fn code(self) -> Style {
        self.fg(|palette| palette.code)
    }

    pub fn heading(self) -> Style {
        self.fg(|palette| palette.heading).add_modifier(Modifier::BOLD)
    }

    pub fn link(self) -> Style {
        self.fg(|palette| palette.link).add_modifier(Modifier::UNDERLINED)
    }

    /// The chosen row of a list.
    pub fn selected(self) -> Style {
        self.user()
    }

    /// The mark and style of a list's row.
    pub fn row(self, chosen: bool) -> (&'static str, Style) {
        if chosen { ("▸ ", self.selected()) } else { ("  ", self.plain()) }
    }

    /// What a search has found.
    pub fn found(self, style: Style) -> Style {
        style.add_modifier(Modifier::REVERSED)
    }

    /// A part of a program's text.
    pub fn syntax(self, role: Role) -> Style {
        match role {
            Role::Plain => self.plain(),
            Role::Comment => self.dim(),
            Role::Keyword => self.fg(|palette| palette.heading),
            Role::Text => self.good(),
            Role::Number => self.fg(|palette| palette.number),
            Role::Type => self.accent(),
            Role::Function => self.fg(|palette| palette.code),
            Role::Attribute => self.warning(),
            Role::Removed => self.bad(),
        }
    }

    /// A changed line of a diff: text in these colors stands on the background of `good` or `bad`, where the palette has
    /// one; else the whole line has the color of its sign.
    pub fn changed(self, added: bool, syntax: Style) -> Style {
        match self.palette.and_then(|palette| palette.diff) {
            Some(diff) => syntax.bg(self.color(if added { diff.added } else { diff.removed })),
            None if added => self.good(),
            None => self.bad(),
        }
    }

    /// The words of a changed line that differ.
    pub fn changed_words(self, added: bool) -> Style {
        match (self.palette, self.palette.and_then(|palette| palette.diff)) {
            (_, Some(diff)) => {
                let background = if added { diff.added_words } else { diff.removed_words };
                let style = Style::new().fg(self.color(diff.words)).bg(self.color(background));
                style.add_modifier(Modifier::BOLD)
            }
            (Some(_), None) => self.changed(added, Style::new()).add_modifier(Modifier::REVERSED),
            (None, None) => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        }
    }
}
