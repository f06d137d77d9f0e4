//! What may run without asking (`/permissions`): the level, and rules beyond it, which can be revoked.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::{Action, ListMove};
use crate::tui::terminal::keymap;
use base::config::settings::Permission;
use base::protocol::lists::RuleRow;
use base::protocol::op::Op;
use base::sanitize;
use base::text;

pub const LEVELS: [(Permission, &str); 4] = [
    (Permission::ReadOnly, "only reads; nothing is changed"),
    (Permission::Ask, "asks before each change and command"),
    (Permission::Auto, "works in the workspace on its own, sandboxed; asks beyond it"),
    (Permission::Full, "runs everything without asking, not sandboxed"),
];

#[derive(Clone, Debug, PartialEq)]
enum PermissionRow {
    Level { level: Permission, current: bool },
    Rule(RuleRow),
}

impl PickRow for PermissionRow {
    fn searched(&self) -> String {
        match self {
            Self::Level { level, .. } => level.as_str().to_owned(),
            Self::Rule(rule) => rule.text.clone(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.searched() == other.searched()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let (name, about) = match self {
            Self::Level { level, current } => {
                let about = LEVELS.iter().find(|(known, _)| known == level).map_or("", |(_, about)| about);
                let name = format!("{:<10}{}", level.as_str(), if *current { "● " } else { "  " });
                (name, about.to_owned())
            }
            Self::Rule(rule) => {
                let place = if rule.kept { "always here" } else { "session" };
                (format!("{place:<12}"), text::one_line(&sanitize::reveal(&rule.text), 300))
            }
        };
        let room = width.saturating_sub(wrap::width(&name));
        vec![Span::raw(wrap::clip(&name, width)), Span::styled(wrap::clip(&about, room), theme.dim())]
    }
}

#[derive(Clone, Debug)]
pub struct PermissionPicker {
    list: PickList<PermissionRow>,
    rules: Vec<RuleRow>,
    level: Permission,
}

impl PermissionPicker {
    pub fn new(level: Permission) -> Self {
        let mut picker = Self { list: PickList::new(Vec::new()), rules: Vec::new(), level };
        picker.set(level, Vec::new());
        picker.list.choose(|row| matches!(row, PermissionRow::Level { current: true, .. }));
        picker
    }

    pub fn set_level(&mut self, level: Permission) {
        self.set(level, self.rules.clone());
    }

    pub fn set_rules(&mut self, rules: Vec<RuleRow>) {
        self.set(self.level, rules);
    }

    fn set(&mut self, now: Permission, rules: Vec<RuleRow>) {
        let levels = LEVELS.iter().map(|&(level, _)| PermissionRow::Level { level, current: level == now });
        self.list.fill(levels.chain(rules.iter().cloned().map(PermissionRow::Rule)).collect());
        (self.level, self.rules) = (now, rules);
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if list::closes(key) {
            return PopupAction::Close;
        }
        match self.list.chosen() {
            Some(PermissionRow::Level { level, .. }) if key.code == KeyCode::Enter => {
                PopupAction::Send(Op::SetPermission { permission: *level })
            }
            Some(PermissionRow::Rule(rule)) if list::removes(key) => {
                PopupAction::Send(Op::RemoveRule { rule: rule.clone() })
            }
            _ => {
                self.list.key(key);
                PopupAction::Nothing
            }
        }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let keys = match self.list.chosen() {
            Some(PermissionRow::Rule(_)) => {
                format!("{} takes it back · Esc close", keymap::name(Action::List(ListMove::Remove)))
            }
            _ => "Enter sets the level · Esc close".to_owned(),
        };
        self.list.lines("Permissions", &keys, width, room, theme)
    }
}
