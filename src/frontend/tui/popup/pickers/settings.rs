//! The model list (`/model`): known models at once, then the server's. A name that isn't listed can be typed.
//! How long the model may think (`/effort`). What may run without asking (`/permissions`): the level, and rules beyond
//! it, which can be revoked.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::{Background, Depth, Look, Theme};
use crate::tui::render::{markdown, wrap};
use crate::tui::terminal::key_table::ListMove;
use crate::tui::transcript::diff;
use base::config::settings::Permission;
use base::config::theme::ThemeName;
use base::protocol::lists::{ModelRow, RuleRow};
use base::protocol::op::{Idle, Op, Quick};
use base::{sanitize, text};

const IN_USE: &str = "in use";

impl PickRow for ModelRow {
    const TITLE: &'static str = "Models";

    fn searched(&self) -> String {
        self.name.clone()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let window = self.window_tokens.map_or_else(|| "?".to_owned(), text::human_tokens);
        let price = match self.price {
            Some((read, written)) => format!("${read} in, ${written} out"),
            None => "price unknown".to_owned(),
        };
        let facts = format!("  {window:>7}  {price}  {}", self.source);
        let name_room = (width * 2 / 5).max(width.saturating_sub(wrap::width(&facts)).min(28)).min(width);
        let name = wrap::clip(&wrap::one_line(&self.name, 200), name_room);
        let pad = " ".repeat(name_room.saturating_sub(wrap::width(&name)));
        let facts = wrap::clip(&facts, width - name_room);
        vec![Span::raw(format!("{name}{pad}")), Span::styled(facts, theme.dim())]
    }

    fn keys(chosen: Option<&Self>) -> String {
        let enter = if chosen.is_none() { "Enter to use the typed name" } else { "Enter to use" };
        format!("{enter} · Esc to close")
    }

    fn act(chosen: Option<&Self>, search: &str, key: KeyEvent) -> Option<PopupAction> {
        let wanted = chosen.filter(|row| row.source != IN_USE).map(|row| row.name.as_str());
        let typed = Some(search).filter(|search| chosen.is_none() && !search.is_empty());
        let op = wanted.or(typed).map(|model| Op::Idle(Idle::SetModel { model: model.to_owned() }));
        (key.code == KeyCode::Enter)
            .then(|| op.map_or(PopupAction::Close, |op| PopupAction::Send(op).closing()))
    }
}

/// Adds the model in use if it isn't listed.
pub fn model_rows(current: &str, mut rows: Vec<ModelRow>) -> Vec<ModelRow> {
    match rows.iter_mut().find(|row| row.name == current) {
        Some(row) => row.source = IN_USE,
        None => {
            let row = ModelRow { name: current.to_owned(), source: IN_USE, ..ModelRow::default() };
            rows.insert(0, row);
        }
    }
    rows
}

#[derive(Clone, Debug, PartialEq)]
pub struct EffortRow {
    pub name: &'static str,
    pub default: bool,
    pub now: bool,
}

impl PickRow for EffortRow {
    const TITLE: &'static str = "Effort";

    fn searched(&self) -> String {
        self.name.to_owned()
    }

    fn spans(&self, _: usize, theme: Theme) -> Vec<Span<'static>> {
        let about = match (self.now, self.default) {
            (true, _) => "in use",
            (false, true) => "the model's default",
            _ => "",
        };
        vec![Span::raw(format!("{:<9}", self.name)), Span::styled(about, theme.dim())]
    }

    fn keys(_: Option<&Self>) -> String {
        "Enter to use · Esc to close · Alt-, and Alt-. lower and raise it".to_owned()
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let level = chosen.filter(|_| key.code == KeyCode::Enter)?.name.to_owned();
        Some(PopupAction::Send(Op::Idle(Idle::SetEffort { level })).closing())
    }
}

const LEVELS: [(Permission, &str); 5] = [
    (Permission::ReadOnly, "reads files; changes nothing"),
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
            Self::Rule(rule) if list::does(key, ListMove::Remove) => {
                Op::Quick(Quick::RemoveRule { rule: rule.clone() })
            }
            _ => return None,
        }))
    }
}

pub fn refresh_permissions(list: &mut PickList<PermissionRow>, now: Permission, rules: Option<Vec<RuleRow>>) {
    let levels = LEVELS.iter().map(|&(level, _)| PermissionRow::Level { level, current: level == now });
    let listed = list.rows.iter().filter(|row| matches!(row, PermissionRow::Rule(_))).cloned();
    let rules = rules.map(|rules| rules.into_iter().map(PermissionRow::Rule).collect());
    list.fill(levels.chain(rules.unwrap_or_else(|| listed.collect::<Vec<_>>())).collect());
}

pub fn permission_list(now: Permission, full: bool) -> PickList<PermissionRow> {
    let wanted = if full { Permission::Full } else { now };
    let mut list = PickList::new(Vec::new());
    refresh_permissions(&mut list, now, None);
    list.choose(|row| matches!(row, PermissionRow::Level { level, .. } if *level == wanted));
    list
}

// `/theme`: the themes, with a live preview.

const SAMPLE: &str = "```rust\n// A sample\nfn area(size: Size) -> u32 { size.width * 2 }\n```";
const SAMPLE_DIFF: &str =
    "+++ b/a.rs\n@@ -7,2 +7,2 @@\n fn area() {\n-    let width = 2;\n+    let width = 40;\n";

/// `before` is the look before any theme was tried.
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
