//! Commands about viewing: help, lists, context, changes, colors, copying, export.

use super::table::{COMMANDS, LINES, SIGNS};
use crate::tui::app::App;
use crate::tui::pager::state::{Pager, PagerKind};
use crate::tui::popup::context::ContextPopup;
use crate::tui::popup::list::PickList;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::pages::JobPicker;
use crate::tui::popup::pickers::settings::{self, ThemePicker};
use crate::tui::render::markdown;
use crate::tui::terminal::keymap;
use crate::tui::update::viewing;
use base::config::theme::ThemeName;
use base::protocol::ledger::{self, ContextEdit};
use base::protocol::op::{Control, Quick};

pub fn help(app: &mut App, args: &str) {
    if args == "keys" {
        return open_help(app, vec![("Keys", keymap::actions())]);
    }
    let own = app.own_commands.iter().map(|row| [&*row.name, &row.args, &row.help]);
    let all = COMMANDS.iter().copied().chain(own);
    let row =
        |[name, args, help]: [&str; 3]| (format!("/{name} {args}").trim_end().to_owned(), help.to_owned());
    let owned = |[sign, text]: &[&str; 2]| ((*sign).to_owned(), (*text).to_owned());
    let plain = app.theme.is_plain();
    let signs = SIGNS.iter().filter(|[sign, _]| !plain || *sign != "?").map(owned).collect();
    let keys = if plain { LINES.iter().map(owned).collect() } else { keymap::help() };
    open_help(app, vec![("Commands", all.map(row).collect()), ("Input", signs), ("Keys", keys)]);
}

pub fn keys(app: &mut App) {
    app.table("Keys", keymap::help());
}

fn open_help(app: &mut App, tables: Vec<(&str, Vec<(String, String)>)>) {
    app.popup = Some(Popup::Pager(Box::new(Pager::help(tables))));
}

pub fn permissions(app: &mut App, full: bool) {
    let Some(level) = app.session.as_ref().map(|info| info.permission) else {
        return app.inform("The session is still starting. Try again in a moment.");
    };
    app.popup = Some(Popup::Permissions(settings::permission_list(level, full)));
    app.send(Quick::ListRules);
}

pub fn todos(app: &mut App) {
    if app.todos.is_empty() {
        return app.inform("No todos. The model makes a list for larger tasks.");
    }
    app.popup = Some(Popup::Todos(PickList::new(app.todos.clone())));
}

pub fn jobs(app: &mut App) {
    if app.jobs.is_empty() {
        return app.inform("No background jobs.");
    }
    let list = PickList::new(app.jobs.clone());
    app.popup = Some(Popup::Jobs(JobPicker { list, output: None }));
}

pub fn context(app: &mut App, args: &str) {
    if args.is_empty() {
        app.popup = Some(Popup::Context(ContextPopup::default()));
        return app.send(Control::ShowContext);
    }
    let (verb, id) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let id = id.trim();
    if verb == "why" && !id.is_empty() {
        return app.send(Quick::Explain { id: id.to_owned() });
    }
    let edit = [ContextEdit::Pin, ContextEdit::Unpin, ContextEdit::Drop, ContextEdit::Restore]
        .into_iter()
        .find(|edit| edit.into_str() == verb);
    match (edit, ledger::item_id(id)) {
        (Some(edit), Some(id)) => viewing::edit_context(app, edit, id),
        _ => app.warn("Usage: /context, or /context why|pin|unpin|drop|restore ID, such as /context why 12."),
    }
}

pub fn diff(app: &mut App, args: &str) {
    match args {
        "" => viewing::open_pager(app, PagerKind::Changes { turn: false }),
        "turn" => viewing::open_pager(app, PagerKind::Changes { turn: true }),
        _ => app.warn("Usage: /diff shows what this session changed; /diff turn: the last turn."),
    }
}

pub fn export(app: &mut App, args: &str) {
    let force = args.split_whitespace().any(|word| word == "--force");
    let file = args.replace("--force", "").trim().to_owned();
    app.send(Quick::Export { file: (!file.is_empty()).then_some(file), force });
}

pub fn copy(app: &mut App, args: &str) {
    let answer = app.last_answer.clone();
    let text = match args {
        "" => answer.map(|text| text.to_string()),
        "code" => answer.and_then(|text| markdown::code_blocks(&text).pop()),
        _ => return app.warn("Usage: /copy copies the last answer; /copy code its last code block."),
    };
    match text {
        Some(text) => viewing::copy(app, text),
        None => app.inform("Nothing to copy: there is no answer yet, or it has no code block."),
    }
}

pub fn theme(app: &mut App, args: &str) {
    if args.is_empty() {
        app.popup = Some(Popup::Theme(ThemePicker::new(app.look)));
        return;
    }
    match args.parse::<ThemeName>() {
        Ok(name) => {
            viewing::choose_theme(app, name, true);
            app.inform(format!("Theme: {args}."));
        }
        Err(message) => app.warn(format!("{message}.")),
    }
}
