//! Whole request bodies in both dialects: what a server gets, byte for byte.

use std::sync::Arc;

use base::model::call::{ToolCall, ToolSpec};
use base::model::item::Reasoning;
use base::model::request::{Block, Message, Params, Request};
use provider::anthropic;
use provider::chat::body;
use provider::responses;
use provider::wire::address::Host;
use serde_json::{Value, json};
use tools::registry;

use crate::support::answer::Dialect;
use crate::support::check::check;

const LENIENT: bool = false;
const STRICT: bool = true;

pub fn call(id: &str, name: &str, args: &str) -> Message {
    Message::Call(Arc::new(ToolCall { id: id.into(), name: name.into(), args: args.into() }))
}

pub fn result(id: &str, text: &str, error: bool) -> Message {
    Message::Result { call_id: id.into(), text: text.into(), error }
}

pub fn reasoning(text: &str, opaque: Value) -> Message {
    Message::Reasoning(Arc::new(Reasoning { text: text.into(), opaque: Some(opaque) }))
}

fn signed(text: &str) -> Message {
    let block = json!({"type": "thinking", "thinking": text, "signature": "c2ln"});
    reasoning(text, json!({"kind": "anthropic", "block": block}))
}

/// A turn with everything in it: thinking of both kinds, parallel calls, broken arguments, steering, a recap.
fn request() -> Request {
    let tool = ToolSpec {
        name: "Read".into(),
        description: "Reads a file.".into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    };
    Request {
        system: vec![Block { text: "You are an agent.".into() }, Block { text: "# Rules".into() }],
        tools: [tool].into(),
        messages: vec![
            Message::User("Fix a.rs".into()),
            signed("First read."),
            reasoning("Read it.", json!({"kind": "openai-reasoning-content", "field": "reasoning_content"})),
            Message::Assistant("I read.".into()),
            call("c1", "Read", "{\"path\": \"a.rs\"}"),
            call("c2", "Read", "{\"path\": "),
            result("c1", "1\tfn a() {}", false),
            result("c2", "error INVALID_PARAM: no JSON", true),
            Message::User("also b.rs".into()),
            call("functions.Read:0", "functions.Read", ""),
            result("functions.Read:0", "", false),
            Message::Assistant("".into()),
            Message::User("[0/1] Pending: b.rs".into()),
        ],
        cache_marks: vec![2, 8, 11],
        params: Params {
            model: "m".into(),
            max_output_tokens: Some(4096),
            temperature: Some(0.7),
            reasoning_effort: None,
            verbosity: None,
            answer_schema: None,
            long_cache: false,
        },
    }
}

pub fn pretty(body: &str) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<Value>(body).unwrap()).unwrap()
}

