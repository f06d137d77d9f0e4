//! An open question of the agent. It takes keys only when armed, so that a user who was typing when it
//! appeared doesn't answer by accident. A letter marks its choice, and Enter takes it. Only a plain yes or no
//! needs no Enter, if no other letter follows within a moment; two letters start a word for the composer.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::composer::buffer::Buffer;
use crate::tui::popup::approval::{Approval, ApprovalReply};
use crate::tui::popup::list::{more, turned};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap::{self, LinesWithCaret};
use crate::tui::terminal::keymap;
use base::protocol::approval::{Answer, AskedQuestion, Question, QuestionId};
use base::sanitize;

/// How long a letter must be alone to count as an answer.
const ALONE: Duration = Duration::from_millis(250);
/// A letter that follows later starts a new word.
const SAME_WORD: Duration = Duration::from_secs(1);

#[derive(Debug, PartialEq)]
pub enum Taken {
    Reply(ApprovalReply),
    Typed(String),
    Nothing,
}

#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub id: QuestionId,
    pub armed: bool,
    form: QuestionForm,
    /// An answer, or the start of a word.
    waiting: Option<(KeyEvent, Duration)>,
}

#[derive(Clone, Debug)]
enum QuestionForm {
    Approval(Box<Approval>),
    Ask(Ask),
}

impl OpenQuestion {
    /// `marked`: the first choice of an approval is marked, so that one Enter takes it. That of another question always is.
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
        let mut is_word = |since| now.saturating_sub(since) < SAME_WORD || !form.takes_letter(letter);
        if let Some((first, _)) = waiting.filter(|(_, since)| is_word(*since)) {
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

    /// Unmarks the choice, so that an Enter meant for something else doesn't take it.
    pub fn arm(&mut self, armed: bool) {
        self.armed = armed;
        if let QuestionForm::Approval(form) = &mut self.form {
            form.chosen = None;
        }
    }

    pub fn unmark(&mut self) {
        match &mut self.form {
            QuestionForm::Approval(form) => form.chosen = None,
            QuestionForm::Ask(form) => form.chosen = None,
        }
    }

    pub fn approval(&self) -> Option<&Approval> {
        match &self.form {
            QuestionForm::Approval(form) => Some(form),
            QuestionForm::Ask(_) => None,
        }
    }

    pub fn unfold(&mut self) {
        if let QuestionForm::Approval(form) = &mut self.form {
            form.unfolded = !form.unfolded;
        }
    }

    /// Whether a typed letter will act if no other follows.
    pub fn waits(&self) -> bool {
        let letter = self.waiting.and_then(|(key, _)| keymap::plain_char(key));
        letter.zip(self.approval()).is_some_and(|(letter, form)| form.acts_alone(letter))
    }

    pub fn due(&mut self, now: Duration, size: (u16, u16)) -> Option<ApprovalReply> {
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
            QuestionForm::Ask(form) => form.lines(width, own_room, theme, self.armed),
        };
        if !self.armed {
            lines.push(Line::styled("  Press Tab to answer, or keep typing", theme.warning()));
        }
        (lines, caret.filter(|_| self.armed))
    }
}

#[derive(Clone, Debug)]
struct Ask {
    questions: Vec<AskedQuestion>,
    replies: Vec<String>,
    chosen: Option<usize>,
    own: Buffer,
}

impl Ask {
    pub fn new(questions: Vec<AskedQuestion>) -> Self {
        let mut ask = Self { questions, replies: Vec::new(), chosen: None, own: Buffer::default() };
        ask.mark();
        ask
    }

    /// Enter takes the first option, or skips the question.
    fn mark(&mut self) {
        let marked = self.current().is_some_and(|asked| !asked.optional && !asked.options.is_empty());
        self.chosen = marked.then_some(0);
    }

