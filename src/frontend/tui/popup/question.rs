//! An open question of the agent. It takes keys only when armed, so that a user who was typing when it
//! appeared doesn't answer by accident. A letter marks its choice, and Enter takes it. Only a plain yes or no
//! needs no Enter, if no other letter follows within a moment; two letters start a word for the composer.

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
    /// The letter just typed, and when: an answer, or the start of a word.
    waiting: Option<(KeyEvent, Duration)>,
}

#[derive(Clone, Debug)]
enum QuestionForm {
    Approval(Box<Approval>),
    Ask(Ask),
}

impl OpenQuestion {
    /// `marked`: the first choice of an approval is marked, so that one Enter takes it.
    pub fn new(id: QuestionId, question: Question, armed: bool, marked: bool) -> Self {
        let approval = |mut form: Approval| {
            form.chosen = marked.then_some(0);
            QuestionForm::Approval(Box::new(form))
        };
        let form = match question {
            Question::Approval(request) => approval(Approval::of_call(request)),
            Question::Plan(plan) => approval(Approval::of_plan(plan)),
            Question::Ask { questions } => QuestionForm::Ask(Ask::new(questions)),
        };
        Self { id, armed, form, waiting: None }
    }

    pub fn key(&mut self, key: KeyEvent, now: Duration, size: (u16, u16)) -> Taken {
        let waiting = self.waiting.take();
        let QuestionForm::Approval(form) = &mut self.form else { return self.pass(key, size) };
        let Some(letter) = keymap::plain_char(key).filter(|_| !form.writes()) else {
            return self.pass(key, size);
        };
        if let Some((first, _)) = waiting {
            form.chosen = None;
            return Taken::Typed(keymap::plain_char(first).into_iter().chain([letter]).collect());
        }
        if letter == '/' && form.is_cut(size) {
            return self.pass(key, size);
        }
        if !form.takes_letter(letter) {
            return Taken::Typed(letter.to_string());
        }
        self.waiting = Some((key, now));
        Taken::Nothing
    }

    /// A choice marked before doesn't wait for an Enter that is meant for something else.
    pub fn arm(&mut self, armed: bool) {
        self.armed = armed;
        if let QuestionForm::Approval(form) = &mut self.form {
            form.chosen = None;
        }
    }

    pub fn approval(&self) -> Option<&Approval> {
        match &self.form {
            QuestionForm::Approval(form) => Some(form),
            QuestionForm::Ask(_) => None,
        }
    }

    pub fn unfold(&mut self, size: (u16, u16)) {
        if let QuestionForm::Approval(form) = &mut self.form {
            form.key(KeyEvent::new(KeyCode::Home, crossterm::event::KeyModifiers::NONE), size);
        }
    }

    /// The letter just typed acts once it has stayed alone.
    pub fn waits(&self) -> bool {
        let letter = self.waiting.and_then(|(key, _)| keymap::plain_char(key));
        letter.zip(self.approval()).is_some_and(|(letter, form)| form.acts_alone(letter))
    }

    pub fn due(&mut self, now: Duration, size: (u16, u16)) -> Option<Reply> {
        let waits = self.waits();
        let (key, _) = self.waiting.take_if(|(_, since)| waits && now.saturating_sub(*since) >= ALONE)?;
        match self.pass(key, size) {
            Taken::Reply(reply) => Some(reply),
            _ => None,
        }
    }

    fn pass(&mut self, key: KeyEvent, size: (u16, u16)) -> Taken {
        let reply = match &mut self.form {
            QuestionForm::Approval(form) => form.key(key, size),
            QuestionForm::Ask(form) => form.key(key),
        };
        reply.map_or(Taken::Nothing, Taken::Reply)
    }

    pub fn paste(&mut self, text: &str) -> bool {
        match &mut self.form {
            QuestionForm::Approval(form) => form.paste(text),
            QuestionForm::Ask(form) => form.paste(text),
        }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> LinesWithCaret {
        let own_room = if self.armed { room } else { room.saturating_sub(1) };
        let (mut lines, caret) = match &self.form {
            QuestionForm::Approval(form) => form.lines(width, own_room, theme, self.armed),
            QuestionForm::Ask(form) => form.lines(width, own_room, theme),
        };
        if !self.armed {
            lines.push(Line::styled("  Press Tab to answer, or keep typing below", theme.warning()));
        }
        (lines, caret.filter(|_| self.armed))
    }
}
