//! `/model [name]`: show or change the model.

use super::api::Command;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    if !args.is_empty() {
        return app.send(Op::SetModel { model: args.to_owned() });
    }
    let text = match &app.session {
        Some(info) => format!("The model is {} ({}). /model NAME changes it.", info.model, info.provider),
        None => "The session is still opening; try again in a moment.".to_owned(),
    };
    app.notice(Level::Info, text);
}
