//! Converts a value to the schema's type if it can have only one meaning, such as `"5"` or `5.0` to 5.

use serde_json::{Value, json};

use base::text::elide;

pub(crate) enum Misfit {
    /// A meaningless value, such as -1 lines, as shown to the model.
    Nothing(String),
    Type(String),
}

pub(super) fn coerce(property: &Value, value: Value) -> Result<Value, Misfit> {
    if let Some(words) = property["enum"].as_array() {
        return Ok(one_of(words, value));
    }
    let Some(wanted) = property["type"].as_str() else { return Ok(value) };
    match wanted {
        "string" => string(value),
        "integer" => integer(value),
        "boolean" => truth(&value).map(Value::from).ok_or_else(|| misfit("true or false", &value)),
        "array" => list(property, value),
        _ => Ok(value),
    }
}

/// The matching item of the list, ignoring case, spaces and dashes.
fn one_of(words: &[Value], value: Value) -> Value {
    let plain = |text: &str| text.trim().to_lowercase().replace([' ', '-'], "_");
    let Some(text) = value.as_str().map(plain) else { return value };
    words.iter().find(|word| word.as_str().is_some_and(|word| word == text)).cloned().unwrap_or(value)
}

fn string(value: Value) -> Result<Value, Misfit> {
    // A question's option with a description, or a file with lines.
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let named = match (text("label"), text("description")) {
        (Some(label), Some(description)) => Some(json!(format!("{label} — {description}"))),
        (label, _) => label.or_else(|| text("path")).map(|text| json!(text)),
    };
    match value {
        Value::String(_) => Ok(value),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string().into()),
        Value::Array(mut list) if list.len() == 1 => string(list.remove(0)),
        value => named.ok_or_else(|| misfit("a string", &value)),
    }
}

fn integer(value: Value) -> Result<Value, Misfit> {
    match number(&value) {
        Some(number) if number < 0.0 => Err(Misfit::Nothing(elide(&value.to_string(), 20))),
        // Above this, a float doesn't represent an exact integer.
        Some(number) if number.fract() == 0.0 && number < 9e15 => Ok(json!(number as u64)),
        _ => Err(misfit("a whole number", &value)),
    }
}

pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            text.strip_prefix('#').unwrap_or(text).parse().ok().filter(|number: &f64| number.is_finite())
        }
        _ => None,
    }
}

pub(super) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Number(number) => truth(&number.to_string().into()),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" | "1.0" | "on" => Some(true),
            "false" | "no" | "0" | "0.0" | "off" | "" | "none" | "null" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn list(property: &Value, value: Value) -> Result<Value, Misfit> {
    let list = match value {
        Value::Array(list) => list,
        Value::Object(_) => vec![value],
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(list)) => list,
            Ok(object @ Value::Object(_)) => vec![object],
            _ if property["items"]["type"] == "string" => {
                text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::from).collect()
            }
            _ if !text.trim_start().starts_with(['[', '{']) => vec![text.into()],
            Err(error) => {
                return Err(Misfit::Type(format!("an array; as text it is not valid JSON: {error}")));
            }
            Ok(other) => return Err(misfit("an array", &other)),
        },
        value => return Err(misfit("an array", &value)),
    };
    if property["items"]["type"] != "string" {
        return Ok(list.into());
    }
    Ok(Value::Array(list.into_iter().map(string).collect::<Result<_, _>>()?))
}

fn misfit(wanted: &str, value: &Value) -> Misfit {
    Misfit::Type(format!("{wanted}, not {}", kind(value)))
}

pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => elide(&other.to_string(), 60),
    }
}
