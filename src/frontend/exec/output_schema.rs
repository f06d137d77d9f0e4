//! The schema of an answer (`--output-schema`): instruction and validation. JSON Schema 2020-12 plus draft 7
//! tuples, as far as Pydantic, Zod and OpenAI's structured outputs use it; other keywords are refused, because
//! skipping a rule silently is worse. `jsonschema` (0.61.2) would add 5 MB to the binary.

use std::slice;
use std::sync::Arc;

use fancy_regex::Regex;
use serde_json::{Map, Value};

use base::search::words::listed;

const MAX_DEPTH: usize = 64;
/// Keywords that don't affect validity; `format` is only an annotation, as in the standard.
const NOTES: &str = "$schema $id $comment title description default examples format deprecated readOnly writeOnly \
                     $anchor contentEncoding contentMediaType discriminator markdownDescription";
/// Keywords that take a schema, a number and a whole number.
const SCHEMAS: &str = "additionalProperties additionalItems not if then else contains propertyNames";
const NUMBERS: &str = "minimum maximum exclusiveMinimum exclusiveMaximum";
const COUNTS: &str =
    "minProperties maxProperties minItems maxItems minLength maxLength minContains maxContains";
const TYPES: &str = "null boolean object array number integer string";

#[derive(Clone, Debug)]
pub struct OutputSchema(Arc<Value>);

impl OutputSchema {
    pub fn parse(text: &str) -> Result<Self, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("it isn't valid JSON: {error}"))?;
        check(&schema, &schema, "#", 0)?;
        Ok(Self(Arc::new(schema)))
    }

    /// For models that support it.
    pub fn value(&self) -> Arc<Value> {
        Arc::clone(&self.0)
    }

    pub fn instruction(&self) -> String {
        format!(
            "<system-reminder>Your last message must be one JSON value and nothing else, valid against this JSON Schema: \
             {}</system-reminder>",
            self.0
        )
    }

    pub fn read(&self, answer: &str) -> Result<Value, String> {
        let answer = answer.trim();
        let fenced = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
        let plain = fenced.map_or(answer, |inner| inner.strip_prefix("json").unwrap_or(inner).trim());
        let value: Value =
            serde_json::from_str(plain).map_err(|error| format!("it is not one JSON value: {error}"))?;
        valid(&self.0, &self.0, &value, "$", 0)?;
        Ok(value)
    }
}

pub fn correction(why: &str) -> String {
    format!(
        "Your last message is not valid against the JSON Schema: {why}. Send the corrected JSON value and nothing else."
    )
}

fn check(root: &Value, schema: &Value, at: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{at}: schemas are nested too deep"));
    }
    let object = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(object) => object,
        _ => return Err(format!("{at}: a schema is an object, or true or false")),
    };
    let below = |schema: &Value, name: &str| check(root, schema, &format!("{at}/{name}"), depth + 1);
    for (keyword, value) in object {
        let members = || value.as_object().into_iter().flatten();
        let items = || value.as_array().into_iter().flatten();
        let is_list = |of: fn(&Value) -> bool| value.is_array() && items().all(of);
        // Whether the keyword's value is valid, and what it must be.
        let (fits, should) = match keyword.as_str() {
            "patternProperties"
                if !value.is_object() || members().any(|(name, _)| Regex::new(name).is_err()) =>
            {
                (false, "an object with regular expressions as names")
            }
            "$defs" | "definitions" | "properties" | "patternProperties" => {
                members().try_for_each(|(name, schema)| below(schema, &format!("{keyword}/{name}")))?;
                (value.is_object(), "an object")
            }
            "items" if !value.is_array() => (below(value, keyword).map(|()| true)?, "a schema"),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" | "items" => {
                items().enumerate().try_for_each(|(n, schema)| below(schema, &format!("{keyword}/{n}")))?;
                (value.is_array(), "a list of schemas")
            }
            name if listed(SCHEMAS, name) => (below(value, keyword).map(|()| true)?, "a schema"),
            "$ref" => {
                let target = value.as_str().and_then(|target| resolve(root, target));
                (target.is_some(), "a place in the same schema, such as #/$defs/name")
            }
            "type" => (
                is_type_name(value) || is_list(is_type_name),
                "one of null, boolean, object, array, number, integer, string, or a list of them",
            ),
            "pattern" => {
                (value.as_str().is_some_and(|text| Regex::new(text).is_ok()), "a regular expression")
            }
            "required" => (is_list(Value::is_string), "a list of names"),
            "dependentRequired" => (
                value.is_object() && members().all(|(_, names)| names.is_array()),
                "an object of lists of names",
            ),
            "multipleOf" => (value.as_f64().is_some_and(|step| step > 0.0), "a number above 0"),
            "enum" => (value.is_array(), "a list"),
            name if listed(NUMBERS, name) => (value.is_number(), "a number"),
            name if listed(COUNTS, name) => (value.is_u64(), "a whole number"),
            "const" | "uniqueItems" => (true, ""),
            note if listed(NOTES, note) || note.starts_with("x-") => (true, ""),
            _ => return Err(format!("{at}/{keyword}: this keyword is not supported")),
        };
        if !fits {
            return Err(format!("{at}/{keyword} must be {should}"));
        }
    }
    Ok(())
}

