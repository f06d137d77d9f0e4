//! The models to choose from: the current one, those configured, and those the server lists.

use crate::control::Events;
use base::config::load::Loaded;
use base::config::models;
use base::protocol::event::Event;
use base::protocol::lists::ModelRow;
use base::search::fuzzy;
use provider::window::probe;

/// Sends the models that are known at once, then those of the server too.
pub async fn send(loaded: Loaded, events: Events) {
    let configured = configured(&loaded);
    let _ = events.send(Event::Models(configured.clone()));
    let Some(settings) = &loaded.provider else { return };
    let listed = probe::models(settings).await;
    if listed.is_empty() {
        return;
    }
    let mut rows = configured;
    for (name, window) in listed {
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.window_tokens = window.or(row.window_tokens),
            None => rows.push(ModelRow {
                window_tokens: window.or(row(&name, "").window_tokens),
                ..row(&name, "on the server")
            }),
        }
    }
    let _ = events.send(Event::Models(rows));
}

/// The known name that is closest to `wanted`.
pub async fn nearest(loaded: &Loaded, wanted: &str) -> Option<String> {
    let mut names: Vec<String> = configured(loaded).into_iter().map(|row| row.name).collect();
    if let Some(settings) = &loaded.provider {
        names.extend(probe::models(settings).await.into_iter().map(|(name, _)| name));
    }
    names.extend(models::known_names().map(str::to_owned));
    fuzzy::nearest_name(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

pub fn is_in_table(model: &str) -> bool {
    models::facts(model).is_some()
}

fn configured(loaded: &Loaded) -> Vec<ModelRow> {
    let named = loaded.provider.iter().map(|settings| &settings.model).chain(&loaded.work.light_model);
    let mut rows: Vec<ModelRow> = named.map(|name| row(name, "configured")).collect();
    rows.dedup_by(|a, b| a.name == b.name);
    let others = loaded.vendors.iter().filter(|(vendor, _)| !vendor.default.is_empty());
    rows.extend(others.map(|(vendor, settings)| {
        // OpenRouter's own model has its name already.
        let model = settings.model.strip_prefix(&format!("{}/", vendor.name())).unwrap_or(&settings.model);
        row(&format!("{}/{model}", vendor.name()), "its key is set")
    }));
    rows
}

fn row(name: &str, source: &'static str) -> ModelRow {
    let facts = models::facts(name);
    ModelRow {
        name: name.to_owned(),
        source,
        window_tokens: facts.map(|facts| facts.prompt_window()),
        price: facts.and_then(|facts| facts.price).map(|price| (price.input, price.output)),
    }
}
