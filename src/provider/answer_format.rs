//! An answer's schema (`--output-schema`) in the form that servers enforce. Rules that they don't support are left out, because
//! the answer is checked against all of them afterwards. If nothing can be enforced, the prompt asks for it. Based on `openai`
//! 6.49.0 and `@anthropic-ai/sdk` 1.14.0 for npm (`lib/transform.ts`, `lib/transform-json-schema.ts`), November 2026.

use std::collections::BTreeSet;
use std::slice;

use serde_json::{Map, Value, json};

use base::config::provider::models;
use base::model::request::Params;

const NAME: &str = "answer";
const KEPT: &[&str] = &["type", "enum", "const", "description"];
/// These can allow members in addition to an object's own.
const BESIDE: &[&str] = &["allOf", "anyOf", "oneOf", "patternProperties"];
const DEFINITIONS: &[&str] = &["$defs", "definitions"];

/// For Responses.
pub fn openai(params: &Params) -> Option<Value> {
    let schema = enforced(params)?;
    // A strict schema has no optional members.
    let strict = requires_all(&schema);
    Some(json!({"type": "json_schema", "name": NAME, "schema": schema, "strict": strict}))
}

pub fn openai_chat(params: &Params) -> Option<Value> {
    let Value::Object(mut format) = openai(params)? else { return None };
    let kind = format.shift_remove("type");
    Some(json!({"type": kind, "json_schema": format}))
}

pub fn anthropic(params: &Params) -> Option<Value> {
    Some(json!({"type": "json_schema", "schema": enforced(params)?}))
}

/// Models not marked in the table might be unable to call tools if bound to JSON.
fn enforced(params: &Params) -> Option<Value> {
    models::facts(&params.model).filter(|facts| facts.schemas)?;
    let whole = params.answer_schema.as_deref()?;
    let mut narrowing = Narrowing { whole, open: BTreeSet::new() };
    let mut narrowed = narrowing.schema(whole)?;
    for &name in DEFINITIONS.iter().filter(|name| whole.get(**name).is_some()) {
        let all = whole[name].as_object()?.iter();
        let all = all.map(|(name, one)| Some((name.clone(), narrowing.schema(one)?)));
        narrowed[name] = Value::Object(all.collect::<Option<_>>()?);
    }
    (narrowed["type"] == "object").then_some(narrowed)
}

struct Narrowing<'a> {
    whole: &'a Value,
    /// References being followed; not all servers support recursion.
    open: BTreeSet<&'a str>,
}

impl<'a> Narrowing<'a> {
    fn schema(&mut self, schema: &'a Value) -> Option<Value> {
        let rules = schema.as_object()?;
        if let Some(target) = rules.get("$ref").and_then(Value::as_str) {
            let place = self.whole.pointer(target.strip_prefix('#')?)?;
            let defined = DEFINITIONS.iter().any(|name| target.starts_with(&format!("#/{name}/")));
            if !defined || !self.open.insert(target) {
                return None;
            }
            self.schema(place)?;
            self.open.remove(target);
            return Some(json!({"$ref": target}));
        }
        let mut kept: Map<String, Value> = KEPT
            .iter()
            .filter_map(|&name| Some((name.to_owned(), rules.get(name)?.clone())))
            .filter(|(name, value)| name != "enum" || is_plain_list(value))
            .filter(|(name, value)| name != "const" || is_plain(value))
            .collect();
        if let Some(any) = rules.get("anyOf").or_else(|| rules.get("oneOf")) {
            let any: Option<Vec<Value>> = any.as_array()?.iter().map(|one| self.schema(one)).collect();
            kept.insert("anyOf".to_owned(), Value::Array(any?));
        }
        let is = |name: &str| match rules.get("type") {
            Some(Value::Array(types)) => types.iter().any(|one| one == name),
            one => one.is_some_and(|one| one == name),
        };
        if is("object") {
            self.object(rules, &mut kept)?;
        }
        if is("array") {
            kept.insert("items".to_owned(), self.schema(rules.get("items")?)?);
        }
        if let Some(values) =
            kept.get("enum").or_else(|| kept.get("const")).filter(|_| !kept.contains_key("type"))
        {
            let all = values.as_array().map_or(slice::from_ref(values), Vec::as_slice);
            let types: BTreeSet<&str> = all.iter().map(type_of).collect();
            let types = json!(types);
            kept.insert("type".to_owned(), types);
        }
        // Without either, any value is valid, which can't be enforced.
        (kept.contains_key("type") || kept.contains_key("anyOf")).then_some(Value::Object(kept))
    }

    /// Forbids members that aren't named: most schemas allow them, but few need them.
    fn object(&mut self, rules: &'a Map<String, Value>, kept: &mut Map<String, Value>) -> Option<()> {
        let members = rules.get("properties")?.as_object().filter(|all| !all.is_empty())?;
        let required = rules.get("required").cloned().unwrap_or_else(|| json!([]));
        let mut names = required.as_array()?.iter().filter_map(Value::as_str);
        let is_open = rules.get("additionalProperties").is_some_and(Value::is_object)
            || BESIDE.iter().any(|name| rules.contains_key(*name))
            || names.any(|name| !members.contains_key(name));
        if is_open {
            return None;
        }
        let members = members.iter().map(|(name, one)| Some((name.clone(), self.schema(one)?)));
        kept.insert("properties".to_owned(), Value::Object(members.collect::<Option<_>>()?));
        kept.insert("required".to_owned(), required);
        kept.insert("additionalProperties".to_owned(), json!(false));
        Some(())
    }
}

fn is_plain(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

fn is_plain_list(value: &Value) -> bool {
    value.as_array().is_some_and(|all| all.iter().all(is_plain))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        _ => "string",
    }
}

fn requires_all(schema: &Value) -> bool {
    let required = |name: &String| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name))
    };
    let members = schema["properties"].as_object();
    members.is_none_or(|members| members.keys().all(required))
        && match schema {
            Value::Object(rules) => rules.values().all(requires_all),
            Value::Array(all) => all.iter().all(requires_all),
            _ => true,
        }
}
