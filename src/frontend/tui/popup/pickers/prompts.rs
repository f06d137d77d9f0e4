//! Earlier prompts of all projects (Ctrl-R), newest first.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Span;

use crate::tui::popup::list::{self, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::Action;
use crate::tui::terminal::keymap;
use base::protocol::event::PastPrompt;

impl PickRow for PastPrompt {
    const TITLE: &'static str = "Earlier prompts";

    fn searched(&self) -> String {
        self.text.clone()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let place = wrap::one_line(self.folder.rsplit('/').next().unwrap_or_default(), 30);
        let cut = &self.text[..self.text.floor_char_boundary(1_000)];
        let shown = wrap::one_line(cut, width.saturating_sub(3 + wrap::width(&place)));
        list::columns(Span::raw(format!("{shown}  ")), &place, theme.dim(), width)
    }

    fn keys(_: Option<&Self>) -> String {
        format!("Enter to use · {} for the next · Esc to close", keymap::name(Action::HistorySearch))
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let text = chosen?.text.clone();
        matches!(key.code, KeyCode::Enter | KeyCode::Tab).then(|| PopupAction::Replace(text).closing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::popup::list::PickList;

    #[test]
    fn phrases_before_scattered_words() {
        let texts = ["fix the parser test", "test the fix", "write docs", "fix test of lexer"];
        let prompt = |text: &str| PastPrompt { at_ms: 0, folder: "/p".to_owned(), text: text.to_owned() };
        let mut list = PickList::default();
        list.fill(texts.map(prompt).into());
        let chosen = |list: &PickList<PastPrompt>| list.chosen().map(|prompt| prompt.text.clone());
        assert_eq!(chosen(&list).as_deref(), Some("fix the parser test"));
        list.paste("Fix Test");
        assert_eq!(chosen(&list).as_deref(), Some("fix test of lexer"), "the words as they stand there");
        let theme = Theme::new(false);
        assert_eq!(list.lines(40, 9, theme).len(), 5, "title, keys, and the three that have both words");
    }
}
