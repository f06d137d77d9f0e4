//! `/theme`: the themes, with a live preview.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use super::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::markdown;
use crate::tui::render::theme::{Background, Depth, Look, Theme};
use crate::tui::transcript::diff;
use base::config::theme::ThemeName;

const SAMPLE: &str = "```rust\n// A sample\nfn area(size: Size) -> u32 { size.width * 2 }\n```";
const SAMPLE_DIFF: &str =
    "+++ b/a.rs\n@@ -7,2 +7,2 @@\n fn area() {\n-    let width = 2;\n+    let width = 40;\n";

/// A theme, and the look before any was tried.
#[derive(Clone, Debug)]
pub struct ThemeRow {
    name: ThemeName,
    before: Look,
}

impl PickRow for ThemeRow {
    const TITLE: &'static str = "Theme";

    fn searched(&self) -> String {
        self.name.into_str().to_owned()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let name = Span::raw(format!("{:<14}", self.name.into_str()));
        list::columns(name, self.described(), theme.dim(), width)
    }

    fn keys(_: Option<&Self>) -> String {
        "Enter to keep · Esc to cancel".to_owned()
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let name = chosen?.name;
        (key.code == KeyCode::Enter).then_some(PopupAction::Theme { name, keep: true }.closing())
    }
}

#[derive(Clone, Debug)]
pub struct ThemePicker {
    pub list: PickList<ThemeRow>,
    before: ThemeName,
}

impl ThemePicker {
    pub fn new(look: Look) -> Self {
        let mut list =
            PickList::new(ThemeName::ALL.iter().map(|name| ThemeRow { name: *name, before: look }).collect());
        list.choose(|row| row.name == look.name);
        Self { list, before: look.name }
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        let shown = |name| PopupAction::Theme { name, keep: false };
        let before = self.list.clone();
        let action = self.list.key(key);
        // A letter that no theme has isn't taken.
        if self.list.chosen().is_none() {
            self.list = before;
        }
        match (action, self.list.chosen()) {
            (PopupAction::Close, _) => shown(self.before).closing(),
            (PopupAction::Nothing, Some(row)) => shown(row.name),
            (action, _) => action,
        }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = self.list.lines(width, room, theme);
        lines.push(Line::default());
        lines.extend(markdown::render(SAMPLE, width, theme));
        lines.extend(diff::render(SAMPLE_DIFF, width, usize::MAX, theme));
        lines.truncate(room);
        lines
    }
}

impl ThemeRow {
    fn described(&self) -> &'static str {
        match (self.name, self.before.depth) {
            (_, Depth::None) => "no colors: NO_COLOR is set",
            (ThemeName::Auto, _) => match self.before.background {
                Some(Background::Dark) => "matches the terminal: dark",
                Some(Background::Light) => "matches the terminal: light",
                None => "terminal background unknown; plain text, colored diffs",
            },
            (ThemeName::Dark, _) => "for dark backgrounds",
            (ThemeName::Light, _) => "for light backgrounds",
            (ThemeName::HighContrast, _) => "contrast of at least 7:1",
            (ThemeName::Ansi, _) => "the terminal's own 16 colors",
        }
    }
}
