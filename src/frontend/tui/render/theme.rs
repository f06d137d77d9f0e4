//! Styles by meaning. A palette is for dark or light backgrounds; if the background is unknown, the
//! terminal's own sixteen colors are used. With `NO_COLOR` only weight remains.

use std::sync::LazyLock;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::tui::render::highlight::scanner::Role;
use base::config::theme::ThemeName;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
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
            (_, ThemeName::Dark, _) | (_, ThemeName::Auto, Some(Background::Dark)) => &PALETTES.dark,
            (_, ThemeName::Light, _) | (_, ThemeName::Auto, Some(Background::Light)) => &PALETTES.light,
            (_, ThemeName::HighContrast, Some(Background::Light)) => &PALETTES.high_contrast_light,
            (_, ThemeName::HighContrast, _) => &PALETTES.high_contrast_dark,
        };
        Theme { palette: Some(palette), indexed: self.depth == Depth::TwoHundredFiftySix, plain: false }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    palette: Option<&'static Palette>,
    indexed: bool,
    plain: bool,
}

impl Theme {
    /// For the line-by-line chat.
    pub const PLAIN: Self = Self { palette: None, indexed: false, plain: true };

    /// The terminal's sixteen colors; `color: false` keeps only bold, dim and underline.
    pub fn new(color: bool) -> Self {
        Self { palette: color.then_some(&PALETTES.ansi), indexed: false, plain: false }
    }

    fn color(self, Shade(color): Shade) -> Color {
        if self.indexed { indexed(color) } else { color }
    }

    fn fg(self, of: impl Fn(&Palette) -> Shade) -> Style {
        self.palette.map_or_else(Style::new, |palette| Style::new().fg(self.color(of(palette))))
    }

    /// Whether the chat is line by line: without single keys, bars and previews.
    pub fn is_plain(self) -> bool {
        self.plain
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
            Some(behind) => syntax.bg(self.color(if added { behind.added } else { behind.removed })),
            None if added => self.good(),
            None => self.bad(),
        }
    }

    pub fn changed_words(self, added: bool) -> Style {
        match (self.palette, self.palette.and_then(|palette| palette.diff)) {
            (_, Some(behind)) => {
                let background = self.color(if added { behind.added_words } else { behind.removed_words });
                Style::new().fg(self.color(behind.words)).bg(background).add_modifier(Modifier::BOLD)
            }
            (Some(_), None) => self.changed(added, Style::new()).add_modifier(Modifier::REVERSED),
            (None, None) => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        }
    }
}

/// Each is readable on all usual backgrounds of its kind: at least 4.5:1 for text, 7:1 in the high-contrast ones (WCAG
/// 2.2, 1.4.3 and 1.4.6). The test checks this, for 256 colors too.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
struct Palette {
    dim: Option<Shade>,
    accent: Shade,
    good: Shade,
    bad: Shade,
    warning: Shade,
    code: Shade,
    heading: Shade,
    link: Shade,
    number: Shade,
    diff: Option<DiffShades>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct DiffShades {
    added: Shade,
    removed: Shade,
    added_words: Shade,
    removed_words: Shade,
    words: Shade,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Shade(Color);

impl TryFrom<String> for Shade {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        written.parse().map(Self).map_err(|_| format!("{written} is not a color"))
    }
}

#[derive(Default, Deserialize)]
struct Palettes {
    ansi: Palette,
    dark: Palette,
    light: Palette,
    high_contrast_dark: Palette,
    high_contrast_light: Palette,
}

static PALETTES: LazyLock<Palettes> =
    LazyLock::new(|| toml::from_str(include_str!("palettes.toml")).unwrap_or_default());

/// Channel values in the 6×6×6 cube of the 256 colors (16 to 231).
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The nearest of the 256 colors, excluding the first sixteen, which vary by terminal.
fn indexed(color: Color) -> Color {
    let Color::Rgb(red, green, blue) = color else { return color };
    let distance = |index: u8| {
        let (r, g, b) = rgb_of(index);
        let part = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        part(r, red) + part(g, green) + part(b, blue)
    };
    Color::Indexed((16..=255).min_by_key(|index| distance(*index)).unwrap_or(16))
}

fn rgb_of(index: u8) -> (u8, u8, u8) {
    if index >= 232 {
        let gray = 8 + (index - 232) * 10;
        return (gray, gray, gray);
    }
    let at = usize::from(index.saturating_sub(16));
    (LEVELS[at / 36 % 6], LEVELS[at / 6 % 6], LEVELS[at % 6])
}

#[cfg(test)]
#[allow(clippy::panic, clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Black, and what VS Code, One Dark, Solarized and Ubuntu draw on.
    const DARKS: [u32; 5] = [0x00_00_00, 0x1e_1e_1e, 0x28_2c_34, 0x00_2b_36, 0x30_0a_24];
    /// White, and what Solarized, GitHub and Catppuccin Latte draw on.
    const LIGHTS: [u32; 4] = [0xff_ff_ff, 0xfd_f6_e3, 0xf6_f8_fa, 0xef_f1_f5];

    fn luminance(color: Color) -> f64 {
        let (r, g, b) = match color {
            Color::Rgb(r, g, b) => (r, g, b),
            Color::Indexed(index) => rgb_of(index),
            other => panic!("{other:?} has no certain luminance"),
        };
        let part = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    }

    fn contrast(a: Color, b: Color) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn everything_can_be_read() {
        let mut wrong = Vec::new();
        let Palettes { dark, light, high_contrast_dark, high_contrast_light, .. } = &*PALETTES;
        for (name, palette, backgrounds, least) in [
            ("dark", dark, &DARKS[..], 4.5),
            ("light", light, &LIGHTS[..], 4.5),
            ("high contrast, dark", high_contrast_dark, &DARKS[..], 7.0),
            ("high contrast, light", high_contrast_light, &LIGHTS[..], 7.0),
        ] {
            let Palette { dim, accent, good, bad, warning, code, heading, link, number, diff } = palette;
            let texts = [dim.unwrap(), *accent, *good, *bad, *warning, *code, *heading, *link, *number];
            let texts = texts.map(|shade| shade.0);
            let DiffShades { added, removed, added_words, removed_words, words } = diff.unwrap();
            let [added, removed, added_words, removed_words, words] =
                [added, removed, added_words, removed_words, words].map(|shade| shade.0);
            for narrow in [|color| color, indexed as fn(Color) -> Color] {
                let mut check = |text: Color, on: Color| {
                    let ratio = contrast(narrow(text), narrow(on));
                    if ratio < least {
                        wrong.push(format!("{name}: {text:?} on {on:?} has {ratio:.2}"));
                    }
                };
                for text in texts {
                    [added, removed].iter().for_each(|on| check(text, *on));
                }
                [added_words, removed_words].iter().for_each(|on| check(words, *on));
                for on in backgrounds {
                    let [_, red, green, blue] = on.to_be_bytes();
                    for text in texts {
                        let ratio = contrast(narrow(text), Color::Rgb(red, green, blue));
                        if ratio < least {
                            wrong.push(format!("{name}: {text:?} on {on:06x} has {ratio:.2}"));
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
