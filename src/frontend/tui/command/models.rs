//! `/model`, `/effort` and `/login`: models, how long they think, and the vendors with their API keys.

use crate::tui::app::App;
use crate::tui::popup::list::PickList;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::keys::KeyPicker;
use crate::tui::popup::pickers::settings::{self, EffortRow};
use base::config::provider::models::efforts;
use base::config::provider::vendors::Vendor;
use base::protocol::op::{Idle, Quick};

pub const NO_MODEL: &str = "No model yet: /login saves an API key.";

/// `vendor` may be empty. Keys aren't accepted here: the line would be remembered.
pub fn login(app: &mut App, vendor: &str) {
    let mut picker = KeyPicker::default();
    match Vendor::called(vendor) {
        _ if vendor.is_empty() => {}
        Ok(_) => picker.enter_key(vendor),
        Err(why) => return app.warn(why),
    }
    app.popup = Some(Popup::Keys(picker));
    app.send(Quick::ListKeys);
}

pub fn effort(app: &mut App, level: &str) {
    let Some(info) = &app.session else { return };
    let (levels, default) = efforts(&info.model);
    if level.is_empty() {
        let now = info.effort.as_deref();
        let row = |name: &&'static str| EffortRow { name, default: *name == default, now: now == Some(name) };
        let mut list = PickList::new(levels.iter().map(row).collect());
        list.choose(|row: &EffortRow| row.name == now.unwrap_or(default));
        app.popup = Some(Popup::Effort(list));
    } else if levels.contains(&level) {
        set_effort(app, level);
    } else {
        let (model, levels) = (info.model.clone(), levels.join(", "));
        app.warn(format!("{model} has no effort {level}. Choose one of {levels}."));
    }
}

pub fn step_effort(app: &mut App, more: bool) {
    let Some(info) = &app.session else { return };
    let (levels, default) = efforts(&info.model);
    let now = info.effort.as_deref().unwrap_or(default);
    let at = levels.iter().position(|level| *level == now).unwrap_or(0);
    let next = if more { at + 1 } else { at.wrapping_sub(1) };
    match levels.get(next) {
        Some(level) => set_effort(app, level),
        None => {
            app.hint =
                Some(format!("effort: {now}; there is no {} level", if more { "higher" } else { "lower" }))
        }
    }
}

/// Shown at once, because keys come faster than the agent answers.
fn set_effort(app: &mut App, level: &str) {
    if let Some(info) = &mut app.session {
        info.effort = Some(level.to_owned());
    }
    let when = if app.turn.is_some() { ", from the next turn on" } else { "" };
    app.hint = Some(format!("effort: {level}{when}"));
    app.send(Idle::SetEffort { level: level.to_owned() });
}

pub fn switch(app: &mut App, model: &str) {
    if app.turn.is_some() {
        app.hint = Some(format!("model: {model}, from the next turn on"));
    }
    app.send(Idle::SetModel { model: model.to_owned() });
}

pub fn models(app: &mut App) {
    if app.session.as_ref().is_some_and(|info| !info.has_model()) {
        app.inform(NO_MODEL);
        return login(app, "");
    }
    let current = app.session.as_ref().map(|info| info.model.clone()).unwrap_or_default();
    app.popup = Some(Popup::Models(PickList::new(settings::model_rows(&current, Vec::new()))));
    app.send(Quick::ListModels);
}
