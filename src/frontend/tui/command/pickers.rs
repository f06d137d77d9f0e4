//! Commands that open a list.

use crate::tui::app::App;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::jobs::JobPicker;
use crate::tui::popup::pickers::models::ModelPicker;
use crate::tui::popup::pickers::permissions::PermissionPicker;
use crate::tui::popup::pickers::todos::TodoList;
use base::protocol::event::Level;
use base::protocol::op::Op;

pub fn models(app: &mut App) {
    let current = app.session.as_ref().map(|info| info.model.clone()).unwrap_or_default();
    app.popup = Some(Popup::Models(ModelPicker::new(&current)));
    app.send(Op::ListModels);
}

pub fn permissions(app: &mut App) {
    let Some(level) = app.session.as_ref().map(|info| info.permission) else {
        return app.notice(Level::Info, "The session is still starting. Try again in a moment.");
    };
    app.popup = Some(Popup::Permissions(PermissionPicker::new(level)));
    app.send(Op::ListRules);
}

pub fn todos(app: &mut App) {
    if app.todos.is_empty() {
        return app.notice(Level::Info, "No todos. The model makes a list for larger tasks.");
    }
    app.popup = Some(Popup::Todos(TodoList::new(app.todos.clone())));
}

pub fn jobs(app: &mut App) {
    if app.jobs.is_empty() {
        return app.notice(Level::Info, "No background jobs.");
    }
    app.popup = Some(Popup::Jobs(JobPicker::new(app.jobs.clone())));
}
