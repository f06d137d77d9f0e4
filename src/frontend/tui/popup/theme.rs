//! `/theme`: the themes, with a live preview.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use super::list::{self, PopupAction, Selection};
use crate::tui::render::markdown;
use crate::tui::render::theme::{Background, Depth, Look, Theme};
use crate::tui::terminal::keymap;
use crate::tui::transcript::diff;
use base::config::theme::ThemeName;

const SAMPLE: &str = "```rust\n// A sample\nfn area(size: Size) -> u32 { size.width * 2 }\n```";
const SAMPLE_DIFF: &str =
    "+++ b/a.rs\n@@ -7,2 +7,2 @@\n fn area() {\n-    let width = 2;\n+    let width = 40;\n";

#[derive(Clone, Debug, PartialEq)]
pub struct ThemePicker {
    selection: Selection,
    before: Look,
    search: String,
}

impl ThemePicker {
    pub fn new(look: Look) -> Self {
        let mut selection = Selection::new(ThemeName::ALL.len());
        selection.index = ThemeName::ALL.iter().position(|name| *name == look.name).unwrap_or(0);
        Self { selection, before: look, search: String::new() }
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if list::closes(key) {
            return PopupAction::Theme { name: self.before.name, keep: false }.closing();
        }
        let chosen = |selection: &Selection| ThemeName::ALL[selection.index.min(ThemeName::ALL.len() - 1)];
        if key.code == KeyCode::Enter {
            return PopupAction::Theme { name: chosen(&self.selection), keep: true }.closing();
        }
        if !self.selection.key(key) && !self.find(key) {
            return PopupAction::Nothing;
        }
        PopupAction::Theme { name: chosen(&self.selection), keep: false }
    }

    /// Typing chooses the first theme with these letters; others are not taken.
    fn find(&mut self, key: KeyEvent) -> bool {
        let mut search = self.search.clone();
        match (key.code, keymap::plain_char(key)) {
            (KeyCode::Backspace, _) => drop(search.pop()),
            (_, Some(letter)) => search.extend(letter.to_lowercase()),
            _ => return false,
        }
        let Some(at) = ThemeName::ALL.iter().position(|name| name.into_str().contains(&search)) else {
            return false;
        };
        (self.search, self.selection.index) = (search, at);
        true
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let keys = match self.search.as_str() {
            "" => "  ↑↓ or type to try · Enter to keep · Esc to cancel".to_owned(),
            search => format!("  search: {search}▏ · Enter to keep · Esc to cancel"),
        };
        let mut lines = vec![list::heading("Theme", &keys, width, theme)];
        lines.extend(self.selection.rows(room.saturating_sub(1), theme, |index, style| {
            let name = ThemeName::ALL[index];
            let shown = Span::styled(format!("{:<14}", name.into_str()), style);
            list::columns(shown, self.described(name), theme.dim(), width.saturating_sub(2))
        }));
        lines.push(Line::default());
        lines.extend(markdown::render(SAMPLE, width, theme));
        lines.extend(diff::render(SAMPLE_DIFF, width, usize::MAX, theme));
        lines.truncate(room);
        lines
    }

    fn described(&self, name: ThemeName) -> &'static str {
        match (name, self.before.depth) {
            (_, Depth::None) => "no colors: NO_COLOR is set",
            (_, Depth::Sixteen) => "this terminal has 16 colors; using its palette",
            (ThemeName::Auto, _) => match self.before.background {
                Some(Background::Dark) => "matches the terminal: dark",
                Some(Background::Light) => "matches the terminal: light",
                None => "terminal background unknown; using its 16 colors",
            },
            (ThemeName::Dark, _) => "for dark backgrounds",
            (ThemeName::Light, _) => "for light backgrounds",
            (ThemeName::HighContrast, _) => "contrast of at least 7:1",
            (ThemeName::Ansi, _) => "the terminal's own 16 colors",
        }
    }
}
