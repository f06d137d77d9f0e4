//! Long JSON by its shape: first elements of an array only, long strings cut, all keys kept. Pure.

use serde_json::{Map, Value};

use base::text;

/// Array elements, object entries and string characters kept.
const ELEMENTS: usize = 3;
const ENTRIES: usize = 40;
const CHARS: usize = 200;
/// Deeper values are named by kind only.
const DEPTH: usize = 6;

/// The outline of a text that is one JSON object or array; otherwise `None`.
pub fn outline(whole: &str) -> Option<String> {
    let trimmed = whole.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    let short = serde_json::to_string_pretty(&shape(&value, 0)).ok()?;
    (short.len() < whole.len()).then_some(short)
}

fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(string) => Value::String(text::elide(string, CHARS)),
        Value::Array(values) if depth >= DEPTH => Value::String(format!("[{} elements]", values.len())),
        Value::Object(entries) if depth >= DEPTH => Value::String(format!("{{{} entries}}", entries.len())),
        Value::Array(values) => {
            let mut kept: Vec<Value> =
                values.iter().take(ELEMENTS).map(|value| shape(value, depth + 1)).collect();
            if values.len() > ELEMENTS {
                kept.push(Value::String(format!("… {} more elements", values.len() - ELEMENTS)));
            }
            Value::Array(kept)
        }
        Value::Object(entries) => {
            let mut kept: Map<String, Value> = entries
                .iter()
                .take(ENTRIES)
                .map(|(key, value)| (key.clone(), shape(value, depth + 1)))
                .collect();
            if entries.len() > ENTRIES {
                kept.insert(
                    "…".to_owned(),
                    Value::String(format!("{} more entries", entries.len() - ENTRIES)),
                );
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_keep_their_first_elements() {
        let whole =
            serde_json::json!({"items": (0..50).map(|n| serde_json::json!({"id": n})).collect::<Vec<_>>()});
        let short = outline(&whole.to_string()).unwrap_or_default();
        assert!(short.contains("… 47 more elements") && short.contains("\"id\": 2"), "{short}");
        assert_eq!(outline("no json"), None);
        assert_eq!(outline("{broken"), None);
    }
}
