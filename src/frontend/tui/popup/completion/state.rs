//! The completion that is open below the composer, and the list of files for it.

use std::sync::Arc;

use ratatui::text::Line;

use super::commands::CommandsPopup;
use super::files::FilesPopup;
use super::shell_words::ShellWords;
use crate::tui::popup::list::Selection;
use crate::tui::render::theme::Theme;

/// An open completion.
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

/// The paths for the `@` popup: asked for each time it opens, and shown as they were until the new list has come.
#[derive(Clone, Debug, Default)]
pub struct Files {
    pub requested: bool,
    /// A whole list has come.
    pub whole: bool,
    pub paths: Option<Arc<[String]>>,
}
