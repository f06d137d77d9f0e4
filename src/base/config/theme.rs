//! The color themes.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(const_into_str, serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = not_a_theme)]
pub enum ThemeName {
    /// Dark or light like the terminal's background, or `Ansi` if that is unknown.
    #[default]
    Auto,
    Dark,
    Light,
    HighContrast,
    Ansi,
}

fn not_a_theme(text: &str) -> String {
    format!("'{text}' is not a theme (auto, dark, light, high-contrast, ansi)")
}

impl ThemeName {
    pub const ALL: [Self; 5] = [Self::Auto, Self::Dark, Self::Light, Self::HighContrast, Self::Ansi];
}
