//! Converts the model's arguments to the tool's: foreign names become ours, values get the schema's types, and
//! anything without a meaning here is dropped and reported. Missing arguments are never invented.

use serde_json::{Map, Value};

use super::ignored::Ignored;
use super::{coerce, tool_names, translate};

pub(crate) struct Normalized {
    /// An object that fits the accepted schema, or the error.
    pub args: Result<Value, String>,
    pub ignored: Ignored,
}

/// `accepted` is the schema of everything that the tool accepts.
pub(crate) fn normalize(tool: &str, accepted: &Value, args: Value) -> Normalized {
    let mut ignored = Ignored::default();
    let given = match args {
        Value::Object(given) => unwrapped(given, accepted),
        Value::Null => Map::new(),
        _ => return Normalized { args: Err("the arguments must be a JSON object".to_owned()), ignored },
    };
    // A single edit or question may be given inline instead of in a list.
    let lists = ["/properties/edits/items", "/properties/questions/items"].map(|list| accepted.pointer(list));
    let item = lists.into_iter().flatten().next().unwrap_or(&Value::Null);
    let known = |name: &str| name.starts_with('@') || has(accepted, name) || has(item, name);
    let is_text =
        |name: &str| [accepted, item].iter().any(|schema| schema["properties"][name]["type"] == "string");
    let mut object = rename(tool, given, known, &mut ignored);
    let is_none = |text: &str| matches!(text.trim(), "" | "null" | "None" | "undefined");
    object.retain(|name, value| is_text(name) || !value.as_str().is_some_and(is_none));
    let args = translate::translate(tool, &mut object, &mut ignored)
        .and_then(|()| shaped(tool, accepted, object, &mut ignored));
    Normalized { args: args.map(Value::Object), ignored }
}

/// Some models nest all arguments in one object, perhaps as JSON text, next to the tool's name.
fn unwrapped(given: Map<String, Value>, accepted: &Value) -> Map<String, Value> {
    const WRAPPERS: [&str; 5] = ["arguments", "args", "parameters", "params", "input"];
    if given.keys().any(|key| has(accepted, key)) {
        return given;
    }
    let inner = WRAPPERS.iter().find_map(|key| match given.get(*key)? {
        Value::Object(inner) => Some(inner.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    });
    inner.unwrap_or(given)
}

fn has(schema: &Value, name: &str) -> bool {
    schema["properties"].get(name).is_some()
}

/// Renames keys to ours. Empty values (null, false, empty collections) are dropped without a report.
fn rename(
    tool: &str,
    given: Map<String, Value>,
    known: impl Fn(&str) -> bool,
    ignored: &mut Ignored,
) -> Map<String, Value> {
    let mut object = Map::new();
    let own = |key: &str| !key.starts_with('@') && known(key);
    // Our own names first, so that an alias for the same argument counts as the duplicate.
    let (ours, others): (Vec<_>, Vec<_>) =
        given.into_iter().filter(|(_, value)| !value.is_null()).partition(|(key, _)| own(key));
    object.extend(ours);
    for (key, value) in others {
        match our_argument(tool, &key, &known) {
            Some(name) if !object.contains_key(name) => {
                object.insert(name.to_owned(), value);
            }
            Some(name) if object[name] == value => {}
            _ if asks_for_nothing(&value) => {}
            _ => ignored.add(key),
        }
    }
    object
}

fn asks_for_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty() || text == "false",
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

fn shaped(
    tool: &str,
    schema: &Value,
    mut object: Map<String, Value>,
    ignored: &mut Ignored,
) -> Result<Map<String, Value>, String> {
    let mut shaped = Map::new();
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let Some(value) = object.remove(key) else { continue };
        let value = match coerce::coerce(property, value) {
            Ok(Value::Array(list)) if property["items"]["properties"].is_object() => {
                Value::Array(items(tool, key, &property["items"], list, ignored)?)
            }
            Ok(value) => value,
            Err(coerce::Misfit::Nothing(shown)) => {
                ignored.add(format!("{key}={shown}"));
                continue;
            }
            Err(coerce::Misfit::Type(said)) => return Err(format!("{key} must be {said}")),
        };
        shaped.insert(key.clone(), value);
    }
    for (key, value) in object {
        if !asks_for_nothing(&value) {
            ignored.add(key.trim_start_matches('@'));
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match required.filter(|key| !shaped.contains_key(*key)).collect::<Vec<_>>().as_slice() {
        [] => Ok(shaped),
        ["new_string"] => {
            Err("new_string is missing; to delete old_string, send an empty new_string".to_owned())
        }
        [one] => Err(format!("{one} is missing")),
        several => Err(format!("{} are missing", several.join(" and "))),
    }
}

fn items(
    tool: &str,
    key: &str,
    item: &Value,
    list: Vec<Value>,
    ignored: &mut Ignored,
) -> Result<Vec<Value>, String> {
    let count = list.len();
    let mut shaped_items = Vec::with_capacity(count);
    for (number, value) in (1..).zip(list) {
        let place = |error: String| if count == 1 { error } else { format!("{key}, item {number}: {error}") };
        let given = match value {
            Value::Object(given) => given,
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Object(given)) => given,
                // A bare string is the item's one required field.
                _ => [(item["required"][0].as_str().unwrap_or_default().to_owned(), text.into())]
                    .into_iter()
                    .collect(),
            },
            other => return Err(place(format!("it must be an object, not {}", coerce::kind(&other)))),
        };
        let renamed = rename(tool, given, |name| has(item, name), ignored);
        shaped_items.push(Value::Object(shaped(tool, item, renamed, ignored).map_err(place)?));
    }
    Ok(shaped_items)
}

