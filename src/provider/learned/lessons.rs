//! The field rules that a server made necessary, for this session and, where there is a file, for later ones.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fields::{self, FieldRule};
use super::known_servers::{KnownServers, ModelKey};
use crate::text_tools;
use crate::wire::per_model::PerModel;
use base::clock;
use base::config::settings::{ProviderSettings, ToolCalls};
use base::process::task;

pub type Rules = Vec<&'static FieldRule>;

#[derive(Debug, Default)]
pub struct Lessons {
    kept: Option<KnownServers>,
    server: String,
    /// The user's settings, for all models.
    set: Rules,
    models: PerModel<Rules>,
}

impl Lessons {
    pub fn new(settings: &ProviderSettings, server: String) -> Self {
        let kept = settings.servers.as_deref().map(KnownServers::new);
        let set = if settings.tool_calls == ToolCalls::Text { vec![&fields::TOOLS] } else { Rules::new() };
        Self { kept, server, set, models: PerModel::default() }
    }

    pub async fn of(&self, model: &Arc<str>) -> Rules {
        if let Some(rules) = self.models.get(model) {
            return rules;
        }
        let mut rules: Rules = match self.kept.clone() {
            Some(kept) => {
                let place = self.place(model);
                let refused = task::blocking(move || kept.get(&place).refused_fields(clock::now_ms())).await;
                refused.unwrap_or_default().iter().filter_map(|label| FieldRule::named(label)).collect()
            }
            None => Rules::new(),
        };
        rules.extend(self.set.iter().copied().filter(|set| !rules.contains(set)).collect::<Rules>());
        self.models.set(model, rules.clone());
        rules
    }

    /// All that the model's requests need, now that one of them was answered.
    pub async fn keep(&self, model: &Arc<str>, rules: &Rules) {
        self.models.set(model, rules.clone());
        if let Some(kept) = self.kept.clone() {
            let (place, fields) = (self.place(model), rules.iter().map(|rule| rule.label()).collect());
            let _ = task::blocking(move || kept.refuses(&place, fields)).await;
        }
    }

    fn place(&self, model: &Arc<str>) -> ModelKey {
        ModelKey { server: self.server.clone(), model: model.to_string() }
    }
}

pub fn tools_as_text(rules: &[&FieldRule]) -> bool {
    rules.contains(&&fields::TOOLS)
}

/// `body` as the rules leave it; `stop` is the dialect's field for words that end a reply.
pub fn under(rules: &[&FieldRule], body: String, stop: Option<&str>) -> String {
    if rules.is_empty() {
        return body;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(&body) else { return body };
    rules.iter().filter(|rule| **rule != &fields::TOOLS).for_each(|rule| rule.apply(&mut value));
    if let (Some(field), true, Value::Object(map)) = (stop, tools_as_text(rules), &mut value) {
        map.shift_insert(0, field.to_owned(), json!([text_tools::STOP]));
    }
    value.to_string()
}
