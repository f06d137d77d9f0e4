//! `/permission [level]`: show or change what may happen without a question.

use super::api::Command;
use crate::config::settings::Permission;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    if !args.is_empty() {
        return match args.parse::<Permission>() {
            Ok(permission) => app.send(Op::SetPermission { permission }),
            Err(message) => app.notice(Level::Warning, format!("{message}.")),
        };
    }
    let text = match &app.session {
        Some(info) => {
            let level = info.permission.as_str();
            format!("The permission level is {level}. /permission read-only, ask, auto or full changes it.")
        }
        None => "The session is still opening; try again in a moment.".to_owned(),
    };
    app.notice(Level::Info, text);
}
