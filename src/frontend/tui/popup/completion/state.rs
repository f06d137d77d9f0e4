//! The open completion: what may replace the text before the cursor; and the paths for files.

use std::sync::Arc;

use ratatui::text::{Line, Span};

use super::files::{self, FileRanking, Token};
use crate::tui::popup::list::Selection;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::sanitize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub shown: String,
    pub help: Option<String>,
    /// Replaces the text from [`Completion::at`].
    pub insertion: String,
}

impl Candidate {
    pub fn new(shown: &str, insertion: String) -> Self {
        Self { shown: shown.to_owned(), help: None, insertion }
    }
}

#[derive(Clone, Debug)]
pub enum CompletionKind {
    Files(FileRanking),
    Commands,
    Shell,
}

#[derive(Clone, Debug)]
pub struct Completion {
    pub kind: CompletionKind,
    pub at: usize,
    offers: Vec<Candidate>,
    pub selection: Selection,
}

impl Completion {
    pub fn new(kind: CompletionKind, at: usize, offers: Vec<Candidate>) -> Self {
        Self { kind, at, selection: Selection::new(offers.len()), offers }
    }

    pub fn of_files(ranking: FileRanking) -> Self {
        let mut completion = Self::new(CompletionKind::Files(ranking), 0, Vec::new());
        completion.offer_files();
        completion
    }

    fn offer_files(&mut self) {
        if let CompletionKind::Files(ranking) = &self.kind {
            self.at = ranking.token.at;
            self.offers = ranking.found().map(|path| Candidate::new(path, files::insertion(path))).collect();
            self.selection = Selection::new(self.offers.len());
        }
    }

    pub fn refresh(&mut self, offers: Vec<Candidate>) {
        if offers != self.offers {
            (self.selection, self.offers) = (Selection::new(offers.len()), offers);
        }
    }

    pub fn set_token(&mut self, token: Token) {
        if let CompletionKind::Files(ranking) = &mut self.kind
            && ranking.set_token(token)
        {
            self.offer_files();
        }
    }

    /// The selection stays on its path.
    pub fn set_paths(&mut self, paths: &Arc<[String]>) {
        let chosen = self.chosen().cloned();
        if let CompletionKind::Files(ranking) = &mut self.kind
            && ranking.set_paths(paths)
        {
            self.offer_files();
            let at = self.offers.iter().position(|offer| Some(offer) == chosen.as_ref());
            self.selection.index = at.unwrap_or(0);
        }
    }

    pub fn chosen(&self) -> Option<&Candidate> {
        self.offers.get(self.selection.index)
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        if let CompletionKind::Files(ranking) = &self.kind
            && self.offers.is_empty()
        {
            return vec![Line::styled(ranking.nothing(), theme.dim())];
        }
        let end = self.selection.window(room).end;
        let unlisted = if let CompletionKind::Files(ranking) = &self.kind { ranking.more } else { 0 };
        let below = self.offers.len() - end + unlisted;
        self.selection.rows(room, theme, |row, style| {
            let offer = &self.offers[row];
            let shown = sanitize::clean(&offer.shown).replace('\n', " ");
            let more =
                if below > 0 && row + 1 == end { format!(" · {below} more ↓") } else { String::new() };
            let Some(help) = &offer.help else {
                let shown = wrap::clip(&shown, width.saturating_sub(4 + wrap::width(&more)));
                return vec![Span::styled(shown, style), Span::styled(more, theme.dim())];
            };
            let usage = wrap::clip(&shown, width / 2);
            let room = width.saturating_sub(wrap::width(&usage).max(20) + 4 + wrap::width(&more));
            let help = format!(" {}{more}", wrap::clip(&sanitize::clean(help), room));
            vec![Span::styled(format!("{usage:<20}"), style), Span::styled(help, theme.dim())]
        })
    }
}

/// Requested each time the `@` popup opens; the old list is shown until the new one arrives.
#[derive(Clone, Debug, Default)]
pub struct Files {
    pub requested: bool,
    pub whole: bool,
    pub paths: Option<Arc<[String]>>,
}