fn is_type_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| listed(TYPES, name))
}

fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    root.pointer(target.strip_prefix('#')?)
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => value.is_number(),
    }
}

fn valid(root: &Value, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{at}: nested too deep"));
    }
    let rules = match schema {
        Value::Bool(false) => return Err(format!("{at} is not allowed")),
        Value::Object(rules) => rules,
        _ => return Ok(()),
    };
    let inner = |schema: &Value| valid(root, schema, value, at, depth + 1);
    if let Some(target) = rules.get("$ref").and_then(Value::as_str).and_then(|target| resolve(root, target)) {
        inner(target)?;
    }
    let types = rules.get("type").map(|kind| kind.as_array().map_or(slice::from_ref(kind), Vec::as_slice));
    let types = types.map(|types| types.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    if let Some(names) = types.filter(|names| !names.iter().any(|name| is_type(name, value))) {
        return Err(format!("{at} must be {}", names.join(" or ")));
    }
    let all = rules.get("enum").and_then(Value::as_array);
    if let Some(all) = all.filter(|all| !all.iter().any(|one| equal(one, value))) {
        return Err(format!("{at} must be one of {}", Value::from(all.clone())));
    }
    if let Some(only) = rules.get("const").filter(|only| !equal(only, value)) {
        return Err(format!("{at} must be {only}"));
    }
    let rules = Rules { root, rules, at, depth };
    let of = |keyword: &str| rules.list(keyword);
    of("allOf").iter().try_for_each(inner)?;
    if !of("anyOf").is_empty() && !of("anyOf").iter().any(|schema| inner(schema).is_ok()) {
        return Err(format!("{at} matches none of anyOf"));
    }
    let fitting = of("oneOf").iter().filter(|schema| inner(schema).is_ok()).count();
    if !of("oneOf").is_empty() && fitting != 1 {
        return Err(format!("{at} matches {fitting} of oneOf, not one"));
    }
    if rules.get("not").is_some_and(|schema| inner(schema).is_ok()) {
        return Err(format!("{at} matches the `not` schema"));
    }
    if let Some(condition) = rules.get("if") {
        let branch = if inner(condition).is_ok() { "then" } else { "else" };
        rules.get(branch).map_or(Ok(()), inner)?;
    }
    match value {
        Value::Object(members) => rules.object(members),
        Value::Array(items) => rules.array(items),
        Value::String(text) => {
            rules.within("characters", ("minLength", "maxLength"), text.chars().count())?;
            let Some(pattern) = rules.get("pattern").and_then(Value::as_str) else { return Ok(()) };
            let matches = Regex::new(pattern).and_then(|regex| regex.is_match(text)).unwrap_or(false);
            if matches { Ok(()) } else { Err(format!("{at} does not match {pattern}")) }
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let limit = |keyword: &str| rules.get(keyword).and_then(Value::as_f64);
            let fits = limit("minimum").is_none_or(|least| number >= least)
                && limit("maximum").is_none_or(|most| number <= most)
                && limit("exclusiveMinimum").is_none_or(|least| number > least)
                && limit("exclusiveMaximum").is_none_or(|most| number < most);
            if let Some(step) = limit("multipleOf").filter(|step| !is_whole(number / step)) {
                return Err(format!("{at} must be a multiple of {step}"));
            }
            if fits { Ok(()) } else { Err(format!("{at} is out of its range")) }
        }
        _ => Ok(()),
    }
}

