//! A server's questions to the user, one per property of its schema; an empty answer selects the default.

use serde_json::{Map, Value};

use crate::api::requires;
use crate::ports::Asker;
use base::protocol::approval::AskedQuestion;

/// The user's values in the schema's form; `None` if the user declined or left out a required value.
pub async fn ask(asker: &dyn Asker, message: &str, schema: &Value) -> Option<Value> {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    if properties.is_empty() {
        let question = AskedQuestion {
            question: message.to_owned(),
            options: vec!["Yes".into(), "No".into()],
            optional: false,
        };
        let replies = asker.ask(vec![question]).await?;
        let yes = replies.first().is_none_or(|reply| !reply.to_lowercase().starts_with('n'));
        return yes.then(|| Value::Object(Map::new()));
    }
    let questions = properties.iter().map(|(name, shape)| AskedQuestion {
        optional: !requires(schema, name) || !shape["default"].is_null(),
        ..question(message, name, shape)
    });
    let questions = questions.collect();
    let replies = asker.ask(questions).await?;
    let mut content = Map::new();
    for ((name, shape), reply) in properties.iter().zip(replies) {
        match value(shape, reply.trim()) {
            Some(value) => {
                content.insert(name.clone(), value);
            }
            None if requires(schema, name) => return None,
            None => {}
        }
    }
    Some(Value::Object(content))
}

fn question(message: &str, name: &str, shape: &Value) -> AskedQuestion {
    let text = |key: &str| shape[key].as_str().filter(|text| !text.is_empty());
    let mut question = format!("{message}\n{}", text("title").unwrap_or(name));
    if let Some(description) = text("description") {
        question.push_str(&format!(": {description}"));
    }
    let default = &shape["default"];
    if !default.is_null() {
        question.push_str(&format!(" [{}]", default.as_str().map_or(default.to_string(), str::to_owned)));
    }
    let options = match shape["type"].as_str() {
        Some("boolean") => vec!["yes".to_owned(), "no".to_owned()],
        _ => choices(shape).into_iter().map(|(_, label)| label).collect(),
    };
    AskedQuestion { question, options, optional: false }
}

fn choices(shape: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let plain =
        |all: &Value| -> Vec<String> { all.as_array().into_iter().flatten().filter_map(text).collect() };
    let shape = if shape["items"].is_object() { &shape["items"] } else { shape };
    let values = plain(&shape["enum"]);
    if !values.is_empty() {
        let names = plain(&shape["enumNames"]);
        let label = |(at, value): (usize, String)| (value.clone(), names.get(at).cloned().unwrap_or(value));
        return values.into_iter().enumerate().map(label).collect();
    }
    let titled = shape["oneOf"].as_array().or_else(|| shape["anyOf"].as_array());
    let titled = titled.into_iter().flatten().filter_map(|one| {
        let value = text(&one["const"])?;
        Some((value.clone(), text(&one["title"]).unwrap_or(value)))
    });
    titled.collect()
}

/// The reply as the schema's type; `None` if it doesn't fit and there is no default.
fn value(shape: &Value, reply: &str) -> Option<Value> {
    if reply.is_empty() {
        return Some(shape["default"].clone()).filter(|default| !default.is_null());
    }
    let choices = choices(shape);
    let chosen = |reply: &str| {
        let is = |(value, label): &&(String, String)| reply == value || reply.eq_ignore_ascii_case(label);
        if choices.is_empty() { Some(reply.to_owned()) } else { Some(choices.iter().find(is)?.0.clone()) }
    };
    match shape["type"].as_str() {
        Some("boolean") => match reply.to_lowercase().as_str() {
            "yes" | "y" | "true" => Some(true.into()),
            "no" | "n" | "false" => Some(false.into()),
            _ => None,
        },
        Some("integer") => reply.parse::<i64>().ok().map(Value::from),
        Some("number") => reply.parse::<f64>().ok().map(Value::from),
        Some("array") => {
            let all = reply.split(',').map(|one| chosen(one.trim()).map(Value::from));
            all.collect::<Option<Vec<_>>>().map(Value::from)
        }
        _ => chosen(reply).map(Value::from),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;

    struct Replies(&'static [&'static str]);

    impl Asker for Replies {
        fn ask(&self, _: Vec<AskedQuestion>) -> BoxFuture<'_, Option<Vec<String>>> {
            let replies = self.0.iter().map(|reply| (*reply).to_owned()).collect();
            Box::pin(async { Some(replies) })
        }
    }

    #[tokio::test]
    async fn values_and_defaults() {
        let schema = json!({"required": ["n"], "properties": {
            "n": {"type": "integer", "default": 3},
            "s": {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]},
            "b": {"type": "boolean", "default": true},
            "l": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X-ray"}, {"const": "y"}]}},
        }});
        let fields = &schema;
        let asked =
            |replies: &'static [&'static str]| async move { ask(&Replies(replies), "?", fields).await };
        assert_eq!(asked(&["", "", "", ""]).await, Some(json!({"n": 3, "b": true})));
        let all = json!({"n": 5, "s": "b", "b": false, "l": ["x", "y"]});
        assert_eq!(asked(&["5", "second", "no", "x-ray, y"]).await, Some(all));
        assert_eq!(asked(&["five", "", "", ""]).await, None);
        let shown = question("m", "s", &schema["properties"]["s"]);
        assert_eq!((shown.question.as_str(), shown.options.len()), ("m\ns", 2));
    }
}
