//! What later calls used of what had been seen before, and whether a request still held it word for word:
//! identifiers and file names of a call's arguments, and the lines that an edit quotes. Only what had occurred
//! earlier in the session counts; a name that the model made up needs no context.

use std::collections::{HashMap, HashSet};

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
                    Item::Assistant { text } => fresh.push(text.to_string()),
                    Item::ToolCall(call) => {
                        let mut strings = Vec::new();
                        collect(&serde_json::from_str(&call.args).unwrap_or_default(), "", &mut |_, text| {
                            strings.push(text.to_owned());
                        });
                        fresh.extend(strings);
                    }
                    Item::ToolResult(result) => fresh.push(result.envelope.wire().into_owned()),
                    Item::Reasoning(_) | Item::Summary(_) => {}
                }
            }
        }
    }
    all
}

fn of_args(args: &Value) -> Vec<Need> {
    let mut needs = HashSet::new();
    collect(args, "", &mut |key, text| {
        for name in identifiers::identifiers(text) {
            needs.insert(Need::Name(name.to_owned()));
        }
        for file in identifiers::file_names(text) {
            needs.insert(Need::File(file.to_owned()));
        }
        if QUOTED.contains(&key) {
            for line in text.lines().map(str::trim).filter(|line| line.chars().count() >= LINE_CHARS) {
                needs.insert(Need::Line(line.to_owned()));
            }
        }
    });
    let mut needs: Vec<Need> = needs.into_iter().collect();
    needs.sort();
    needs
}

fn collect(value: &Value, key: &str, take: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => take(key, text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, key, take)),
        Value::Object(values) => values.iter().for_each(|(key, value)| collect(value, key, take)),
        _ => {}
    }
}

/// What a request holds, kept up as messages come and go.
#[derive(Default)]
pub struct View {
    names: HashMap<String, u32>,
    files: HashMap<String, u32>,
    texts: HashMap<String, u32>,
}

impl View {
    /// Takes up a message in Chat Completions form.
    pub fn add(&mut self, message: &Value) {
        for text in texts_of(message) {
            self.add_text(&text);
        }
    }

    pub fn add_text(&mut self, text: &str) {
        for name in identifiers::identifiers(text).collect::<HashSet<_>>() {
            *self.names.entry(name.to_owned()).or_default() += 1;
        }
        for file in identifiers::file_names(text).collect::<HashSet<_>>() {
            *self.files.entry(file.to_owned()).or_default() += 1;
        }
        *self.texts.entry(text.to_owned()).or_default() += 1;
    }

    /// Takes a message out again.
    pub fn remove(&mut self, message: &Value) {
        for text in texts_of(message) {
            for name in identifiers::identifiers(&text).collect::<HashSet<_>>() {
                lower(&mut self.names, name);
            }
            for file in identifiers::file_names(&text).collect::<HashSet<_>>() {
                lower(&mut self.files, file);
            }
            lower(&mut self.texts, &text);
        }
    }

    pub fn holds(&self, need: &Need) -> bool {
        match need {
            Need::Name(name) => self.names.contains_key(name),
            Need::File(file) => self.files.contains_key(file),
            Need::Line(line) => self.texts.keys().any(|text| text.contains(line.as_str())),
        }
    }
}

fn lower(counts: &mut HashMap<String, u32>, key: &str) {
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
        let args = call["function"]["arguments"].as_str().unwrap_or_default();
        match serde_json::from_str::<Value>(args) {
            Ok(value) => collect(&value, "", &mut |_, text| texts.push(text.to_owned())),
            Err(_) => texts.push(args.to_owned()),
        }
    }
    texts
}