fn is_whole(number: f64) -> bool {
    (number - number.round()).abs() < 1e-9 * number.abs().max(1.0)
}

struct Rules<'a> {
    root: &'a Value,
    rules: &'a Map<String, Value>,
    at: &'a str,
    depth: usize,
}

impl Rules<'_> {
    fn get(&self, keyword: &str) -> Option<&Value> {
        self.rules.get(keyword)
    }

    fn list(&self, keyword: &str) -> &[Value] {
        self.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn map(&self, keyword: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.get(keyword).and_then(Value::as_object).into_iter().flatten()
    }

    fn count(&self, keyword: &str) -> Option<u64> {
        self.get(keyword).and_then(Value::as_u64)
    }

    fn below(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        valid(self.root, schema, value, at, self.depth + 1)
    }

    fn object(&self, members: &Map<String, Value>) -> Result<(), String> {
        let at = self.at;
        let mut required = self.list("required").iter().filter_map(Value::as_str);
        if let Some(missing) = required.find(|name| !members.contains_key(*name)) {
            return Err(format!("{at} has no {missing}"));
        }
        self.within("members", ("minProperties", "maxProperties"), members.len())?;
        for (name, needed) in self.map("dependentRequired").filter(|(name, _)| members.contains_key(*name)) {
            let mut needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = needed.find(|name| !members.contains_key(*name)) {
                return Err(format!("{at} has {name} but no {missing}"));
            }
        }
        for (name, value) in members {
            let at = format!("{at}.{name}");
            if let Some(schema) = self.get("propertyNames") {
                self.below(schema, &Value::from(name.as_str()), &format!("the name of {at}"))?;
            }
            let fits =
                |pattern: &str| Regex::new(pattern).is_ok_and(|regex| regex.is_match(name).unwrap_or(false));
            let patterns = self.map("patternProperties").filter(|(pattern, _)| fits(pattern));
            let named = self.get("properties").and_then(|all| all.get(name));
            let mut schemas: Vec<&Value> =
                named.into_iter().chain(patterns.map(|(_, schema)| schema)).collect();
            if schemas.is_empty() {
                schemas.extend(self.get("additionalProperties"));
            }
            schemas.into_iter().try_for_each(|schema| self.below(schema, value, &at))?;
        }
        Ok(())
    }

    fn array(&self, items: &[Value]) -> Result<(), String> {
        let at = self.at;
        self.within("items", ("minItems", "maxItems"), items.len())?;
        let (first, others) = match self.get("items") {
            Some(Value::Array(first)) => (first.as_slice(), self.get("additionalItems")),
            each => (self.list("prefixItems"), each),
        };
        for (number, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(number).or(others) {
                self.below(schema, item, &format!("{at}[{number}]"))?;
            }
        }
        if let Some(schema) = self.get("contains") {
            let count = items.iter().filter(|item| self.below(schema, item, at).is_ok()).count() as u64;
            let least = self.count("minContains").unwrap_or(1);
            let most = self.count("maxContains").unwrap_or(u64::MAX);
            if !(least..=most).contains(&count) {
                return Err(format!("{at} has {count} items that match `contains`"));
            }
        }
        let twice = |(number, item)| items[..number].iter().any(|other| equal(other, item));
        if self.get("uniqueItems") == Some(&Value::Bool(true)) && items.iter().enumerate().any(twice) {
            return Err(format!("{at} has duplicate items"));
        }
        Ok(())
    }

    fn within(&self, of: &str, (least, most): (&str, &str), count: usize) -> Result<(), String> {
        let (at, has) = (self.at, count as u64);
        match (self.count(least), self.count(most)) {
            (Some(least), _) if has < least => {
                Err(format!("{at} has {count} {of}, at least {least} are needed"))
            }
            (_, Some(most)) if has > most => {
                Err(format!("{at} has {count} {of}, at most {most} are allowed"))
            }
            _ => Ok(()),
        }
    }
}

