//! What later calls used of earlier text: identifiers and file names in arguments, and lines quoted by edits.
//! Names that the model invented don't count. Also finds where a text contains them verbatim.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::trace::recording::events::ReplayEvent;
use base::model::item::Item;
use base::model::request::Message;
use context::history::forms;

const NAME_BYTES: usize = 4;
/// The shortest quoted line that counts, in characters without indentation.
const LINE_CHARS: usize = 8;
/// Arguments that quote text from a file.
pub const QUOTED: &[&str] = &["old_string", "old_str", "oldText", "old_text", "search"];

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Need {
    Name(String),
    File(String),
    Line(String),
}

#[derive(Default)]
pub struct Needs {
    all: Vec<Need>,
    names: HashMap<String, usize>,
    files: HashMap<String, usize>,
    lines: HashMap<[u8; LINE_CHARS], Vec<usize>>,
    /// For each request, the needs of the calls in its answer.
    pub used: Vec<Vec<usize>>,
}

impl Needs {
    /// Counts only a need's first use: later it is in the agent's own words, which would flatter all policies.
    pub fn of(events: &[ReplayEvent]) -> Self {
        let mut candidates = Self::default();
        let mut numbers: HashMap<Need, usize> = HashMap::new();
        for event in events {
            match event {
                ReplayEvent::Request { .. } => candidates.used.push(Vec::new()),
                ReplayEvent::Item(item) => {
                    if let Item::ToolCall(call) = &**item
                        && !candidates.used.is_empty()
                    {
                        for need in of_args(&serde_json::from_str(&call.args).unwrap_or_default()) {
                            let number =
                                *numbers.entry(need).or_insert_with_key(|need| candidates.add(need.clone()));
                            if let Some(list) = candidates.used.last_mut() {
                                list.push(number);
                            }
                        }
                    }
                }
            }
        }
        let seen_at = candidates.first_seen(events);
        let mut counted: HashSet<usize> = HashSet::new();
        let mut needs = Self::default();
        for (n, list) in candidates.used.iter().enumerate() {
            let used = list.iter().filter(|&&need| seen_at[need] <= n && counted.insert(need));
            let used = used.map(|&need| needs.add(candidates.all[need].clone())).collect();
            needs.used.push(used);
        }
        needs
    }

    /// The first request after each need occurred. An answer counts as earlier text from the next request on.
    fn first_seen(&self, events: &[ReplayEvent]) -> Vec<usize> {
        let mut seen_at = vec![usize::MAX; self.all.len()];
        let mut requests = 0;
        for event in events {
            match event {
                ReplayEvent::Request { .. } => requests += 1,
                ReplayEvent::Item(item) => {
                    for need in texts_of_item(item).iter().flat_map(|text| self.within(text)) {
                        seen_at[need] = seen_at[need].min(requests);
                    }
                }
            }
        }
        seen_at
    }

    fn add(&mut self, need: Need) -> usize {
        let number = self.all.len();
        match &need {
            Need::Name(name) => drop(self.names.insert(name.clone(), number)),
            Need::File(name) => drop(self.files.insert(name.clone(), number)),
            Need::Line(line) => {
                if let Some(first) = line.as_bytes().first_chunk() {
                    self.lines.entry(*first).or_default().push(number);
                }
            }
        }
        self.all.push(need);
        number
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn within(&self, text: &str) -> Vec<usize> {
        let names = identifiers(text).filter_map(|name| self.names.get(name));
        let files = file_names(text).filter_map(|name| self.files.get(name));
        let mut found: Vec<usize> = names.chain(files).copied().collect();
        let bytes = text.as_bytes();
        for (at, first) in bytes.windows(LINE_CHARS).enumerate().filter(|_| !self.lines.is_empty()) {
            let begun = self.lines.get(first).into_iter().flatten();
            found.extend(begun.filter(|&&number| {
                matches!(&self.all[number], Need::Line(line) if bytes[at..].starts_with(line.as_bytes()))
            }));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn of_args(args: &Value) -> Vec<Need> {
    let mut needs = HashSet::new();
    strings(args, "", &mut |key, text| {
        needs.extend(identifiers(text).map(|name| Need::Name(name.to_owned())));
        needs.extend(file_names(text).map(|file| Need::File(file.to_owned())));
        if QUOTED.contains(&key) {
            let lines = text.lines().map(str::trim).filter(|line| line.chars().count() >= LINE_CHARS);
            needs.extend(lines.map(|line| Need::Line(line.to_owned())));
        }
    });
    let mut needs: Vec<Need> = needs.into_iter().collect();
    needs.sort();
    needs
}

pub fn strings(value: &Value, key: &str, take: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => take(key, text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, key, take)),
        Value::Object(values) => values.iter().for_each(|(key, value)| strings(value, key, take)),
        _ => {}
    }
}

/// The texts of an item; calls don't refer to reasoning and summaries.
pub fn texts_of_item(item: &Item) -> Vec<String> {
    match item {
        Item::Reasoning(_) | Item::Summary(_) => Vec::new(),
        _ => texts_of(&forms::full(item)),
    }
}

/// The texts of a message; arguments as the strings they contain, or as written if they aren't JSON.
pub fn texts_of(message: &Message) -> Vec<String> {
    match message {
        Message::Assistant(said) => vec![said.text.to_string()],
        Message::User(text) | Message::System(text) | Message::Result { text, .. } => {
            vec![text.to_string()]
        }
        Message::Call(call) => {
            let Ok(value) = serde_json::from_str::<Value>(&call.args) else {
                return vec![call.args.to_string()];
            };
            let mut texts = Vec::new();
            strings(&value, "", &mut |_, text| texts.push(text.to_owned()));
            texts
        }
        Message::Reasoning(_) | Message::Image(_) => Vec::new(),
    }
}

/// Identifiers: runs of ASCII letters, digits and `_`, at least four bytes, not starting with a digit.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.len() >= NAME_BYTES && !word.as_bytes()[0].is_ascii_digit())
}

/// File names: the last part of a path, with an extension of one to five letters or digits.
fn file_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).filter_map(|word| {
        let word = word.trim_matches('.');
        let (stem, ending) = word.rsplit_once('.')?;
        let ends_well = (1..=5).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic());
        (ends_well && stem.bytes().any(|b| b.is_ascii_alphabetic())).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files() {
        let text = "let x_max = readFile(\"src/a-b/main.rs\") + 12ab; e.g. v1.2 foo.tar.gz";
        assert_eq!(identifiers(text).collect::<Vec<_>>(), ["x_max", "readFile", "main"]);
        assert_eq!(file_names(text).collect::<Vec<_>>(), ["main.rs", "e.g", "foo.tar.gz"]);
    }
}
