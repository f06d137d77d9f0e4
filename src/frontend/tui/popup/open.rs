//! The popup that replaces the composer and takes the keys; one at a time.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Line;

use super::context::ContextPopup;
use super::list::{PickList, PopupAction};
use super::pickers::keys::KeyPicker;
use super::pickers::pages::{JobPicker, NotePicker};
use super::pickers::sessions::SessionPicker;
use super::pickers::settings::{EffortRow, PermissionRow};
use super::rewind::RewindPicker;
use crate::tui::pager::state::Pager;
use crate::tui::popup::pickers::settings::ThemePicker;
use crate::tui::render::theme::Theme;
use crate::tui::terminal::key_table::{Action, KeyPlace};
use crate::tui::terminal::keymap;
use base::model::observation::Todo;
use base::protocol::event::PastPrompt;
use base::protocol::lists::ModelRow;

const FEW_ROWS: usize = 16;

#[derive(Clone, Debug)]
pub enum Popup {
    Sessions(SessionPicker),
    Context(ContextPopup),
    Rewind(RewindPicker),
    Models(PickList<ModelRow>),
    Effort(PickList<EffortRow>),
    Permissions(PickList<PermissionRow>),
    Todos(PickList<Todo>),
    Prompts(PickList<PastPrompt>),
    Jobs(JobPicker),
    Keys(KeyPicker),
    Notes(NotePicker),
    Theme(ThemePicker),
    Pager(Box<Pager>),
}

macro_rules! each {
    ($self:ident, $popup:ident => $what:expr) => {
        match $self {
            Self::Sessions($popup) => $what,
            Self::Context($popup) => $what,
            Self::Rewind($popup) => $what,
            Self::Models($popup) => $what,
            Self::Effort($popup) => $what,
            Self::Permissions($popup) => $what,
            Self::Todos($popup) => $what,
            Self::Prompts($popup) => $what,
            Self::Jobs($popup) => $what,
            Self::Keys($popup) => $what,
            Self::Notes($popup) => $what,
            Self::Theme($popup) => $what,
            Self::Pager($popup) => $what,
        }
    };
}

impl Popup {
    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        // As in a shell, Ctrl-R again selects the next older prompt.
        let again = keymap::action(KeyPlace::Composer, key) == Some(Action::HistorySearch);
        let key = match self {
            Self::Prompts(_) if again => KeyEvent::from(KeyCode::Down),
            _ => key,
        };
        each!(self, popup => popup.key(key))
    }

    /// Returns whether a text field took the paste; several lines are meant for the composer.
    pub fn paste(&mut self, text: &str) -> bool {
        if text.trim_end().contains('\n') && !matches!(self, Self::Keys(_)) {
            return false;
        }
        match self {
            Self::Sessions(popup) => popup.paste(text),
            Self::Models(list) => list.paste(text),
            Self::Permissions(list) => list.paste(text),
            Self::Todos(list) => list.paste(text),
            Self::Prompts(list) => list.paste(text),
            Self::Jobs(popup) if popup.output.is_none() => popup.list.paste(text),
            Self::Keys(popup) => popup.paste(text),
            Self::Notes(popup) => popup.list.paste(text),
            Self::Theme(popup) => popup.list.paste(text),
            Self::Rewind(popup) => popup.list.paste(text),
            Self::Pager(pager) => pager.paste(text),
            _ => false,
        }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let rows = if matches!(self, Self::Rewind(_) | Self::Prompts(_)) { room.min(FEW_ROWS) } else { room };
        let mut lines = each!(self, popup => popup.lines(width, rows, theme));
        lines.truncate(room);
        lines
    }
}
