//! An open question of the agent. It takes keys only when armed, so that a user who was typing when it
//! appeared doesn't answer by accident. A letter only answers if no other follows within a moment; otherwise
//! it starts a word for the composer.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Line;

use super::approval::{Approval, Reply};
use super::ask::Ask;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap::LinesWithCaret;
use crate::tui::terminal::keymap;
use base::protocol::approval::{Question, QuestionId};

/// How long a letter must stay alone to be an answer.
const ALONE: Duration = Duration::from_millis(250);

#[derive(Debug, PartialEq)]
pub enum Taken {
    Reply(Reply),
    Typed(String),
    Nothing,
}

#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub id: QuestionId,
    pub armed: bool,
    form: QuestionForm,
    /// A letter that may be an answer, and when it was typed.
    waiting: Option<(KeyEvent, Duration)>,
}

#[derive(Clone, Debug)]
enum QuestionForm {
    Approval(Box<Approval>),
    Ask(Ask),
}

impl OpenQuestion {
    pub fn new(id: QuestionId, question: Question, armed: bool) -> Self {
        let form = match question {
            Question::Approval(request) => QuestionForm::Approval(Box::new(Approval::of_call(request))),
            Question::Plan(plan) => QuestionForm::Approval(Box::new(Approval::of_plan(plan))),
            Question::Ask { questions } => QuestionForm::Ask(Ask::new(questions)),
        };
        Self { id, armed, form, waiting: None }
    }

    pub fn key(&mut self, key: KeyEvent, now: Duration, size: (u16, u16)) -> Taken {
        let waiting = self.waiting.take();
        // Letters may be commands rather than text.
        let commands = self.approval().filter(|form| !form.writes());
        let letter = keymap::plain_char(key).filter(|_| commands.is_some());
        let is_command =
            |letter: char| commands.is_some_and(|form| form.takes_letter(letter.to_ascii_lowercase()));
        match (waiting, letter) {
            (Some((first, _)), Some(second)) => {
                Taken::Typed(keymap::plain_char(first).into_iter().chain([second]).collect())
            }
            (None, Some(letter)) if !is_command(letter) => Taken::Typed(letter.to_string()),
            (None, Some(_)) => {
                self.waiting = Some((key, now));
                Taken::Nothing
            }
            // Enter confirms the letter as an answer.
            (Some((first, _)), None) if key.code == KeyCode::Enter => self.pass(first, size),
            _ => self.pass(key, size),
        }
    }

    /// The numbered choices; none for free-text questions.
    pub fn choices(&self) -> Vec<String> {
        self.approval().map(Approval::choice_texts).unwrap_or_default()
    }

    fn approval(&self) -> Option<&Approval> {
        match &self.form {
            QuestionForm::Approval(form) => Some(form),
            QuestionForm::Ask(_) => None,
        }
    }

    /// Shows the full detail from its start.
    pub fn unfold(&mut self, size: (u16, u16)) {
        if let QuestionForm::Approval(form) = &mut self.form {
            form.key(KeyEvent::new(KeyCode::Home, crossterm::event::KeyModifiers::NONE), size);
        }
    }

    /// A letter may become an answer.
    pub fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// The answer of a letter that stayed alone.
    pub fn due(&mut self, now: Duration, size: (u16, u16)) -> Option<Reply> {
        let (key, _) = self.waiting.take_if(|(_, since)| now.saturating_sub(*since) >= ALONE)?;
        match self.pass(key, size) {
            Taken::Reply(reply) => Some(reply),
            _ => None,
        }
    }

    fn pass(&mut self, key: KeyEvent, size: (u16, u16)) -> Taken {
        let reply = match &mut self.form {
            QuestionForm::Approval(form) => form.key(key, size),
            QuestionForm::Ask(form) => form.key(key).map(Reply::Answer),
        };
        reply.map_or(Taken::Nothing, Taken::Reply)
    }

    pub fn paste(&mut self, text: &str) {
        match &mut self.form {
            QuestionForm::Approval(form) => form.paste(text),
            QuestionForm::Ask(form) => form.paste(text),
        }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> LinesWithCaret {
        let own_room = if self.armed { room } else { room.saturating_sub(1) };
        let (mut lines, caret) = match &self.form {
            QuestionForm::Approval(form) => form.lines(width, own_room, theme),
            QuestionForm::Ask(form) => form.lines(width, own_room, theme),
        };
        if !self.armed {
            lines.push(Line::styled("  Press Tab to answer, or keep typing below", theme.warning()));
        }
        (lines, caret.filter(|_| self.armed))
    }
}
