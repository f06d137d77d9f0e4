//! `--output-schema` goes to models that can be bound to it, in each dialect's field and in a form that servers take.

use serde_json::{Value, json};

use crate::support::answer::{Reply, answer, status};
use crate::support::replies::text;
use crate::support::server::{FakeServer, Recorded};
use crate::support::workplace::{Workplace, stderr, stdout};

const DIALECTS: [(&str, &str, &str); 3] = [
    ("responses", "gpt-6.1-sol", "/text/format"),
    ("chat", "gpt-6.1-sol", "/response_format"),
    ("anthropic", "claude-opus-5", "/output_config/format"),
];

fn run(place: &Workplace, dialect: &str, model: &str, schema: &Value, replies: Vec<Reply>) -> Vec<Recorded> {
    place.file("schema.json", schema.to_string());
    let server = FakeServer::start(replies);
    let url = server.base_url();
    let args = ["exec", "--base-url", &url, "--provider", dialect, "--model", model];
    let mut command = place.command(&[&args[..], &["--output-schema", "schema.json", "list files"]].concat());
    let out = command.env("OPENAI_API_KEY", "k").env("ANTHROPIC_API_KEY", "k").output().unwrap();
    assert_eq!(stdout(&out), "{\"files\":[\"a.txt\"]}\n", "{}", stderr(&out));
    server.requests()
}

fn files() -> Value {
    json!({"type": "object", "required": ["files"], "properties": {"files": {"type": "array", "items": {"type": "string"}}}})
}

fn good() -> Reply {
    text(r#"{"files":["a.txt"]}"#)
}

#[test]
fn each_dialect_has_its_field() {
    let place = Workplace::new();
    let mut closed = files();
    closed["additionalProperties"] = json!(false);
    for (dialect, model, at) in DIALECTS {
        let sub_agent = answer().call("Task", json!({"type": "explore", "prompt": "look"})).into();
        let requests = run(&place, dialect, model, &files(), vec![sub_agent, text("Seen."), good()]);
        let format = requests[0].body.pointer(at).unwrap_or_else(|| panic!("{}", requests[0].raw));
        assert_eq!(format["type"], "json_schema");
        let said = if dialect == "chat" { &format["json_schema"] } else { format };
        assert_eq!(said["schema"], closed, "{format}");
        assert!(dialect == "anthropic" || said["strict"] == true && said["name"] == "answer", "{format}");
        // A sub-agent answers as it likes.
        assert_eq!(requests[1].body.pointer(at), None, "{}", requests[1].raw);
        assert_eq!(requests[2].body.pointer(at), Some(format));
    }
    let requests = run(&place, "chat", "some-local-model", &files(), vec![good()]);
    assert_eq!(requests[0].body.get("response_format"), None);
}

#[test]
fn what_a_server_refuses_is_left_to_words() {
    let place = Workplace::new();
    let gemini = ("chat", "gemini-3.1-pro-preview", "/response_format");
    let refusals = [
        "Missing required parameter: 'text.format.name'.",
        "Invalid schema for response_format 'answer': In context=(), 'required' is required to include every key.",
        "output_config.format: Structured outputs are not available for this model.",
        "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'generation_config.response_schema'",
    ];
    for ((dialect, model, at), refusal) in DIALECTS.into_iter().chain([gemini]).zip(refusals) {
        let refused =
            status(400, &json!({"error": {"message": refusal, "type": "invalid_request_error"}}).to_string());
        let requests = run(&place, dialect, model, &files(), vec![refused, good()]);
        assert!(
            requests[0].body.pointer(at).is_some() && requests[1].body.pointer(at).is_none(),
            "{refusal}"
        );
        assert!(requests[1].raw.contains("valid against this JSON Schema"), "{}", requests[1].raw);
        assert_eq!(requests[1].body.get("tools"), requests[0].body.get("tools"));
    }
}

/// What stays describes every answer that the whole schema allows, or nothing is sent.
#[test]
fn schemas_are_narrowed_or_not_sent() {
    let place = Workplace::new();
    let with = |member: Value, more: Value| {
        let mut schema = files();
        schema["properties"]["more"] = member;
        more.as_object().unwrap().iter().for_each(|(name, value)| schema[name] = value.clone());
        schema
    };
    let rows = [
        (
            with(json!({"type": "integer", "minimum": 1, "title": "N"}), json!({})),
            Some(json!({"type": "integer"})),
        ),
        (with(json!({"const": "a"}), json!({})), Some(json!({"const": "a", "type": ["string"]}))),
        (
            with(json!({"enum": ["a", "b", null]}), json!({})),
            Some(json!({"enum": ["a", "b", null], "type": ["null", "string"]})),
        ),
        (
            with(json!({"oneOf": [{"type": "null"}, {"type": "string", "pattern": "^a"}]}), json!({})),
            Some(json!({"anyOf": [{"type": "null"}, {"type": "string"}]})),
        ),
        (
            with(json!({"$ref": "#/$defs/n"}), json!({"$defs": {"n": {"type": "number"}}})),
            Some(json!({"$ref": "#/$defs/n"})),
        ),
        (with(json!({"type": "object", "additionalProperties": {"type": "string"}}), json!({})), None),
        (
            with(
                json!({"$ref": "#/$defs/n"}),
                json!({"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}),
            ),
            None,
        ),
        (with(json!({}), json!({})), None),
        (with(json!({"type": "string"}), json!({"patternProperties": {"^x": {"type": "string"}}})), None),
        (with(json!({"type": "string"}), json!({"anyOf": [{"required": ["files"]}]})), None),
    ];
    for (schema, kept) in rows {
        let requests = run(&place, "responses", "gpt-6.1-sol", &schema, vec![good()]);
        let format = &requests[0].body["text"]["format"];
        match kept {
            Some(kept) => {
                assert_eq!(format["schema"]["properties"]["more"], kept, "{schema}");
                assert_eq!(format["strict"], false, "an optional member");
                assert_eq!(format["schema"].get("$defs"), schema.get("$defs"));
            }
            None => assert_eq!(*format, Value::Null, "{schema}"),
        }
    }
}
