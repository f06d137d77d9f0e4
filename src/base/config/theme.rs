//! The color themes.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThemeName {
    /// Dark or light, like the terminal's background; `Ansi` if that is unknown.
    #[default]
    Auto,
    Dark,
    Light,
    HighContrast,
    /// The terminal's own sixteen colors.
    Ansi,
}

impl ThemeName {
    pub const ALL: [Self; 5] = [Self::Auto, Self::Dark, Self::Light, Self::HighContrast, Self::Ansi];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::HighContrast => "high-contrast",
            Self::Ansi => "ansi",
        }
    }
}

impl FromStr for ThemeName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|name| name.as_str() == text);
        found.ok_or_else(|| format!("'{text}' is not a theme (auto, dark, light, high-contrast, ansi)"))
    }
}
