//! Delivers requested lists to their popups, and prints tables.

use crate::tui::app::App;
use crate::tui::pager::cell;
use crate::tui::pager::state::PagerKind;
use crate::tui::popup::context;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::pages::NotePicker;
use crate::tui::popup::pickers::sessions::SessionPicker;
use crate::tui::popup::pickers::settings;
use crate::tui::popup::rewind::RewindPicker;
use base::config::provider::models::efforts;
use base::protocol::event::{Event, SessionRow};
use base::protocol::goal::GoalState;
use base::protocol::op::Idle;
use base::text;

pub fn apply(app: &mut App, event: Event) {
    match (event, &mut app.popup) {
        (Event::Sessions(rows), _) => sessions(app, rows),
        (Event::SessionPreview { session, messages }, Some(Popup::Sessions(picker))) => {
            picker.show(&session, messages);
        }
        (Event::Models(rows), Some(Popup::Models(list))) => {
            let current = app.session.as_ref().map_or("", |info| &info.model);
            list.fill(settings::model_rows(current, rows));
        }
        (Event::Keys(rows), Some(Popup::Keys(picker))) => picker.list.fill(rows),
        (Event::Notes(rows), Some(Popup::Notes(picker))) => picker.list.fill(rows),
        (Event::Notes(rows), _) if rows.is_empty() => {
            app.inform("No notes yet. #text adds one; the model writes them, too.");
        }
        (Event::Notes(rows), popup) => *popup = Some(Popup::Notes(NotePicker::new(rows))),
        (Event::KeyChanged(changed), _) => key_changed(app, changed),
        (Event::Rules(rows), Some(Popup::Permissions(list))) => {
            if let Some(info) = &app.session {
                settings::refresh_permissions(list, info.permission, Some(rows));
            }
        }
        (Event::Ledger(ledger), Some(Popup::Context(popup))) => popup.fill(ledger),
        (Event::ItemHistory(history), Some(Popup::Context(popup))) => popup.tell(history),
        (Event::ItemHistory(history), _) => {
            app.table(&context::history_heading(&history), context::history_rows(&history));
        }
        (Event::RewindPoints(points), _) if points.is_empty() => app.inform("Nothing to rewind yet."),
        (Event::RewindPoints(points), popup) => *popup = Some(Popup::Rewind(RewindPicker::new(points))),
        (Event::RewindPreview(preview), Some(Popup::Rewind(picker))) => picker.show(preview),
        (Event::JobOutput { id, text }, Some(Popup::Jobs(picker))) => picker.output = Some((id, text)),
        (Event::Transcript { agent, items }, Some(Popup::Pager(pager)))
            if pager.kind.shows_items(agent.is_some()) =>
        {
            pager.fill(cell::of_items(&items)).into_iter().for_each(|op| app.send(op));
        }
        (Event::Changes(changes), popup @ Some(Popup::Pager(_))) if changes.files.is_empty() => {
            *popup = None;
            app.inform("No changes.");
        }
        (Event::Changes(changes), Some(Popup::Pager(pager)))
            if pager.kind == (PagerKind::Changes { turn: changes.turn }) =>
        {
            pager.fill(cell::of_changes(&changes.files)).into_iter().for_each(|op| app.send(op));
        }
        (Event::Status(rows), _) => {
            let rows = own_facts(app).into_iter().chain(rows).collect();
            app.table("Status", rows);
        }
        (Event::Skills(rows), _) if rows.is_empty() => {
            app.inform("No skills. `mycode skills` says where to put them.");
        }
        (Event::Skills(rows), _) => app.table("Skills", rows),
        (Event::Cost(rows), _) => app.table("Cost", rows),
        _ => {}
    }
}

fn key_changed(app: &mut App, changed: Result<String, String>) {
    match (changed, &mut app.popup) {
        (Ok(text), popup) => {
            *popup = None;
            app.inform(text);
            app.send(Idle::ReadKeys);
        }
        (Err(why), Some(Popup::Keys(picker))) if picker.is_checking() => picker.refuse(why),
        (Err(why), _) => app.warn(why),
    }
}

fn sessions(app: &mut App, mut rows: Vec<SessionRow>) {
    rows.retain(|row| app.session.as_ref().is_none_or(|session| session.id != row.id));
    let mut picker = match app.popup.take() {
        Some(Popup::Sessions(mut picker)) => {
            picker.list.fill(rows);
            picker
        }
        _ if rows.is_empty() => {
            return app
                .inform("No other session in this project. /resume all lists sessions from all folders.");
        }
        _ => SessionPicker::new(rows),
    };
    let wanted = picker.wanted();
    app.popup = Some(Popup::Sessions(picker));
    wanted.into_iter().for_each(|op| app.send(op));
}

fn own_facts(app: &App) -> Vec<(String, String)> {
    let Some(info) = &app.session else { return Vec::new() };
    let mut rows = vec![
        ("model", format!("{} ({})", info.model, info.provider)),
        ("effort", info.effort.clone().unwrap_or_else(|| format!("{} (default)", efforts(&info.model).1))),
        ("permission", info.permission.into_str().to_owned()),
        ("mode", info.mode.into_str().to_owned()),
        ("workspace", info.workspace.clone()),
        ("session", info.id.clone()),
    ];
    if let Some(window) = &app.window {
        let (used, whole) =
            (text::human_tokens(window.used_tokens), text::human_tokens(window.window_tokens));
        rows.insert(1, ("window", format!("{used} of {whole} tokens used")));
    }
    rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub fn goal(app: &mut App, state: GoalState) {
    let known = app.goal.replace(state.clone());
    if known.as_ref() == Some(&state) {
        return;
    }
    let is_known = known.is_some_and(|known| known.goal == state.goal);
    let text = match state.rounds.last() {
        Some(round) if is_known => round.line(),
        Some(_) => format!("Open {}\n  /goal go continues it, /goal stop ends it.", state.report()),
        None => state.line(),
    };
    app.inform(text);
}
