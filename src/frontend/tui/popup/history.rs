//! Search through earlier prompts of all projects (Ctrl-R), newest first: those that contain all words. Ranks a given list;
//! doesn't read the disk.

use std::sync::Arc;

use ratatui::text::{Line, Span};

use super::list::Selection;
use crate::tui::composer::buffer::Buffer;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::EditCommand;
use base::protocol::event::PastPrompt;
use base::search::fold::{SearchWords, fold};

#[derive(Clone, Debug, Default)]
pub struct HistorySearch {
    query: Buffer,
    prompts: Option<Arc<[PastPrompt]>>,
    folded: Vec<String>,
    found: Vec<usize>,
    pub selection: Selection,
}

impl HistorySearch {
    pub fn fill(&mut self, prompts: Arc<[PastPrompt]>) {
        self.folded = prompts.iter().map(|prompt| fold(&prompt.text)).collect();
        self.prompts = Some(prompts);
        self.find();
    }

    pub fn edit(&mut self, edit: EditCommand) {
        if edit != EditCommand::Newline {
            self.query.edit(edit);
            self.find();
        }
    }

    pub fn paste(&mut self, text: &str) {
        self.query.paste_line(text);
        self.find();
    }

    pub fn chosen(&self) -> Option<&str> {
        let index = *self.found.get(self.selection.index)?;
        self.prompts.as_ref()?.get(index).map(|prompt| prompt.text.as_str())
    }

    fn find(&mut self) {
        let query = fold(self.query.text().trim());
        let words = SearchWords::new(&query);
        self.found = (0..self.folded.len()).filter(|at| words.are_in(&self.folded[*at])).collect();
        // Exact phrases before scattered words; the sort is stable, so newest first.
        self.found.sort_by_key(|at| !self.folded[*at].contains(&query));
        self.selection = Selection::new(self.found.len());
    }

    pub fn lines(&self, width: usize, room: usize, here: &str, theme: Theme) -> (Vec<Line<'static>>, usize) {
        let head = "history › ";
        let query = self.query.text();
        let typed = Span::raw(wrap::clip(query, width.saturating_sub(11)));
        let mut lines = vec![Line::from(vec![Span::styled(head, theme.user()), typed])];
        let caret = wrap::width(head) + wrap::width(&query[..self.query.cursor()]);
        let rows = self.found.len();
        let Some(prompts) = &self.prompts else {
            lines.push(Line::styled("  Reading…", theme.dim()));
            return (lines, caret);
        };
        lines.extend(self.selection.rows(room.saturating_sub(2), theme, |row, style| {
            let Some(prompt) = prompts.get(self.found[row]) else { return Vec::new() };
            let folder = prompt.folder.rsplit('/').next().filter(|_| prompt.folder != here);
            let place = wrap::one_line(folder.unwrap_or_default(), 30);
            let cut = &prompt.text[..prompt.text.floor_char_boundary(1_000)];
            let shown = wrap::one_line(cut, width.saturating_sub(3 + wrap::width(&place)));
            let gap = if place.is_empty() { "" } else { "  " };
            vec![Span::styled(shown, style), Span::styled(format!("{gap}{place}"), theme.dim())]
        }));
        let help = match rows {
            0 => "  No such prompt · Esc to close".to_owned(),
            _ => format!("  {} of {rows} · Enter to use · Esc to close", self.selection.index + 1),
        };
        lines.push(wrap::line(&help, width, theme.dim()));
        (lines, caret.min(width.saturating_sub(1)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn phrases_before_scattered_words() {
        let texts = ["fix the parser test", "test the fix", "write docs", "fix test of lexer"];
        let prompt = |text: &str| PastPrompt { at_ms: 0, folder: "/p".to_owned(), text: text.to_owned() };
        let mut search = HistorySearch::default();
        search.fill(texts.map(prompt).into());
        assert_eq!(search.chosen(), Some("fix the parser test"));
        search.paste("Fix Test");
        assert_eq!(search.chosen(), Some("fix test of lexer"), "the words as they stand there");
        assert_eq!(search.found.len(), 3);
    }
}
