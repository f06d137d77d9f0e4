//! What later calls used of what had been seen before, and whether a request still held it word for word:
//! identifiers and file names of a call's arguments, and the lines that an edit quotes. Only what had occurred
//! earlier in the session counts; a name that the model made up needs no context.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use serde_json::Value;

use super::events::ReplayEvent;
use crate::context::compress::identifiers;
use crate::model::item::Item;

/// The shortest quoted line that counts, in characters without the indentation.
const LINE_CHARS: usize = 8;
/// Arguments whose text is quoted from a file.
const QUOTED: &[&str] = &["old_string", "old_str", "oldText", "old_text", "search"];

/// One thing that a call used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    Name(String),
    File(String),
    Line(String),
}

impl Need {
    /// Index of the kind in tables.
    pub fn kind(&self) -> usize {
        match self {
            Self::Name(_) => 0,
            Self::File(_) => 1,
            Self::Line(_) => 2,
        }
    }
}

/// For each request, what the calls of its answer used of earlier text. Each thing counts where a call uses it first: from
/// then on it stands in the agent's own words too, and counting it again would only flatter every policy alike.
pub fn needs(events: &[ReplayEvent]) -> Vec<Vec<Need>> {
    let mut all: Vec<Vec<Need>> = Vec::new();
    let mut earlier = View::default();
    let mut counted: HashSet<Need> = HashSet::new();
    // What the present answer says becomes earlier text only with the next request.
    let mut fresh: Vec<String> = Vec::new();
    for event in events {
        match event {
            ReplayEvent::Request { .. } => {
                fresh.drain(..).for_each(|text| earlier.add_text(&text));
                all.push(Vec::new());
            }
            ReplayEvent::Item(item) => {
                if let (Item::ToolCall(call), Some(list)) = (&**item, all.last_mut()) {
                    let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
                    let used = of_args(&args);
                    list.extend(
                        used.into_iter().filter(|need| earlier.holds(need) && counted.insert(need.clone())),
                    );
                }
                match &**item {
                    Item::User(message) => fresh.push(message.wire().to_string()),
                    Item::Assistant { text, .. } => fresh.push(text.to_string()),
                    Item::ToolCall(call) => fresh.extend(arg_texts(&call.args)),
                    Item::ToolResult(result) => fresh.push(result.envelope.wire().into_owned()),
                    Item::Reasoning(_) | Item::Summary(_) | Item::Notice(_) => {}
                }
            }
        }
    }
    all
}

fn of_args(args: &Value) -> Vec<Need> {
    let mut needs = HashSet::new();
    strings(args, "", &mut |key, text| {
        needs.extend(names(text));
        if QUOTED.contains(&key) {
            let lines = text.lines().map(str::trim).filter(|line| line.chars().count() >= LINE_CHARS);
            needs.extend(lines.map(|line| Need::Line(line.to_owned())));
        }
    });
    let mut needs: Vec<Need> = needs.into_iter().collect();
    needs.sort();
    needs
}

/// The names and file names in `text`, each once.
fn names(text: &str) -> HashSet<Need> {
    let names = identifiers::identifiers(text).map(|name| Need::Name(name.to_owned()));
    names.chain(identifiers::file_names(text).map(|file| Need::File(file.to_owned()))).collect()
}

/// Hands out every string in `value` with its key.
fn strings(value: &Value, key: &str, take: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => take(key, text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, key, take)),
        Value::Object(values) => values.iter().for_each(|(key, value)| strings(value, key, take)),
        _ => {}
    }
}

/// What a request holds, updated as messages come and go: how often each name and each text occurs.
#[derive(Default)]
pub struct View {
    names: HashMap<Need, u32>,
    texts: HashMap<String, u32>,
}

impl View {
    /// Adds a message in Chat Completions form.
    pub fn add(&mut self, message: &Value) {
        texts_of(message).iter().for_each(|text| self.add_text(text));
    }

    fn add_text(&mut self, text: &str) {
        for name in names(text) {
            *self.names.entry(name).or_default() += 1;
        }
        *self.texts.entry(text.to_owned()).or_default() += 1;
    }

    /// Removes a message again.
    pub fn remove(&mut self, message: &Value) {
        for text in texts_of(message) {
            names(&text).iter().for_each(|name| decrement(&mut self.names, name));
            decrement(&mut self.texts, &text);
        }
    }

    pub fn holds(&self, need: &Need) -> bool {
        match need {
            Need::Line(line) => self.texts.keys().any(|text| text.contains(line.as_str())),
            name => self.names.contains_key(name),
        }
    }
}

fn decrement<K: Eq + Hash>(counts: &mut HashMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// The texts of a message; arguments as the strings that they hold.
fn texts_of(message: &Value) -> Vec<String> {
    let mut texts: Vec<String> = message["content"].as_str().map(str::to_owned).into_iter().collect();
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        texts.extend(arg_texts(call["function"]["arguments"].as_str().unwrap_or_default()));
    }
    texts
}

/// The strings in a call's arguments, or the arguments as they are where they are no JSON.
fn arg_texts(args: &str) -> Vec<String> {
    let Ok(value) = serde_json::from_str::<Value>(args) else { return vec![args.to_owned()] };
    let mut texts = Vec::new();
    strings(&value, "", &mut |_, text| texts.push(text.to_owned()));
    texts
}
