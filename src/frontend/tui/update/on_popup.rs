//! Keys for what stands in the composer's place: popups and questions.

use crossterm::event::{KeyCode, KeyEvent};

use super::viewing;
use crate::tui::app::App;
use crate::tui::msg::Cmd;
use crate::tui::popup::approval::Reply;
use crate::tui::popup::completion::complete;
use crate::tui::popup::list::PopupAction;
use crate::tui::popup::question::Taken;
use base::protocol::op::Op;

/// The open popup takes the key.
pub fn popup_key(app: &mut App, key: KeyEvent) {
    let Some(popup) = &mut app.popup else { return };
    match popup.key(key) {
        PopupAction::Nothing => {}
        PopupAction::Close => viewing::close(app),
        PopupAction::Send(Op::EditContext { edit, id }) => viewing::edit_context(app, edit, id),
        PopupAction::Send(op) => app.send(op),
        PopupAction::CloseAndSend(op) => {
            app.popup = None;
            app.send(op);
        }
        PopupAction::Agent(id) => viewing::open_agent(app, id),
        PopupAction::Copy(text) => viewing::copy(app, text),
        PopupAction::Theme(name) => viewing::choose_theme(app, name, false),
        PopupAction::CloseAndTheme { name, keep } => {
            app.popup = None;
            viewing::choose_theme(app, name, keep);
        }
    }
}

/// Whether the key was for the open question.
pub fn question_key(app: &mut App, key: KeyEvent) -> bool {
    let Some(question) = app.questions.first_mut() else { return false };
    if !question.armed {
        let turns_to_it = key.code == KeyCode::Tab;
        question.armed = turns_to_it;
        // Esc would interrupt the turn; with a question open it belongs to the question.
        question.armed |= key.code == KeyCode::Esc;
        return question.armed;
    }
    match question.key(key, app.now, app.size) {
        Taken::Reply(reply) => take_reply(app, reply),
        // What was meant for the composer goes there, with all that follows.
        Taken::Typed(text) => {
            question.armed = false;
            app.composer.paste(&text);
            complete::refresh(app);
        }
        Taken::Nothing => {}
    }
    true
}

/// Does what a question was answered with.
pub fn take_reply(app: &mut App, reply: Reply) {
    match reply {
        Reply::Answer(answer) if !app.questions.is_empty() => {
            let id = app.questions.remove(0).id;
            app.send(Op::Answer { id, answer });
        }
        Reply::Answer(_) => {}
        Reply::Edit(path) => app.command(Cmd::Edit(path)),
    }
}