#[test]
fn chat_whole_request() {
    let body = body::body(&request(), LENIENT);
    assert_eq!(check(Dialect::Chat, &serde_json::from_str(&body).unwrap()), Vec::<String>::new());
    insta::assert_snapshot!(pretty(&body), @r#"
    {
      "model": "m",
      "stream": true,
      "stream_options": {
        "include_usage": true
      },
      "max_tokens": 4096,
      "temperature": 0.7,
      "tools": [
        {
          "type": "function",
          "function": {
            "name": "Read",
            "description": "Reads a file.",
            "parameters": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string"
                }
              },
              "required": [
                "path"
              ]
            }
          }
        }
      ],
      "messages": [
        {
          "role": "system",
          "content": "You are an agent.\n\n# Rules"
        },
        {
          "role": "user",
          "content": "Fix a.rs"
        },
        {
          "role": "assistant",
          "content": "I read.",
          "reasoning_content": "Read it.",
          "tool_calls": [
            {
              "id": "c1",
              "type": "function",
              "function": {
                "name": "Read",
                "arguments": "{\"path\": \"a.rs\"}"
              }
            },
            {
              "id": "c2",
              "type": "function",
              "function": {
                "name": "Read",
                "arguments": "{}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "c1",
          "content": "1\tfn a() {}"
        },
        {
          "role": "tool",
          "tool_call_id": "c2",
          "content": "error INVALID_PARAM: no JSON"
        },
        {
          "role": "user",
          "content": "also b.rs"
        },
        {
          "role": "assistant",
          "content": null,
          "tool_calls": [
            {
              "id": "functions.Read:0",
              "type": "function",
              "function": {
                "name": "functions_Read",
                "arguments": "{}"
              }
            }
          ]
        },
        {
          "role": "tool",
          "tool_call_id": "functions.Read:0",
          "content": ""
        },
        {
          "role": "user",
          "content": "[0/1] Pending: b.rs"
        }
      ]
    }
    "#);
}

#[test]
fn anthropic_whole_request() {
    let body = anthropic::body::body(&request());
    assert_eq!(check(Dialect::Anthropic, &serde_json::from_str(&body).unwrap()), Vec::<String>::new());
    insta::assert_snapshot!(pretty(&body), @r##"
    {
      "model": "m",
      "max_tokens": 4096,
      "stream": true,
      "tools": [
        {
          "name": "Read",
          "description": "Reads a file.",
          "input_schema": {
            "type": "object",
            "properties": {
              "path": {
                "type": "string"
              }
            },
            "required": [
              "path"
            ]
          }
        }
      ],
      "system": [
        {
          "type": "text",
          "text": "You are an agent."
        },
        {
          "type": "text",
          "text": "# Rules",
          "cache_control": {
            "type": "ephemeral"
          }
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": [
            {
              "type": "text",
              "text": "Fix a.rs",
              "cache_control": {
                "type": "ephemeral"
              }
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "thinking",
              "thinking": "First read.",
              "signature": "c2ln"
            },
            {
              "type": "text",
              "text": "I read."
            },
            {
              "type": "tool_use",
              "id": "c1",
              "name": "Read",
              "input": {
                "path": "a.rs"
              }
            },
            {
              "type": "tool_use",
              "id": "c2",
              "name": "Read",
              "input": {}
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "tool_result",
              "tool_use_id": "c1",
              "content": "1\tfn a() {}"
            },
            {
              "type": "tool_result",
              "tool_use_id": "c2",
              "content": "error INVALID_PARAM: no JSON",
              "is_error": true,
              "cache_control": {
                "type": "ephemeral"
              }
            },
            {
              "type": "text",
              "text": "also b.rs"
            }
          ]
        },
        {
          "role": "assistant",
          "content": [
            {
              "type": "tool_use",
              "id": "functions_Read_0",
              "name": "functions_Read",
              "input": {}
            }
          ]
        },
        {
          "role": "user",
          "content": [
            {
              "type": "tool_result",
              "tool_use_id": "functions_Read_0",
              "content": "",
              "cache_control": {
                "type": "ephemeral"
              }
            },
            {
              "type": "text",
              "text": "[0/1] Pending: b.rs"
            }
          ]
        }
      ]
    }
    "##);
}

#[test]
fn chat_smallest_and_strict_request() {
    let mut request = Request { messages: vec![Message::User("hi".into())], ..Request::default() };
    request.params.model = "m".into();
    insta::assert_snapshot!(body::body(&request, LENIENT), @r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}"#);
    request.params.max_output_tokens = Some(10);
    request.params.reasoning_effort = Some("low".into());
    insta::assert_snapshot!(body::body(&request, STRICT), @r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":10,"reasoning_effort":"low","messages":[{"role":"user","content":"hi"}]}"#);
    let strict = body::body(&self::request(), STRICT);
    assert!(!strict.contains("reasoning_content"));
}

#[test]
fn anthropic_smallest_request_and_thinking() {
    let mut request = Request { messages: vec![Message::User("hi".into())], ..Request::default() };
    request.params.model = "claude-sonnet-4-5".into();
    insta::assert_snapshot!(anthropic::body::body(&request), @r#"{"model":"claude-sonnet-4-5","max_tokens":64000,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#);
    request.params.max_output_tokens = Some(8_000);
    let mut asked = |model: &str, effort: Option<&str>| {
        request.params.model = model.into();
        request.params.reasoning_effort = effort.map(Into::into);
        let body: Value = serde_json::from_str(&anthropic::body::body(&request)).unwrap();
        format!("{} {} {}", body["max_tokens"], body["thinking"], body["output_config"])
    };
    let adaptive = r#"{"type":"adaptive","display":"summarized"}"#;
    for (model, effort, expected) in [
        ("claude-haiku-4-5", None, "8000 null null".to_owned()),
        ("claude-haiku-4-5", Some("low"), r#"10048 {"type":"enabled","budget_tokens":2048} null"#.to_owned()),
        (
            "glm-5.3",
            Some("high"),
            r#"24384 {"type":"enabled","budget_tokens":16384} {"effort":"high"}"#.to_owned(),
        ),
        ("claude-opus-4-6", None, format!("8000 {adaptive} null")),
        ("claude-opus-4-6", Some("none"), "8000 null null".to_owned()),
        ("claude-opus-4-6", Some("xhigh"), format!(r#"8000 {adaptive} {{"effort":"high"}}"#)),
        ("claude-opus-4-8", Some("max"), format!(r#"8000 {adaptive} {{"effort":"max"}}"#)),
        ("claude-sonnet-5", Some("none"), r#"8000 {"type":"disabled"} null"#.to_owned()),
        ("claude-haiku-5-5", Some("low"), format!(r#"8000 {adaptive} {{"effort":"low"}}"#)),
        ("claude-sonnet-5-5", None, format!("8000 {adaptive} null")),
        ("claude-sonnet-5-5", Some("none"), r#"8000 {"type":"between_tools"} null"#.to_owned()),
        ("claude-opus-5-5", Some("none"), format!(r#"8000 {adaptive} {{"effort":"low"}}"#)),
        ("anthropic/claude-fable-5.1", Some("minimal"), format!(r#"8000 {adaptive} {{"effort":"low"}}"#)),
    ] {
        assert_eq!(asked(model, effort), expected, "{model} {effort:?}");
    }
}

/// A round of calls that began without thinking can't be continued with it, where thinking has a budget.
#[test]
fn anthropic_budget_in_a_running_round() {
    let call = ToolCall { id: "a".into(), name: "LS".into(), args: "{}".into() };
    let result = Message::Result { call_id: "a".into(), text: "x".into(), error: false };
    let mut request = Request {
        messages: vec![Message::User("hi".into()), Message::Call(Arc::new(call)), result],
        ..Request::default()
    };
    request.params.model = "claude-haiku-4-5".into();
    request.params.reasoning_effort = Some("low".into());
    assert!(!anthropic::body::body(&request).contains("budget_tokens"));
    let block = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let opaque = Some(json!({"kind": "anthropic", "block": block}));
    request.messages.insert(1, Message::Reasoning(Arc::new(Reasoning { text: "hm".into(), opaque })));
    assert!(anthropic::body::body(&request).contains("budget_tokens"));
}

#[test]
fn anthropic_reminders() {
    let notice = |text: &str| Message::System(text.into());
    let body = |model: &str, messages: Vec<Message>| -> Value {
        let mut request = Request { messages, cache_marks: vec![1, 4], ..Request::default() };
        request.params.model = model.into();
        let body: Value = serde_json::from_str(&anthropic::body::body(&request)).unwrap();
        assert_eq!(check(Dialect::Anthropic, &body), Vec::<String>::new());
        body["messages"].clone()
    };
    let user = |text: &str| Message::User(text.into());
    let open = vec![user("hi"), notice("a")];
    insta::assert_snapshot!(body("claude-opus-5-5", open.clone()), @r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":[{"type":"text","text":"a"}]}]"#);
    insta::assert_snapshot!(body("claude-opus-4-7", open.clone()), @r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}},{"type":"text","text":"<system-reminder>a</system-reminder>","cache_control":{"type":"ephemeral"}}]}]"#);
    // What has been sent stays as it is when more comes.
    let more = [open, vec![Message::Assistant("yes".into()), user("and"), notice("b"), notice("c")]].concat();
    insta::assert_snapshot!(body("claude-opus-5-5", more), @r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"yes"}]},{"role":"user","content":[{"type":"text","text":"and","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}]"#);
    // A system message may not stand before the user's.
    let between = vec![user("hi"), notice("a"), user("well?")];
    insta::assert_snapshot!(body("claude-opus-5-5", between), @r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}},{"type":"text","text":"<system-reminder>a</system-reminder>"},{"type":"text","text":"well?","cache_control":{"type":"ephemeral"}}]}]"#);
}

#[test]
fn history_that_begins_with_the_assistant() {
    let messages = vec![Message::Assistant("Earlier.".into()), Message::User("Go on".into())];
    let body = anthropic::body::body(&Request { messages, ..Request::default() });
    assert_eq!(check(Dialect::Anthropic, &serde_json::from_str(&body).unwrap()), Vec::<String>::new());
}

#[test]
fn fake_server_rejects_orphans() {
    for messages in [
        vec![Message::User("x".into()), call("a", "Read", "{}"), Message::User("y".into())],
        vec![Message::User("x".into()), result("a", "y", false)],
        vec![Message::User("x".into()), call("a", "Read", "{}")],
        vec![
            Message::User("x".into()),
            call("a", "Read", "{}"),
            call("a", "Read", "{}"),
            result("a", "y", false),
        ],
    ] {
        let request = Request { messages, ..Request::default() };
        let chat = serde_json::from_str(&body::body(&request, LENIENT)).unwrap();
        assert_ne!(check(Dialect::Chat, &chat), Vec::<String>::new());
        let anthropic = serde_json::from_str(&anthropic::body::body(&request)).unwrap();
        assert_ne!(check(Dialect::Anthropic, &anthropic), Vec::<String>::new());
    }
}

#[test]
fn cache_marks_are_limited() {
    let mut request = request();
    for marks in [vec![], vec![1], vec![1, 2], vec![1, 7, 8], vec![0, 1, 7, 8, 10, 13]] {
        request.cache_marks = marks;
        let body: Value = serde_json::from_str(&anthropic::body::body(&request)).unwrap();
        assert_eq!(check(Dialect::Anthropic, &body), Vec::<String>::new());
    }
}

#[test]
fn grown_request_keeps_its_prefix() {
    let whole = request();
    let mut bodies = Vec::new();
    for count in [1, 8, 9, 11] {
        let mut part = whole.clone();
        part.messages.truncate(count);
        part.cache_marks.clear();
        bodies.push([body::body(&part, LENIENT), anthropic::body::body(&part)]);
    }
    for pair in bodies.windows(2) {
        // Chat: all but the closing brackets. Anthropic: also the group's own bracket, for it may grow.
        for (dialect, closing) in [(0, 2), (1, 5)] {
            let before = &pair[0][dialect];
            assert!(pair[1][dialect].starts_with(&before[..before.len() - closing]), "{before}");
        }
    }
}

/// A model fills in a call in the order of its schema, and takes the first tools first.
#[test]
fn what_is_required_stands_first() {
    let request =
        Request { tools: registry::builtin().iter().map(|tool| tool.spec()).collect(), ..request() };
    let openai = responses::body::body(&request, Host::Openai);
    for body in [body::body(&request, LENIENT), anthropic::body::body(&request), openai] {
        // Parsed in the order of the bytes.
        let body: Value = serde_json::from_str(&body).unwrap();
        let mut names = Vec::new();
        for tool in body["tools"].as_array().unwrap() {
            let tool = tool.get("function").unwrap_or(tool);
            names.push(tool["name"].as_str().unwrap());
            let schema = tool.get("parameters").or(tool.get("input_schema")).unwrap();
            let keys: Vec<&String> = schema.as_object().unwrap().keys().collect();
            assert!(keys == ["type", "required", "properties"] || keys == ["type", "properties"], "{tool}");
            let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            let properties = schema["properties"].as_object().unwrap().keys();
            assert!(properties.zip(required).all(|(name, first)| name == first), "{tool}");
        }
        let first =
            ["Read", "Edit", "Write", "Bash", "Grep", "Glob", "LS", "MultiEdit", "TodoWrite", "Locate"];
        assert_eq!(names[..first.len()], first);
    }
}
