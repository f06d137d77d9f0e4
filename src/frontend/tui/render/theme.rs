//! Styles by meaning. A palette is for dark or light backgrounds; if the background is unknown, the
//! terminal's own sixteen colors are used. With `NO_COLOR` only weight remains.

use ratatui::style::{Color, Modifier, Style};

use super::highlight::scanner::Role;
use super::palette::{self, Palette};
use base::config::theme::ThemeName;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// None wanted (`NO_COLOR`).
    None,
    #[default]
    Sixteen,
    TwoHundredFiftySix,
    TrueColor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    Dark,
    Light,
}

/// The terminal's abilities and the user's choice, which determine the theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub name: ThemeName,
    pub depth: Depth,
    /// `None`: the terminal didn't say.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    palette: Option<&'static Palette>,
    indexed: bool,
}

impl Theme {
    /// The terminal's sixteen colors; `color: false` keeps only bold, dim and underline.
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

    /// Bold where the background is unknown: no color can be read on all of them.
    pub fn warning(self) -> Style {
        match self.palette {
            Some(palette) if palette.diff.is_none() => self.strong(),
            _ => self.fg(|palette| palette.warning),
        }
    }

    pub fn question(self) -> Style {
        self.warning().add_modifier(Modifier::BOLD)
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

    pub fn row(self, chosen: bool) -> (&'static str, Style) {
        if chosen { ("▸ ", self.user()) } else { ("  ", self.plain()) }
    }

    pub fn found(self, style: Style) -> Style {
        style.add_modifier(Modifier::REVERSED)
    }

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

    /// A changed diff line: `syntax` on a background if the palette has one, else one plain color.
    pub fn changed(self, added: bool, syntax: Style) -> Style {
        match self.palette.and_then(|palette| palette.diff) {
            Some(diff) => syntax.bg(self.color(if added { diff.added } else { diff.removed })),
            None if added => self.good(),
            None => self.bad(),
        }
    }

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
