//! A screen without a loop: messages in, picture out.
#![allow(dead_code)]

use base::protocol::event::Event;
use base::protocol::op::Op;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use frontend::tui::app::App;
use frontend::tui::msg::{Cmd, Msg};
use frontend::tui::render::theme::Theme;
use frontend::tui::render::view;
use frontend::tui::terminal::screen::Screen;
use frontend::tui::transcript::entry::TranscriptKind;
use frontend::tui::update::on_message::update;
use ratatui::layout::Size;
use ratatui::text::Line;

use super::emulator::Emulator;

/// The chat's state and its screen.
pub struct Stage {
    pub app: App,
    pub screen: Screen<Emulator>,
    last: Option<TranscriptKind>,
    lines: Vec<Line<'static>>,
    ops: Vec<Op>,
}

pub fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

impl Stage {
    pub fn new(columns: u16, rows: u16) -> Self {
        let screen = Screen::new(Emulator::new(columns, rows), Size::new(columns, rows), true);
        let app = App::new(Theme::new(true), (columns, rows));
        Self { app, screen, last: None, lines: Vec::new(), ops: Vec::new() }
    }

    pub fn take_in(&mut self, msg: Msg) {
        for cmd in update(&mut self.app, msg) {
            match cmd {
                Cmd::Print(entry) => {
                    let width = usize::from(self.app.size.0);
                    self.lines.extend(entry.lines(self.last, width, self.app.theme));
                    self.last = Some(entry.kind());
                }
                Cmd::Send(op) => self.ops.push(op),
                _ => {}
            }
        }
    }

    pub fn event(&mut self, event: Event) {
        self.take_in(Msg::Event(Box::new(event)));
    }

    pub fn take_key(&mut self, key: KeyEvent) {
        self.take_in(Msg::Key(key));
    }

    pub fn press(&mut self, code: KeyCode) {
        self.take_key(key(code));
    }

    pub fn type_text(&mut self, text: &str) {
        text.chars().for_each(|c| self.press(KeyCode::Char(c)));
    }

    /// Types a slash command.
    pub fn command(&mut self, text: &str) {
        self.type_text(text);
        self.press(KeyCode::Enter);
    }

    /// What a key asks of the agent.
    pub fn ops(&mut self, key: KeyEvent) -> Vec<Op> {
        self.ops.clear();
        self.take_key(key);
        std::mem::take(&mut self.ops)
    }

    /// What was asked of the agent since the last look.
    pub fn sent(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    /// The visible rows, with `▏` where the cursor stands.
    pub fn shown(&mut self) -> String {
        let picture = view::picture(&self.app, usize::from(self.app.size.0), usize::from(self.screen.room()));
        self.screen.show(std::mem::take(&mut self.lines), &picture).unwrap();
        self.screen.output().shown()
    }
}
