//! Commands that open a list.

use crate::tui::app::App;
use crate::tui::popup::list::PickList;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::jobs::JobPicker;
use crate::tui::popup::pickers::{models, permissions};
use base::protocol::op::Op;

pub fn models(app: &mut App) {
    let current = app.session.as_ref().map(|info| info.model.clone()).unwrap_or_default();
    app.popup = Some(Popup::Models(PickList::new(models::rows(&current, Vec::new()))));
    app.send(Op::ListModels);
}

pub fn permissions(app: &mut App) {
    let Some(level) = app.session.as_ref().map(|info| info.permission) else {
        return app.inform("The session is still starting. Try again in a moment.");
    };
    app.popup = Some(Popup::Permissions(permissions::open(level)));
    app.send(Op::ListRules);
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
