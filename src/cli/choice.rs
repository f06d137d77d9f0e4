//! Values of options that take one of a few words, so that shells can complete them.

use std::fmt::Display;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

pub const PROVIDERS: &[&str] = &["openai", "chat", "responses", "anthropic", "scripted"];
pub const PERMISSIONS: &[&str] = &["read-only", "ask", "accept-edits", "auto", "full"];
pub const MODES: &[&str] = &["normal", "explore", "analyze", "plan", "auto"];
pub const THEMES: &[&str] = &["auto", "dark", "light", "high-contrast", "ansi"];
pub const PHASES: &[&str] = &["explore", "analyze", "plan", "do"];
pub const STAGES: &[&str] = &["spec", "plan", "code", "review"];
pub const BINDINGS: &[&str] = &["none", "drops", "rejects"];

pub fn choice<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Display + std::fmt::Debug,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>().map_err(|error| error.to_string()))
}
