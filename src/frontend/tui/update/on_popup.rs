//! Keys for popups and questions in the composer's place.

use crossterm::event::KeyEvent;

use super::{composer_keys, viewing};
use crate::tui::app::App;
use crate::tui::msg::Cmd;
use crate::tui::popup::approval::ApprovalReply;
use crate::tui::popup::completion::complete;
use crate::tui::popup::list::PopupAction;
use crate::tui::popup::question::Taken;
use base::protocol::approval::Answer;
use base::protocol::op::{Control, Op};

pub fn popup_key(app: &mut App, key: KeyEvent) {
    let Some(popup) = &mut app.popup else { return };
    let action = popup.key(key);
    act(app, action);
}

fn act(app: &mut App, action: PopupAction) {
    match action {
        PopupAction::Nothing => {}
        PopupAction::Close => viewing::close(app),
        PopupAction::Closing(action) => {
            app.popup = None;
            act(app, *action);
        }
        PopupAction::Send(Op::Control(Control::EditContext { edit, id })) => {
            viewing::edit_context(app, edit, id)
        }
        PopupAction::Send(op) => app.send(op),
        PopupAction::Inform(text) => app.inform(text),
        PopupAction::Write(text) => composer_keys::write(app, &text),
        PopupAction::Replace(text) => {
            app.composer.replace(&text);
            complete::refresh(app);
        }
        PopupAction::Edit(path) => app.command(Cmd::Edit(path)),
        PopupAction::SetPermission(permission) => {
            app.set_permission(permission);
            app.permission_asked = Some(permission);
        }
        PopupAction::Agent(id) => viewing::open_agent(app, id),
        PopupAction::Copy(text) => viewing::copy(app, text),
        PopupAction::Theme { name, keep } => viewing::choose_theme(app, name, keep),
    }
}

pub fn question_key(app: &mut App, key: KeyEvent) -> bool {
    let Some(question) = app.questions.first_mut().filter(|question| question.armed) else { return false };
    match question.key(key, app.now, app.size) {
        Taken::Reply(reply) => take_reply(app, reply),
        // All further keys go to the composer, too.
        Taken::Typed(text) => composer_keys::write(app, &text),
        Taken::Nothing => {}
    }
    true
}

pub fn take_reply(app: &mut App, reply: ApprovalReply) {
    match reply {
        ApprovalReply::Stop if app.turn.is_some() => app.interrupt(),
        ApprovalReply::Stop => decline(app),
        ApprovalReply::Answer(answer) if !app.questions.is_empty() => {
            let id = app.questions.remove(0).id;
            app.send(Control::Answer { id, answer });
        }
        ApprovalReply::Answer(_) => {}
        ApprovalReply::Edit(path) => app.command(Cmd::Edit(path)),
    }
}

pub fn decline(app: &mut App) {
    take_reply(app, ApprovalReply::Answer(Answer::no()));
}
