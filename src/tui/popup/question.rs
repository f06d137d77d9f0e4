//! A question of the agent while it is open. Keys reach it only when it is armed: a user who was typing when it
//! appeared goes on typing until they turn to it, so that no letter of a sentence answers it.

use crossterm::event::KeyEvent;
use ratatui::text::Line;

use super::approval::Approval;
use super::ask::Ask;
use crate::protocol::approval::{Answer, Question, QuestionId};
use crate::tui::render::theme::Theme;

/// The open question.
#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub id: QuestionId,
    pub armed: bool,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Approval(Approval),
    Ask(Ask),
}

impl OpenQuestion {
    pub fn new(id: QuestionId, question: Question, armed: bool) -> Self {
        let form = match question {
            Question::Approval(request) => Form::Approval(Approval::new(request)),
            Question::Ask { questions } => Form::Ask(Ask::new(questions)),
        };
        Self { id, armed, form }
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Answer> {
        match &mut self.form {
            Form::Approval(form) => form.key(key),
            Form::Ask(form) => form.key(key),
        }
    }

    pub fn paste(&mut self, text: &str) {
        match &mut self.form {
            Form::Approval(form) => form.paste(text),
            Form::Ask(form) => form.paste(text),
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
            Form::Approval(form) => form.lines(width, own_room, theme),
            Form::Ask(form) => form.lines(width, own_room, theme),
        };
        if !self.armed {
            lines.push(Line::styled(
                "  press Tab to answer; until then you keep typing below",
                theme.warning(),
            ));
        }
        (lines, caret.filter(|_| self.armed))
    }
}
