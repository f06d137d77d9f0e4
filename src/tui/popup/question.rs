//! A question of the agent while it is open. Keys reach it only when it is armed: a user who was typing when it
//! appeared goes on typing until they turn to it, so that no letter of a sentence answers it.

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use super::approval::{Approval, Reply};
use super::ask::Ask;
use crate::protocol::approval::{Question, QuestionId};
use crate::tui::render::theme::Theme;

/// The open question.
#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub id: QuestionId,
    pub armed: bool,
    form: QuestionForm,
}

#[derive(Clone, Debug)]
enum QuestionForm {
    Approval(Approval),
    Ask(Ask),
}

impl OpenQuestion {
    pub fn new(id: QuestionId, question: Question, armed: bool) -> Self {
        let form = match question {
            Question::Approval(request) => QuestionForm::Approval(Approval::of_call(request)),
            Question::Plan(plan) => QuestionForm::Approval(Approval::of_plan(plan)),
            Question::Ask { questions } => QuestionForm::Ask(Ask::new(questions)),
        };
        Self { id, armed, form }
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Reply> {
        match &mut self.form {
            QuestionForm::Approval(form) => form.key(key),
            QuestionForm::Ask(form) => form.key(key).map(Reply::Answer),
        }
    }

    pub fn paste(&mut self, text: &str) {
        match &mut self.form {
            QuestionForm::Approval(form) => form.paste(text),
            QuestionForm::Ask(form) => form.paste(text),
        }
    }

    /// Lines within `room`, and the caret (row, cell) where text is typed.
    pub fn lines(
        &self,
        width: usize,
        room: usize,
        theme: Theme,
    ) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
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