/// As JSON Schema has it: numbers are equal by value, so that 1.0 is 1.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a == b)
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn valid_and_not() {
        let schema = OutputSchema::parse(
            &json!({"type": "object", "required": ["files"], "additionalProperties": false,
                "properties": {"files": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/file"}},
                    "level": {"enum": ["low", "high"]}, "n": {"type": "integer", "minimum": 0}},
                "$defs": {"file": {"type": "string", "pattern": "^[a-z]+\\.rs$"}}})
            .to_string(),
        )
        .unwrap();
        assert!(schema.read("```json\n{\"files\": [\"a.rs\"], \"n\": 2}\n```").is_ok());
        for (answer, why) in [
            ("Here: {}", "not one JSON value"),
            ("{}", "$ has no files"),
            (r#"{"files": []}"#, "at least 1"),
            (r#"{"files": ["A"]}"#, "$.files[0] does not match"),
            (r#"{"files": ["a.rs"], "x": 1}"#, "$.x is not allowed"),
            (r#"{"files": ["a.rs"], "level": "mid"}"#, "$.level must be one of"),
            (r#"{"files": ["a.rs"], "n": 1.5}"#, "$.n must be integer"),
            (r#"{"files": ["a.rs"], "n": -1}"#, "out of its range"),
        ] {
            let said = schema.read(answer).unwrap_err();
            assert!(said.contains(why), "{answer}: {said}");
        }
    }

    #[test]
    fn keywords_that_generators_write() {
        for (schema, good, bad) in [
            (json!({"multipleOf": 0.1}), json!([0.3, 2]), json!([0.35])),
            (json!({"not": {"type": "null"}}), json!([1]), json!([null])),
            (
                json!({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"type": "integer"}}),
                json!([{"a": 1}]),
                json!([{"A": 1}, {"a": "x"}]),
            ),
            (
                json!({"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
                json!([{"x-a": "b"}]),
                json!([{"x-a": 1}, {"y": "b"}]),
            ),
            (
                json!({"items": [{"type": "string"}, {"type": "number"}], "additionalItems": false}),
                json!([["a", 1], ["a"]]),
                json!([[1], ["a", 1, 2]]),
            ),
            (
                json!({"if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}),
                json!([{"kind": "a", "x": 1}, {"kind": "b", "y": 1}]),
                json!([{"kind": "a"}, {"kind": "b", "x": 1}]),
            ),
            (json!({"enum": [1, "a"]}), json!([1.0, 1, "a"]), json!([1.5, "1"])),
            (json!({"const": {"a": [1]}}), json!([{"a": [1.0]}]), json!([{"a": [2]}, {"a": [1], "b": 1}])),
            (json!({"contains": {"const": 1}, "maxContains": 1}), json!([[1, 2]]), json!([[2], [1, 1]])),
            (json!({"dependentRequired": {"a": ["b"]}}), json!([{"a": 1, "b": 1}, {}]), json!([{"a": 1}])),
            (
                json!({"discriminator": {"propertyName": "t"}, "x-order": 1, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
                json!([{"a": 1}]),
                json!([{}, {"a": 1, "b": 1}]),
            ),
        ] {
            let parsed = OutputSchema::parse(&schema.to_string()).unwrap();
            let read = |value: &Value| parsed.read(&value.to_string());
            good.as_array()
                .unwrap()
                .iter()
                .for_each(|value| assert!(read(value).is_ok(), "{schema} {value}"));
            bad.as_array()
                .unwrap()
                .iter()
                .for_each(|value| assert!(read(value).is_err(), "{schema} {value}"));
        }
    }

    #[test]
    fn unknown_keywords_are_refused() {
        for (schema, why) in [
            (json!({"properties": {"a": {"multipleOf": 0}}}), "#/properties/a/multipleOf"),
            (json!({"patternProperties": {"(": {}}}), "#/patternProperties must be"),
            (json!({"unevaluatedProperties": false}), "not supported"),
            (json!({"type": "text"}), "#/type must be"),
            (json!({"$ref": "https://x"}), "#/$ref must be"),
            (json!({"minLenght": 2}), "not supported"),
            (json!([]), "a schema is"),
        ] {
            let said = OutputSchema::parse(&schema.to_string()).unwrap_err();
            assert!(said.contains(why), "{schema}: {said}");
        }
        let looping = OutputSchema::parse(r##"{"$ref": "#"}"##).unwrap();
        assert!(looping.read("1").unwrap_err().contains("too deep"));
    }
}
