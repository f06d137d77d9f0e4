//! `/rewind`: a list of points, then a preview and the scope. Files change only after the preview; without any, the chosen
//! message comes back to be edited at once.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use super::list::{self, PickList, PickRow, PopupAction};
use crate::tui::popup::pickers::sessions::age;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::protocol::op::{Op, Undo};
use base::protocol::rewind::{PointId, RewindPoint, RewindPreview, RewindRow, RewindScope};
use base::{clock, text};

#[derive(Clone, Debug)]
pub struct RewindPicker {
    pub list: PickList<RewindPoint>,
    page: Option<Page>,
}

#[derive(Clone, Debug, PartialEq)]
struct Page {
    preview: RewindPreview,
    part: RewindScope,
    force: bool,
    top: usize,
}

const PARTS: [RewindScope; 3] = [RewindScope::Both, RewindScope::Files, RewindScope::Conversation];

impl PickRow for RewindPoint {
    const TITLE: &'static str = "Rewind to before…";

    fn searched(&self) -> String {
        self.title.clone()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let when = if self.ms == 0 { String::new() } else { age(clock::now_ms(), self.ms) };
        let changed = match self.files {
            0 => "no files".to_owned(),
            count => format!("{} +{} -{}", text::plural(count, "file"), self.plus, self.minus),
        };
        let facts = Span::styled(format!("{when:<8} {changed:<20} "), theme.dim());
        list::columns(facts, &wrap::one_line(&self.title, 300), theme.plain(), width)
    }

    fn keys(_: Option<&Self>) -> String {
        "Enter to preview · Esc to close".to_owned()
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let point = chosen?.id;
        (key.code == KeyCode::Enter).then_some(PopupAction::Send(Op::Undo(Undo::PreviewRewind { point })))
    }
}

impl RewindPicker {
    pub fn new(points: Vec<RewindPoint>) -> Self {
        let mut list = PickList::new(points);
        list.choose(|point: &RewindPoint| matches!(point.id, PointId::Turn(_)));
        Self { list, page: None }
    }

    pub fn show(&mut self, preview: RewindPreview) {
        let part = match (preview.point.conversation, preview.rows.is_empty()) {
            (true, true) => RewindScope::Conversation,
            (true, false) => RewindScope::Both,
            (false, _) => RewindScope::Files,
        };
        self.page = Some(Page { preview, part, force: false, top: 0 });
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        match &mut self.page {
            None => return self.list.key(key),
            Some(_) if key.code == KeyCode::Esc => self.page = None,
            Some(_) if list::closes(key) => return PopupAction::Close,
            Some(page) => return page.key(key),
        }
        PopupAction::Nothing
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        match &self.page {
            Some(page) => page.lines(width, room, theme),
            None => self.list.lines(width, room, theme),
        }
    }
}

impl Page {
    fn key(&mut self, key: KeyEvent) -> PopupAction {
        match key.code {
            KeyCode::Left | KeyCode::BackTab => self.turn(2),
            KeyCode::Right | KeyCode::Tab => self.turn(1),
            KeyCode::Up => self.top = self.top.saturating_sub(1),
            KeyCode::Down => self.top = (self.top + 1).min(self.preview.rows.len().saturating_sub(1)),
            KeyCode::Char('o') if self.conflicts() > 0 => self.force = !self.force,
            KeyCode::Enter => {
                let (point, part, force) = (self.preview.point.id, self.part, self.force);
                return PopupAction::Send(Op::Undo(Undo::Rewind { point, part, force })).closing();
            }
            _ => {}
        }
        PopupAction::Nothing
    }

    fn turn(&mut self, steps: usize) {
        if !self.preview.point.conversation {
            return;
        }
        let at = PARTS.iter().position(|part| *part == self.part).unwrap_or(0);
        self.part = PARTS[(at + steps) % PARTS.len()];
    }

    fn conflicts(&self) -> usize {
        self.preview.rows.iter().filter(|row| row.conflict.is_some() && row.impossible.is_none()).count()
    }

    fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let clip = |text: String| wrap::clip(&text, width);
        let heading = wrap::one_line(&self.preview.point.heading("Before"), 300);
        let mut lines = vec![Line::styled(clip(heading), theme.strong())];
        let mut choice = Vec::new();
        for part in PARTS {
            if part.conversation() && !self.preview.point.conversation {
                continue;
            }
            let chosen = part == self.part;
            let style = if chosen { theme.user() } else { theme.dim() };
            // All three choices need this width; the chosen one must never be off screen.
            let name = if part == RewindScope::Both && width < 48 { "both" } else { part.into_str() };
            choice.push(Span::styled(format!("{} {name}  ", if chosen { "▸" } else { " " }), style));
        }
        if theme.is_plain() {
            lines.push(Line::raw(format!("Type 1 to rewind: {}", self.part.into_str())));
        } else {
            lines.push(Line::from(choice));
            lines.extend(list::hint("←→ scope · Enter to rewind · Esc to go back", width, theme));
        }
        if self.part.conversation() && self.preview.items > 0 {
            let said = text::plural(self.preview.items, "message");
            lines.push(Line::styled(clip(format!("Removes {said} from the conversation")), theme.plain()));
        }
        if !self.part.files() {
            return lines;
        }
        if self.conflicts() > 0 {
            let (what, key) = if self.force { ("overwritten", "skip") } else { ("skipped", "overwrite") };
            let files = text::plural(self.conflicts(), "file");
            let text = format!("{files} changed outside mycode: {what} · o to {key}");
            lines.push(Line::styled(clip(text), theme.warning()));
        }
        for path in self.preview.outside.iter().take(2) {
            let text = format!("not restored: {} (outside the workspace)", wrap::one_line(path, 300));
            lines.push(Line::styled(clip(text), theme.dim()));
        }
        if self.preview.rows.is_empty() {
            lines.push(Line::styled("No files change", theme.dim()));
        }
        let left = room.saturating_sub(lines.len()).max(1);
        let rows = &self.preview.rows[self.top.min(self.preview.rows.len())..];
        lines.extend(rows.iter().take(left).map(|row| self.row(row, width, theme)));
        if rows.len() > left {
            lines.pop();
            let hidden = rows.len() - (left - 1);
            lines.push(Line::styled(format!("  … {}", text::plural(hidden, "more file")), theme.dim()));
        }
        lines
    }

    fn row(&self, row: &RewindRow, width: usize, theme: Theme) -> Line<'static> {
        let stays = row.impossible.as_ref().or(row.conflict.as_ref().filter(|_| !self.force));
        let path = wrap::one_line(&row.path, 300);
        let (word, style) = match stays {
            Some(_) => ("skip", theme.warning()),
            None => (row.action.into_str(), theme.plain()),
        };
        let tail = match stays {
            Some(why) => format!("  {why}"),
            None => {
                let differs = row.differs.as_deref().map(|what| format!(" ({})", wrap::one_line(what, 300)));
                format!("  +{} -{}{}", row.plus, row.minus, differs.unwrap_or_default())
            }
        };
        wrap::line(&format!("  {word:<9}{path}{tail}"), width, style)
    }
}