const TABLE: &str = include_str!("names.txt");

fn rows(tool: &str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let heading = format!("[{tool}]");
    let rows = TABLE.lines().skip_while(move |line| *line != heading).skip(1).map_while(row);
    rows.map(|(argument, names)| (argument, names.split(' ').flat_map(expanded).collect()))
}

fn row(line: &'static str) -> Option<(&'static str, &'static str)> {
    line.split_once(": ")
}

fn expanded(name: &'static str) -> std::str::Split<'static, char> {
    let list = TABLE.lines().filter_map(row).find(|(list, _)| name.starts_with('$') && *list == name);
    list.map_or(name, |(_, names)| names).split(' ')
}

/// Our argument for `key` in a call of `tool`, among those that `known` accepts.
fn our_argument(tool: &str, key: &str, known: impl Fn(&str) -> bool) -> Option<&'static str> {
    let rows = || rows(tool).filter(|(name, _)| known(name));
    // `-C` and `-c` are different options, so try an exact match first.
    let exact = rows().find(|(_, others)| others.contains(&key));
    let plain_key = plain(key);
    let alike =
        || rows().find(|(name, others)| others.iter().chain([name]).any(|name| plain(name) == plain_key));
    let slip = || tool_names::slip(&plain_key, rows().map(|(name, _)| name));
    exact.or_else(alike).map(|(name, _)| name).or_else(slip)
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_argument() {
        // Items of a list have their own arguments, where the same word may mean something else.
        let in_item = |name: &str| ["content", "status", "question", "options"].contains(&name);
        let tools = TABLE.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        assert_eq!(tools.clone().count(), 15);
        for tool in tools {
            for (name, others) in rows(tool) {
                for other in others {
                    let level = |known: &str| tool == "Note" || in_item(known) == in_item(name);
                    assert_eq!(our_argument(tool, other, level), Some(name), "{tool} {other}");
                }
            }
        }
        let grep = |key| our_argument("Grep", key, |_| true);
        assert_eq!(
            (grep("-C"), grep("-c"), grep("-i")),
            (Some("context"), Some("@counts_only"), Some("ignore_case"))
        );
        assert_eq!(our_argument("Edit", "oldString", |_| true), Some("old_string"));
        assert_eq!(our_argument("Edit", "strict", |_| true), None);
        assert_eq!(our_argument("Read", "paht", |_| true), Some("path"));
    }
}
