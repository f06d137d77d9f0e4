//! The models to choose from (current, configured, listed by the server), and their vendors' keys.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::control::Events;
use base::config::error::ConfigError;
use base::config::files::load::Loaded;
use base::config::provider::models;
use base::config::provider::saved_keys::SavedKeys;
use base::config::provider::vendors::Vendor;
use base::process::task;
use base::protocol::event::Event;
use base::protocol::lists::ModelRow;
use base::search::fuzzy;
use base::secret::Secret;
use provider::registry::SwitchableProvider;
use provider::unconfigured::{NO_MODEL, Unconfigured};
use provider::window::finder::{LearningProvider, WindowFinder};
use provider::window::probe;
use provider::{login, registry};

/// Sends the known models at once, then adds those of the server.
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

pub async fn nearest(loaded: &Loaded, wanted: &str) -> Option<String> {
    let mut names: Vec<String> = configured(loaded).into_iter().map(|row| row.name).collect();
    if let Some(settings) = &loaded.provider {
        names.extend(probe::models(settings).await.into_iter().map(|(name, _)| name));
    }
    names.extend(models::known_names().map(str::to_owned));
    fuzzy::nearest_name(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

/// What the server lists, if it lacks this model, even in a dated or tagged form.
pub async fn lists_without(loaded: &Loaded, model: &str) -> Option<Vec<String>> {
    let settings = loaded.provider.as_ref().filter(|_| !is_known(loaded, model))?;
    let listed: Vec<String> = probe::models(settings).await.into_iter().map(|(name, _)| name).collect();
    (!listed.is_empty() && listed.iter().all(|name| !name.starts_with(model))).then_some(listed)
}

pub fn is_known(loaded: &Loaded, model: &str) -> bool {
    let named = Vendor::named_in(model);
    is_in_table(model)
        || named.is_some_and(|(named, _)| loaded.vendors.iter().any(|(vendor, _)| *vendor == named))
}

pub fn is_in_table(model: &str) -> bool {
    models::facts(model).is_some()
}

fn configured(loaded: &Loaded) -> Vec<ModelRow> {
    let named = loaded.provider.iter().map(|settings| &settings.model).chain(&loaded.work.light_model);
    let mut rows: Vec<ModelRow> = named.map(|name| row(name, "configured")).collect();
    rows.dedup_by(|a, b| a.name == b.name);
    let others = loaded.vendors.iter().filter(|(vendor, _)| !vendor.default.is_empty());
    rows.extend(others.map(|(vendor, settings)| row(&vendor.full_name(&settings.model), "its key is set")));
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

pub fn keys(folder: &Path) -> Event {
    match SavedKeys::read(folder) {
        Ok(keys) => Event::Keys(keys.rows()),
        Err(error) => Event::KeyChanged(Err(sentences(&error))),
    }
}

pub async fn save_key(folder: PathBuf, vendor: String, key: Option<Secret>, events: Events) {
    let changed = login::change(&folder, &vendor, key).await;
    let _ = events.send(Event::KeyChanged(changed));
}

/// Returns the model to use from now on, if the server changed. The error is in full sentences.
pub async fn use_saved_keys(
    loaded: &mut Loaded,
    current: &SwitchableProvider,
) -> Result<Option<Arc<str>>, String> {
    let before = loaded.provider.as_ref().map(|settings| settings.base_url.clone());
    let folder = loaded.config.clone();
    let read = task::blocking(move || SavedKeys::read(&folder)).await;
    let saved = read.map_err(|error| error.to_string())?.map_err(|error| sentences(&error))?;
    loaded.read_keys(&|name| saved.var(name)).map_err(|error| sentences(&error))?;
    let Some(settings) = &loaded.provider else {
        current.switch(Arc::new(Unconfigured));
        return Ok(Some(NO_MODEL.into()));
    };
    let built = registry::build_all(settings, loaded).map_err(|error| format!("{error}."))?;
    let finder = WindowFinder::new(&loaded.servers);
    current.switch(LearningProvider::wrap(built, finder, settings));
    Ok((before.as_ref() != Some(&settings.base_url)).then(|| Arc::clone(&settings.model)))
}

fn sentences(error: &ConfigError) -> String {
    format!("{error}. Next: {}.", error.hint)
}
