//! The popup that replaces the composer and takes the keys; one at a time.

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use super::context::ContextPopup;
use super::list::{PickList, PopupAction};
use super::pickers::keys::KeyPicker;
use super::pickers::pages::{JobPicker, NotePicker};
use super::pickers::sessions::SessionPicker;
use super::pickers::settings::{EffortRow, PermissionRow};
use super::rewind::RewindPicker;
use super::theme::ThemePicker;
use crate::tui::pager::state::Pager;
use crate::tui::render::theme::Theme;
use base::model::observation::Todo;
use base::protocol::lists::ModelRow;

const REWIND_ROWS: usize = 16;

#[derive(Clone, Debug)]
pub enum Popup {
    Sessions(SessionPicker),
    Context(ContextPopup),
    Rewind(RewindPicker),
    Models(PickList<ModelRow>),
    Effort(PickList<EffortRow>),
    Permissions(PickList<PermissionRow>),
    Todos(PickList<Todo>),
    Jobs(JobPicker),
    Keys(KeyPicker),
    Notes(NotePicker),
    Theme(ThemePicker),
    Pager(Box<Pager>),
}

impl Popup {
    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        match self {
            Self::Sessions(popup) => popup.key(key),
            Self::Context(popup) => popup.key(key),
            Self::Rewind(popup) => popup.key(key),
            Self::Models(popup) => popup.key(key),
            Self::Effort(popup) => popup.key(key),
            Self::Permissions(popup) => popup.key(key),
            Self::Todos(popup) => popup.key(key),
            Self::Jobs(popup) => popup.key(key),
            Self::Keys(popup) => popup.key(key),
            Self::Notes(popup) => popup.key(key),
            Self::Theme(popup) => popup.key(key),
            Self::Pager(popup) => popup.key(key),
        }
    }

    /// Whether a text field of the popup took a paste; several lines are meant for the composer.
    pub fn paste(&mut self, text: &str) -> bool {
        if text.trim_end().contains('\n') && !matches!(self, Self::Keys(_)) {
            return false;
        }
        match self {
            Self::Sessions(popup) => popup.paste(text),
            Self::Models(list) => list.paste(text),
            Self::Permissions(list) => list.paste(text),
            Self::Todos(list) => list.paste(text),
            Self::Jobs(popup) if popup.output.is_none() => popup.list.paste(text),
            Self::Keys(popup) => popup.paste(text),
            Self::Notes(popup) => popup.list.paste(text),
            Self::Pager(pager) => pager.paste(text),
            _ => false,
        }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = match self {
            Self::Sessions(popup) => popup.lines(width, room, theme),
            Self::Context(popup) => popup.lines(width, room, theme),
            Self::Rewind(popup) => popup.lines(width, room.min(REWIND_ROWS), theme),
            Self::Models(popup) => popup.lines(width, room, theme),
            Self::Effort(popup) => popup.lines(width, room, theme),
            Self::Permissions(popup) => popup.lines(width, room, theme),
            Self::Todos(popup) => popup.lines(width, room, theme),
            Self::Jobs(popup) => popup.lines(width, room, theme),
            Self::Keys(popup) => popup.lines(width, room, theme),
            Self::Notes(popup) => popup.lines(width, room, theme),
            Self::Theme(popup) => popup.lines(width, room, theme),
            Self::Pager(popup) => popup.lines(width, room, theme),
        };
        lines.truncate(room);
        lines
    }
}
