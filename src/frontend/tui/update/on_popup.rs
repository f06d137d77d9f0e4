//! Keys for popups and questions in the composer's place.

use crossterm::event::{KeyCode, KeyEvent};

use super::viewing;
use crate::tui::app::App;
use crate::tui::msg::Cmd;
use crate::tui::popup::approval::Reply;
use crate::tui::popup::completion::complete;
use crate::tui::popup::list::PopupAction;
use crate::tui::popup::question::Taken;
use base::protocol::op::{Control, Op};

pub fn popup_key(app: &mut App, key: KeyEvent) {
    let Some(popup) = &mut app.popup else { return };
    match popup.key(key) {
        PopupAction::Nothing => {}
        PopupAction::Close => viewing::close(app),
        PopupAction::Send(Op::Control(Control::EditContext { edit, id })) => {
            viewing::edit_context(app, edit, id)
        }
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
        // Text for the composer goes there, along with all further keys.
        Taken::Typed(text) => {
            question.armed = false;
            app.composer.paste(&text);
            complete::refresh(app);
        }
        Taken::Nothing => {}
    }
    true
}

pub fn take_reply(app: &mut App, reply: Reply) {
    match reply {
        Reply::Answer(answer) if !app.questions.is_empty() => {
            let id = app.questions.remove(0).id;
            app.send(Control::Answer { id, answer });
        }
        Reply::Answer(_) => {}
        Reply::Edit(path) => app.command(Cmd::Edit(path)),
    }
}
