//! Styles by meaning. A palette is for dark or light backgrounds. No color can be read on both, so where the background
//! is unknown, text keeps the terminal's own color. With `NO_COLOR` only weight remains.

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub name: ThemeName,
    pub depth: Depth,
    /// `None`: the terminal didn't say.
    pub background: Option<Background>,
}

impl Look {
    pub fn theme(self) -> Theme {
        let background = match self.name {
            ThemeName::Dark => Some(Background::Dark),
            ThemeName::Light => Some(Background::Light),
            _ => self.background,
        };
        let palette = match (self.depth, self.name, background) {
            (Depth::None, ..) => return Theme::new(false),
            (_, ThemeName::Ansi, _) => &PALETTES.ansi,
            (Depth::Sixteen, _, None) => return Theme::new(false),
            (_, _, None) => &PALETTES.unknown,
            (Depth::Sixteen, _, Some(Background::Dark)) => &PALETTES.sixteen_dark,
            (Depth::Sixteen, _, Some(Background::Light)) => &PALETTES.sixteen_light,
            (_, ThemeName::HighContrast, Some(Background::Dark)) => &PALETTES.high_contrast_dark,
            (_, ThemeName::HighContrast, Some(Background::Light)) => &PALETTES.high_contrast_light,
            (_, _, Some(Background::Dark)) => &PALETTES.dark,
            (_, _, Some(Background::Light)) => &PALETTES.light,
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

    fn fg_or_bold(self, of: impl Fn(&Palette) -> Shade) -> Style {
        match self.fg(of) {
            style if style.fg == Some(Color::Reset) => self.strong(),
            style => style,
        }
    }

    /// Line by line: without single keys, bars and previews.
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
        self.fg_or_bold(|palette| palette.bad)
    }

    pub fn warning(self) -> Style {
        self.fg_or_bold(|palette| palette.warning)
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

    /// `syntax` on a background if the palette has one, otherwise one plain color.
    pub fn changed(self, added: bool, syntax: Style) -> Style {
        match self.palette.and_then(|palette| palette.diff) {
            Some(behind) => {
                let style = syntax.bg(self.color(if added { behind.added } else { behind.removed }));
                behind.text.map_or(style, |text| style.fg(self.color(text)))
            }
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

/// Readable on all usual backgrounds of its kind: at least 4.5:1, high-contrast 7:1 (WCAG 2.2, 1.4.3 and 1.4.6; tested).
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
    /// All text on such lines, if the syntax has no colors of its own.
    text: Option<Shade>,
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
    unknown: Palette,
    sixteen_dark: Palette,
    sixteen_light: Palette,
    dark: Palette,
    light: Palette,
    high_contrast_dark: Palette,
    high_contrast_light: Palette,
}

static PALETTES: LazyLock<Palettes> =
    LazyLock::new(|| toml::from_str(include_str!("palettes.toml")).unwrap_or_default());

const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Excludes the first sixteen, which vary by terminal.
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

    /// Black, and the backgrounds of VS Code, One Dark, Solarized and Ubuntu.
    const DARKS: [u32; 5] = [0x00_00_00, 0x1e_1e_1e, 0x28_2c_34, 0x00_2b_36, 0x30_0a_24];
    /// White, and the backgrounds of Solarized, GitHub and Catppuccin Latte.
    const LIGHTS: [u32; 4] = [0xff_ff_ff, 0xfd_f6_e3, 0xf6_f8_fa, 0xef_f1_f5];

    /// The first sixteen colors of VGA and xterm, from their manuals.
    const SIXTEEN: [[u32; 16]; 2] = [
        [
            0x00_00_00, 0xaa_00_00, 0x00_aa_00, 0xaa_55_00, 0x00_00_aa, 0xaa_00_aa, 0x00_aa_aa, 0xaa_aa_aa,
            0x55_55_55, 0xff_55_55, 0x55_ff_55, 0xff_ff_55, 0x55_55_ff, 0xff_55_ff, 0x55_ff_ff, 0xff_ff_ff,
        ],
        [
            0x00_00_00, 0xcd_00_00, 0x00_cd_00, 0xcd_cd_00, 0x00_00_ee, 0xcd_00_cd, 0x00_cd_cd, 0xe5_e5_e5,
            0x7f_7f_7f, 0xff_00_00, 0x00_ff_00, 0xff_ff_00, 0x5c_5c_ff, 0xff_00_ff, 0x00_ff_ff, 0xff_ff_ff,
        ],
    ];

    fn luminance(color: Color) -> f64 {
        let (r, g, b) = match color {
            Color::Rgb(r, g, b) => (r, g, b),
            Color::Indexed(0..16) => panic!("{color:?} has no certain luminance"),
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
            let texts = texts_of(palette);
            let DiffShades { added, removed, added_words, removed_words, words, .. } = palette.diff.unwrap();
            let [added, removed, added_words, removed_words, words] =
                [added, removed, added_words, removed_words, words].map(|shade| shade.0);
            for narrow in [|color| color, indexed as fn(Color) -> Color] {
                let mut check = |text: Color, on: Color| {
                    let ratio = contrast(narrow(text), narrow(on));
                    if ratio < least {
                        wrong.push(format!("{name}: {text:?} on {on:?} has {ratio:.2}"));
                    }
                };
                for text in texts.clone() {
                    [added, removed].iter().for_each(|on| check(text, *on));
                }
                [added_words, removed_words].iter().for_each(|on| check(words, *on));
                for on in backgrounds {
                    let [_, red, green, blue] = on.to_be_bytes();
                    for text in texts.clone() {
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

    fn texts_of(palette: &Palette) -> Vec<Color> {
        let Palette { dim, accent, good, bad, warning, code, heading, link, number, diff: _ } = palette;
        let texts = [*accent, *good, *bad, *warning, *code, *heading, *link, *number];
        texts.into_iter().chain(*dim).map(|shade| shade.0).collect()
    }

    /// Sixteen colors look different everywhere: each must be readable on the terminals that they are named after.
    #[test]
    fn sixteen_colors_can_be_read_as_well() {
        let rgb = |color: u32| {
            let [_, red, green, blue] = color.to_be_bytes();
            Color::Rgb(red, green, blue)
        };
        for (palette, background) in
            [(&PALETTES.sixteen_dark, 0x00_00_00), (&PALETTES.sixteen_light, 0xff_ff_ff)]
        {
            for color in texts_of(palette).into_iter().filter(|color| *color != Color::Reset) {
                let Color::Indexed(index) = color else { panic!("{color:?}") };
                for colors in SIXTEEN {
                    let ratio = contrast(rgb(colors[usize::from(index)]), rgb(background));
                    assert!(ratio >= 4.5, "{index} on {background:06x} has {ratio:.2}");
                }
            }
        }
    }

    /// On an unknown background, only pairs of colors are certain.
    #[test]
    fn an_unknown_background_keeps_the_terminals_text() {
        for name in [ThemeName::Auto, ThemeName::HighContrast] {
            for depth in [Depth::Sixteen, Depth::TwoHundredFiftySix, Depth::TrueColor] {
                let theme = Look { name, depth, background: None }.theme();
                let texts =
                    [theme.dim(), theme.accent(), theme.good(), theme.bad(), theme.warning(), theme.code()];
                for style in texts.into_iter().chain([theme.heading(), theme.link(), theme.question()]) {
                    assert!(matches!(style.fg, None | Some(Color::Reset)) && style.bg.is_none(), "{style:?}");
                }
                assert!(theme.question().add_modifier.contains(Modifier::BOLD));
                for added in [false, true] {
                    for style in [theme.changed(added, theme.code()), theme.changed_words(added)] {
                        let pair = style.fg.zip(style.bg);
                        assert!(pair.is_none_or(|(fg, bg)| contrast(fg, bg) >= 4.5), "{style:?}");
                        assert_eq!(pair.is_some(), depth != Depth::Sixteen);
                    }
                }
            }
        }
    }
}
