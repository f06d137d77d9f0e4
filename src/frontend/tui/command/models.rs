//! `/model` and `/login`: models, and the vendors with their API keys.

use crate::tui::app::App;
use crate::tui::popup::list::PickList;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::keys::KeyPicker;
use crate::tui::popup::pickers::models;
use base::protocol::op::Quick;

pub const NO_MODEL: &str = "No model yet: /login saves an API key.";

/// `vendor` may be empty. A key has no place on the command's line: it would be remembered.
pub fn login(app: &mut App, vendor: &str) {
    let mut picker = KeyPicker::default();
    if !vendor.is_empty() {
        picker.enter_key(vendor);
    }
    app.popup = Some(Popup::Keys(picker));
    app.send(Quick::ListKeys);
}

pub fn models(app: &mut App) {
    if app.session.as_ref().is_some_and(|info| !info.has_model()) {
        app.inform(NO_MODEL);
        return login(app, "");
    }
    let current = app.session.as_ref().map(|info| info.model.clone()).unwrap_or_default();
    app.popup = Some(Popup::Models(PickList::new(models::rows(&current, Vec::new()))));
    app.send(Quick::ListModels);
}