    fn current(&self) -> Option<&AskedQuestion> {
        self.questions.get(self.replies.len())
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<ApprovalReply> {
        let options = self.current().map_or(0, |question| question.options.len());
        match key.code {
            KeyCode::Esc => match self.replies.pop() {
                Some(reply) => self.show_again(&reply),
                None => return Some(ApprovalReply::Stop),
            },
            KeyCode::Enter => return self.enter(),
            KeyCode::Down | KeyCode::Up if options > 0 => {
                self.chosen = turned(self.chosen, key.code == KeyCode::Down, options);
            }
            KeyCode::Char(c @ '1'..='9') if self.own.is_empty() && c as usize - '0' as usize <= options => {
                self.chosen = Some(c as usize - '1' as usize);
                return self.enter();
            }
            _ => self.own.type_key(key),
        }
        None
    }

    pub fn paste(&mut self, text: &str) -> bool {
        self.own.paste_line(text);
        true
    }

    fn show_again(&mut self, reply: &str) {
        self.chosen =
            self.current().and_then(|asked| asked.options.iter().position(|option| option == reply));
        self.own.reset();
        if self.chosen.is_none() {
            self.own.insert(reply);
        }
    }

    fn enter(&mut self) -> Option<ApprovalReply> {
        let own = self.own.text().trim();
        let option = |at: usize| self.current().and_then(|question| question.options.get(at).cloned());
        let reply = if own.is_empty() { self.chosen.and_then(option) } else { Some(own.to_owned()) };
        if let Some(question) = self.current() {
            self.replies.push(reply.or_else(|| question.optional.then(String::new))?);
        }
        self.own.reset();
        self.mark();
        (self.replies.len() >= self.questions.len())
            .then(|| ApprovalReply::Answer(Answer::Replies { replies: std::mem::take(&mut self.replies) }))
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme, armed: bool) -> LinesWithCaret {
        let Some(question) = self.current() else { return (Vec::new(), None) };
        let mut mark = "? ".to_owned();
        if self.questions.len() > 1 {
            mark = format!("? {}/{} ", self.replies.len() + 1, self.questions.len());
        }
        let asked = sanitize::clean(&question.question);
        let mut lines = wrap::wrap_text(asked.trim(), theme.strong(), &mark, "  ", width);
        let mut options = Vec::new();
        let (mut ends, mut chosen_end) = (Vec::new(), 0);
        let chosen = self.chosen.filter(|_| self.own.is_empty());
        for (index, option) in question.options.iter().enumerate() {
            let (mark, style) = theme.row(chosen == Some(index));
            let option = wrap::one_line(option, 300);
            let first = format!("{mark}{}. ", index + 1);
            options.extend(wrap::wrap_text(&option, style, &first, "     ", width));
            ends.push(options.len());
            if chosen == Some(index) {
                chosen_end = options.len();
            }
        }
        let room_for_text = width.saturating_sub(3);
        let before = wrap::width(&self.own.text()[..self.own.cursor()]);
        let rows = wrap::rows(self.own.text(), room_for_text.max(1));
        let row = rows.iter().rposition(|row| row.start <= self.own.cursor()).unwrap_or(0);
        let column = wrap::width(&self.own.text()[rows[row].start..self.own.cursor()]);
        let mut own = Vec::new();
        for (number, range) in rows.iter().enumerate().filter(|_| armed) {
            let mark = if number == 0 { "› " } else { "  " };
            let text = Span::raw(self.own.text()[range.clone()].to_owned());
            own.push(Line::from(vec![Span::styled(mark, theme.accent()), text]));
        }
        if before == 0 && armed {
            let escape = if self.replies.is_empty() { "Esc to stop" } else { "Esc to go back" };
            let help = match (question.optional, question.options.is_empty()) {
                (true, _) => "Type an answer · Enter to skip",
                (_, true) => "Type an answer · Enter to send",
                _ => "Number, or ↑↓ and Enter · or type an answer",
            };
            if lines.len() + options.len() + own.len() < room {
                own.push(wrap::line(&format!("  {help} · {escape}"), width, theme.dim()));
            }
        }
        if theme.is_plain() {
            own.clear();
        }
        // On a small screen, the question matters more than its options, and typed text more than both.
        let above = own.len().saturating_sub(room).min(row);
        own.drain(..above);
        let marked = usize::from(chosen.is_some() && room > own.len() + 1);
        lines.truncate(room.saturating_sub(own.len() + marked));
        let left = room.saturating_sub(lines.len() + own.len());
        let is_cut = options.len() > left && left > 1;
        let left = left - usize::from(is_cut);
        let from = chosen_end.saturating_sub(left);
        options.drain(..from);
        options.truncate(left);
        lines.append(&mut options);
        if is_cut {
            let is_above = |end: &&usize| **end <= from;
            let below = ends.iter().filter(|end| **end > from + left).count();
            let sign = more(ends.iter().filter(is_above).count(), below);
            lines.push(wrap::line(&sign, width, theme.dim()));
        }
        let caret_row = lines.len() + row - above;
        lines.append(&mut own);
        (lines, Some((caret_row, 2 + column)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyModifiers;

    #[test]
    fn numbers_and_own_words() {
        let question = |options: &[&str]| AskedQuestion {
            question: "Which?".to_owned(),
            options: options.iter().map(ToString::to_string).collect(),
            optional: false,
        };
        let replied = |replies: &[&str]| {
            let replies = replies.iter().map(ToString::to_string).collect();
            Some(ApprovalReply::Answer(Answer::Replies { replies }))
        };
        for (down, taken) in [(0, "red"), (1, "blue"), (2, "red")] {
            let mut ask = Ask::new(vec![question(&["red", "blue"])]);
            (0..down).for_each(|_| drop(ask.key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE))));
            assert_eq!(ask.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)), replied(&[taken]));
        }
        let mut ask = Ask::new(vec![question(&["red", "blue"]), question(&[])]);
        let mut press = |code| ask.key(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(KeyCode::Char('2')), None);
        assert_eq!(press(KeyCode::Char('7')), None);
        assert_eq!(press(KeyCode::Esc), None, "back to the first question, which keeps its answer");
        assert_eq!(press(KeyCode::Enter), None);
        assert_eq!(press(KeyCode::Char('7')), None);
        assert_eq!(press(KeyCode::Enter), replied(&["blue", "7"]));

        let mut ask = Ask::new(vec![AskedQuestion { optional: true, ..question(&["red"]) }]);
        let enter = ask.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
        assert_eq!(enter, replied(&[""]));
    }
}
