//! What may run without asking (`/permissions`): the level, and rules beyond it, which can be revoked.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Span;

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::ListMove;
use base::config::settings::Permission;
use base::protocol::lists::RuleRow;
use base::protocol::op::{Op, Quick};
use base::{sanitize, text};

pub const LEVELS: [(Permission, &str); 5] = [
    (Permission::ReadOnly, "only reads; nothing is changed"),
    (Permission::Ask, "asks before each change and command"),
    (Permission::AcceptEdits, "edits files in the workspace; asks before each command"),
    (Permission::Auto, "works in the workspace without asking, sandboxed; asks for anything else"),
    (Permission::Full, "runs everything without asking, not sandboxed"),
];

#[derive(Clone, Debug, PartialEq)]
pub enum PermissionRow {
    Level { level: Permission, current: bool },
    Rule(RuleRow),
}

impl PickRow for PermissionRow {
    const TITLE: &'static str = "Permissions";

    fn searched(&self) -> String {
        match self {
            Self::Level { level, .. } => level.into_str().to_owned(),
            Self::Rule(rule) => rule.text.clone(),
        }
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let (name, about) = match self {
            Self::Level { level, current } => {
                let about = LEVELS.iter().find(|(known, _)| known == level).map_or("", |(_, about)| about);
                let name = format!("{:<13}{}", level.into_str(), if *current { "● " } else { "  " });
                (name, about.to_owned())
            }
            Self::Rule(rule) => {
                let place = if rule.kept { "always here" } else { "session" };
                (format!("{place:<12}"), text::one_line(&sanitize::reveal(&rule.text), 300))
            }
        };
        list::columns(Span::raw(wrap::clip(&name, width)), &about, theme.dim(), width)
    }

    fn keys(chosen: Option<&Self>) -> String {
        match chosen {
            Some(Self::Rule(_)) => format!("{} to revoke · Esc to close", list::key_name(ListMove::Remove)),
            _ => "Enter to set the level · Esc to close".to_owned(),
        }
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        Some(PopupAction::Send(match chosen? {
            Self::Level { level, .. } if key.code == KeyCode::Enter => {
                return Some(PopupAction::SetPermission(*level).closing());
            }
            Self::Rule(rule) if list::removes(key) => Op::Quick(Quick::RemoveRule { rule: rule.clone() }),
            _ => return None,
        }))
    }
}

pub fn refresh(list: &mut PickList<PermissionRow>, now: Permission, rules: Option<Vec<RuleRow>>) {
    let levels = LEVELS.iter().map(|&(level, _)| PermissionRow::Level { level, current: level == now });
    let listed = list.rows.iter().filter(|row| matches!(row, PermissionRow::Rule(_))).cloned();
    let rules = rules.map(|rules| rules.into_iter().map(PermissionRow::Rule).collect());
    list.fill(levels.chain(rules.unwrap_or_else(|| listed.collect::<Vec<_>>())).collect());
}

pub fn open(now: Permission, full: bool) -> PickList<PermissionRow> {
    let wanted = if full { Permission::Full } else { now };
    let mut list = PickList::new(Vec::new());
    refresh(&mut list, now, None);
    list.choose(|row| matches!(row, PermissionRow::Level { level, .. } if *level == wanted));
    list
}
