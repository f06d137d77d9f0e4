//! The open completion, and its list of files.

use std::sync::Arc;

use ratatui::text::Line;

use super::commands::CommandsPopup;
use super::files::FilesPopup;
use super::shell_words::ShellWords;
use crate::tui::popup::list::Selection;
use crate::tui::render::theme::Theme;

#[derive(Clone, Debug)]
pub enum Completion {
    Files(FilesPopup),
    Commands(CommandsPopup),
    Shell(ShellWords),
}

impl Completion {
    pub fn selection(&mut self) -> &mut Selection {
        match self {
            Self::Files(popup) => &mut popup.selection,
            Self::Commands(popup) => &mut popup.selection,
            Self::Shell(popup) => &mut popup.selection,
        }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        match self {
            Self::Files(popup) => popup.lines(width, room, theme),
            Self::Commands(popup) => popup.lines(width, room, theme),
            Self::Shell(popup) => popup.lines(width, room, theme),
        }
    }
}

/// Paths for the `@` popup: requested each time it opens; the old list is shown until the new one arrives.
#[derive(Clone, Debug, Default)]
pub struct Files {
    pub requested: bool,
    /// A complete list has arrived.
    pub whole: bool,
    pub paths: Option<Arc<[String]>>,
}
