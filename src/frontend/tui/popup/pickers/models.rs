//! The model list (`/model`): known models at once, then the server's. A name that isn't listed can be typed.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::protocol::lists::ModelRow;
use base::protocol::op::Op;
use base::sanitize;
use base::text;

#[derive(Clone, Debug)]
pub struct ModelPicker {
    list: PickList<ModelRow>,
    current: String,
}

impl PickRow for ModelRow {
    fn searched(&self) -> String {
        self.name.clone()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let window = self.window_tokens.map_or_else(|| "?".to_owned(), text::human_tokens);
        let price = match self.price {
            Some((read, written)) => format!("${read} in, ${written} out"),
            None => "price unknown".to_owned(),
        };
        let facts = format!("  {window:>7}  {price}  {}", self.source);
        // The name is cut last.
        let name_room = (width * 2 / 5).max(width.saturating_sub(wrap::width(&facts)).min(28)).min(width);
        let name = wrap::clip(&text::one_line(&sanitize::clean(&self.name), 200), name_room);
        let pad = " ".repeat(name_room.saturating_sub(wrap::width(&name)));
        let facts = wrap::clip(&facts, width - name_room);
        vec![Span::raw(format!("{name}{pad}")), Span::styled(facts, theme.dim())]
    }
}

impl ModelPicker {
    pub fn new(current: &str) -> Self {
        let row = ModelRow { name: current.to_owned(), source: "in use", ..ModelRow::default() };
        Self { list: PickList::new(vec![row]), current: current.to_owned() }
    }

    /// Marks the model in use, and adds it if it isn't listed.
    pub fn fill(&mut self, mut rows: Vec<ModelRow>) {
        match rows.iter_mut().find(|row| row.name == self.current) {
            Some(row) => row.source = "in use",
            None => rows
                .insert(0, ModelRow { name: self.current.clone(), source: "in use", ..ModelRow::default() }),
        }
        self.list.fill(rows);
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if list::closes(key) {
            return PopupAction::Close;
        }
        if key.code == KeyCode::Enter {
            let typed = Some(self.list.search().trim().to_owned()).filter(|typed| !typed.is_empty());
            let model = self.list.chosen().map(|row| row.name.clone()).or(typed);
            return match model {
                Some(model) if model != self.current => PopupAction::CloseAndSend(Op::SetModel { model }),
                _ => PopupAction::Close,
            };
        }
        self.list.key(key);
        PopupAction::Nothing
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let keys = if self.list.chosen().is_none() {
            "Enter uses the typed name · Esc close"
        } else {
            "Enter use · Esc close"
        };
        self.list.lines("Models", keys, width, room, theme)
    }
}
