//! The Responses dialect: whole requests, what OpenAI and its imitators answer, and the choice between its endpoint and
//! that of Chat Completions.

use std::sync::Arc;

use base::config::settings::ProviderKind;
use base::model::call::ToolSpec;
use base::model::item::ReplyPhase;
use base::model::provider::{Provider, ProviderError};
use base::model::request::{AssistantText, Block, Message, Params, Request};
use futures_util::StreamExt;
use provider::openai::Openai;
use provider::registry;
use provider::responses::body;
use provider::wire::address::Host;
use serde_json::{Value, json};

use super::stream::{ask, hello, quick, settings, told};
use super::wire::{call, pretty, reasoning, result};
use crate::support::answer::Dialect;
use crate::support::answer::answer;
use crate::support::answer::status;
use crate::support::check::check;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

const KIND: ProviderKind = ProviderKind::Responses;

fn sealed(id: &str, content: &str) -> Message {
    let item = json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": content});
    reasoning("", json!({"kind": "openai-responses", "item": item}))
}

fn said(text: &str, phase: ReplyPhase) -> Message {
    Message::Assistant(AssistantText { text: text.into(), phase: Some(phase) })
}

/// Everything in it: reasoning of several makers and an orphan, parallel calls, broken arguments, a foreign id, a phase.
fn request() -> Request {
    let tool = ToolSpec {
        name: "Read".into(),
        description: "Reads a file.".into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    let long = format!("toolu_{}", "x".repeat(90));
    Request {
        system: vec![Block { text: "You are an agent.".into() }, Block { text: "# Rules".into() }],
        tools: [tool].into(),
        messages: vec![
            Message::User("Fix a.rs".into()),
            sealed("rs_1", "gAAA"),
            reasoning("hm", json!({"kind": "openai-reasoning-content", "field": "reasoning_content"})),
            said("I read.", ReplyPhase::Commentary),
            call("c1", "Read", "{\"path\": \"a.rs\"}"),
            sealed("rs_2", "gBBB"),
            call(&long, "functions.Read", "{\"path\": "),
            result("c1", "1\tfn a() {}", false),
            result(&long, "error INVALID_PARAM: no JSON", true),
            Message::System("Permission is now auto.".into()),
            Message::Assistant("".into()),
            said("Done.", ReplyPhase::FinalAnswer),
            sealed("rs_3", "gCCC"),
            Message::User("go on".into()),
            sealed("rs_4", ""),
            Message::Assistant("Gladly.".into()),
            Message::User("do".into()),
        ],
        cache_marks: vec![2, 8],
        params: Params {
            model: "gpt-6.1-terra".into(),
            max_output_tokens: Some(4096),
            temperature: Some(0.5),
            reasoning_effort: Some("low".into()),
            verbosity: None,
            answer_schema: None,
            long_cache: false,
        },
    }
}

fn parsed(body: &str) -> Value {
    let body = serde_json::from_str(body).unwrap();
    assert_eq!(check(Dialect::Responses, &body), Vec::<String>::new());
    body
}

#[test]
fn whole_request_to_openai() {
    let body = body::body(&request(), Host::Openai);
    parsed(&body);
    insta::assert_snapshot!(pretty(&body), @r#"
    {
      "model": "gpt-6.1-terra",
      "stream": true,
      "store": false,
      "include": [
        "reasoning.encrypted_content"
      ],
      "reasoning": {
        "effort": "low",
        "summary": "auto"
      },
      "text": {
        "verbosity": "low"
      },
      "max_output_tokens": 4096,
      "prompt_cache_key": "f99fa8e756c4d0ff55c7aa71fbd0dd51",
      "instructions": "You are an agent.\n\n# Rules",
      "tools": [
        {
          "type": "function",
          "name": "Read",
          "description": "Reads a file.",
          "parameters": {
            "type": "object",
            "properties": {
              "path": {
                "type": "string"
              }
            }
          },
          "strict": false
        }
      ],
      "parallel_tool_calls": true,
      "input": [
        {
          "type": "message",
          "role": "user",
          "content": [
            {
              "type": "input_text",
              "text": "Fix a.rs"
            }
          ]
        },
        {
          "type": "reasoning",
          "id": "rs_1",
          "summary": [],
          "encrypted_content": "gAAA"
        },
        {
          "type": "message",
          "role": "assistant",
          "content": "I read.",
          "phase": "commentary"
        },
        {
          "type": "function_call",
          "call_id": "c1",
          "name": "Read",
          "arguments": "{\"path\": \"a.rs\"}"
        },
        {
          "type": "reasoning",
          "id": "rs_2",
          "summary": [],
          "encrypted_content": "gBBB"
        },
        {
          "type": "function_call",
          "call_id": "call_d5ff27c2495f578c7c9b6688072db645",
          "name": "functions_Read",
          "arguments": "{}"
        },
        {
          "type": "function_call_output",
          "call_id": "c1",
          "output": "1\tfn a() {}"
        },
        {
          "type": "function_call_output",
          "call_id": "call_d5ff27c2495f578c7c9b6688072db645",
          "output": "error INVALID_PARAM: no JSON"
        },
        {
          "type": "message",
          "role": "developer",
          "content": [
            {
              "type": "input_text",
              "text": "Permission is now auto."
            }
          ]
        },
        {
          "type": "message",
          "role": "assistant",
          "content": "Done.",
          "phase": "final_answer"
        },
        {
          "type": "message",
          "role": "user",
          "content": [
            {
              "type": "input_text",
              "text": "go on"
            }
          ]
        },
        {
          "type": "message",
          "role": "assistant",
          "content": "Gladly."
        },
        {
          "type": "message",
          "role": "user",
          "content": [
            {
              "type": "input_text",
              "text": "do"
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn input_for_imitators() {
    let body = parsed(&body::body(&request(), Host::Other));
    assert!(body["prompt_cache_key"].is_null());
    insta::assert_snapshot!(serde_json::to_string_pretty(&body["input"].as_array().unwrap()[1..3]).unwrap(), @r#"
    [
      {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "gAAA"
      },
      {
        "type": "message",
        "id": "msg_3",
        "role": "assistant",
        "status": "completed",
        "content": [
          {
            "type": "output_text",
            "text": "I read.",
            "annotations": []
          }
        ],
        "phase": "commentary"
      }
    ]
    "#);
    assert_eq!(
        body["input"][8]["content"][0]["text"],
        "<system-reminder>Permission is now auto.</system-reminder>"
    );
    let plain =
        json!({"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": "hm"}]});
    let messages = vec![
        Message::User("hi".into()),
        reasoning("hm", json!({"kind": "openai-responses", "item": plain})),
        call("c", "LS", "{}"),
        result("c", "", false),
    ];
    let request = Request { messages, ..Request::default() };
    let sent = |host| parsed(&body::body(&request, host))["input"][1].clone();
    assert_eq!((sent(Host::Other), sent(Host::Openai)["type"].clone()), (plain, json!("function_call")));
}

#[test]
fn reasoning_is_asked_of_models_that_reason() {
    let asked = |model: &str, effort: Option<&str>, host: Host| {
        let mut request = hello();
        request.params.model = model.into();
        request.params.reasoning_effort = effort.map(Into::into);
        request.params.temperature = Some(0.5);
        let body = parsed(&body::body(&request, host));
        let has = |key: &str| !body[key].is_null();
        format!("{} include {} temperature {}", body["reasoning"], has("include"), has("temperature"))
    };
    for (model, effort, host, expected) in [
        ("gpt-6.1-terra", None, Host::Openai, r#"{"summary":"auto"} include true temperature false"#),
        ("gpt-6.1-terra", None, Host::Other, r#"{"summary":"auto"} include true temperature false"#),
        ("gpt-5.5", Some("none"), Host::Openai, r#"{"effort":"none"} include true temperature true"#),
        ("gpt-7-luna", None, Host::Openai, r#"{"summary":"auto"} include true temperature false"#),
        ("gpt-4o", None, Host::Openai, "null include false temperature true"),
        ("o7-mini", None, Host::Azure, r#"{"summary":"auto"} include true temperature false"#),
        ("my-deployment", None, Host::Azure, "null include false temperature true"),
        (
            "my-deployment",
            Some("high"),
            Host::Azure,
            r#"{"effort":"high","summary":"auto"} include true temperature false"#,
        ),
        ("gpt-oss-20b", None, Host::Other, r#"{"summary":"auto"} include false temperature false"#),
        (
            "openai/gpt-oss-20b",
            None,
            Host::Openrouter,
            r#"{"summary":"auto"} include true temperature false"#,
        ),
    ] {
        assert_eq!(asked(model, effort, host), expected, "{model} {host:?}");
    }
}

#[test]
fn grown_request_keeps_its_prefix() {
    for host in [Host::Openai, Host::Other] {
        let bodies: Vec<String> = [1, 9, 10, 13, 14, 17]
            .into_iter()
            .map(|count| {
                let mut part = request();
                part.messages.truncate(count);
                body::body(&part, host)
            })
            .collect();
        for pair in bodies.windows(2) {
            assert!(pair[1].starts_with(&pair[0][..pair[0].len() - 2]), "{}", pair[0]);
        }
    }
}

fn openai(server: &FakeServer, model: &str) -> (Openai, Request) {
    let mut request = hello();
    request.params.model = model.into();
    let mut settings = settings(ProviderKind::Openai, server);
    settings.model = Arc::clone(&request.params.model);
    (Openai::with_retry(&settings, quick()).unwrap(), request)
}

async fn asked(provider: &dyn Provider, request: &Request) -> Result<String, ProviderError> {
    let events: Vec<_> = provider.stream(request).collect().await;
    Ok(told(&events.into_iter().collect::<Result<Vec<_>, _>>()?))
}

fn paths(server: &FakeServer) -> Vec<String> {
    server.requests().into_iter().map(|request| request.path.trim_start_matches("/v1").to_owned()).collect()
}

#[tokio::test]
async fn the_other_endpoint_is_found_silently_and_remembered() {
    let refused = "To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
    let refused =
        json!({"error": {"message": refused, "type": "invalid_request_error", "code": null}}).to_string();
    for (model, refusal, way) in [
        ("m", status(400, &refused), ["/chat/completions", "/responses", "/responses"]),
        (
            "gpt-5.4",
            status(404, "404 page not found"),
            ["/responses", "/chat/completions", "/chat/completions"],
        ),
        ("gpt-5.4", status(405, ""), ["/responses", "/chat/completions", "/chat/completions"]),
    ] {
        let hi = || answer().text("Hi.").no_usage().into();
        let server = FakeServer::start(vec![refusal, hi(), hi()]);
        let (provider, request) = openai(&server, model);
        assert_eq!(asked(&provider, &request).await.unwrap(), "Hi.\ntext Hi.\nStop");
        assert_eq!(asked(&provider, &request).await.unwrap(), "Hi.\ntext Hi.\nStop");
        assert_eq!(paths(&server), way);
        assert_eq!(server.requests()[2].raw, server.requests()[1].raw);
    }
}

#[tokio::test]
async fn the_other_endpoint_is_asked_once_and_only_when_named() {
    let server = FakeServer::start(vec![status(404, "nothing here"), status(404, "nothing here")]);
    let (provider, request) = openai(&server, "gpt-5.4");
    let error = asked(&provider, &request).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::NotFound { url, .. } if url.ends_with("/chat/completions")),
        "{error}"
    );
    assert_eq!(paths(&server), ["/responses", "/chat/completions"]);
    let unknown = r#"{"error":{"code":"model_not_found","message":"The model `gpt-5.4` does not exist"}}"#;
    let server = FakeServer::start(vec![status(404, unknown)]);
    let (provider, request) = openai(&server, "gpt-5.4");
    assert!(matches!(asked(&provider, &request).await, Err(ProviderError::NotFound { .. })));
}

#[tokio::test]
async fn forced_endpoints() {
    for (kind, path) in [(ProviderKind::Chat, "/chat/completions"), (KIND, "/responses")] {
        for model in ["m", "gpt-5.4"] {
            let other = r#"{"error":{"message":"use /v1/responses or /v1/chat/completions"}}"#;
            let server = FakeServer::start(vec![answer().text("Hi.").into(), status(400, other)]);
            let mut settings = settings(kind, &server);
            settings.model = model.into();
            let provider = registry::build(&settings).unwrap();
            ask(&*provider).await.unwrap();
            let error = ask(&*provider).await.unwrap_err();
            assert!(matches!(error, ProviderError::WrongEndpoint { .. }), "{error}");
            assert!(error.hint(false).contains("provider = \"openai\""), "{}", error.hint(false));
            assert_eq!(paths(&server), [path, path]);
        }
    }
}

#[test]
fn whole_session() {
    let server = FakeServer::start(vec![
        answer().reasoning("First look.").call("LS", json!({})).call("Read", json!({"path": "a.txt"})).into(),
        answer()
            .reasoning("Now write.")
            .text("I write.")
            .call("Write", json!({"path": "b.txt", "content": "b\n"}))
            .into(),
        answer().reasoning("").text("Written.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.txt", "alpha\n");
    let url = server.base_url();
    let output =
        place.command(&["exec", "--base-url", &url, "--model", "gpt-5.4", "copy it"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!((stdout(&output).trim(), place.text("b.txt").as_str()), ("Written.", "b\n"));
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.path == "/v1/responses"));
    for pair in requests.windows(2) {
        let before = pair[0].raw.strip_suffix("]}").unwrap();
        assert!(pair[1].raw.starts_with(before), "{}\n{}", pair[0].raw, pair[1].raw);
    }
    let replayed: Vec<String> = requests[2].body["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["role"] != "user")
        .map(|item| match item["type"].as_str().unwrap() {
            "reasoning" => item["encrypted_content"].to_string(),
            "message" => item["phase"].to_string(),
            kind => format!("{kind} {}", item["call_id"].as_str().unwrap()),
        })
        .collect();
    insta::assert_snapshot!(replayed.join("\n"), @r#"
    "sealed-1-0"
    function_call call_1_1
    function_call call_1_2
    function_call_output call_1_1
    function_call_output call_1_2
    "sealed-2-0"
    "final_answer"
    function_call call_2_1
    function_call_output call_2_1
    "#);
}

#[test]
fn azure_address_and_key() {
    // The fake server plays the proxy on the way to Azure.
    let server =
        FakeServer::start(vec![answer().text("From Azure.").into(), answer().text("From Azure.").into()]);
    let place = Workplace::new();
    let base = "http://r.openai.azure.com/openai/v1?api-version=preview";
    for provider in ["responses", "chat"] {
        let mut command =
            place.command(&["exec", "--provider", provider, "--base-url", base, "--model", "deployed", "hi"]);
        command
            .env("HTTP_PROXY", format!("http://127.0.0.1:{}", server.port()))
            .env("OPENAI_API_KEY", "azure-key");
        let output = command.output().unwrap();
        assert_eq!(stdout(&output).trim(), "From Azure.", "{}", stderr(&output));
    }
    let requests = server.requests();
    let seen: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(
        seen,
        [
            "http://r.openai.azure.com/openai/v1/responses?api-version=preview",
            "http://r.openai.azure.com/openai/v1/chat/completions?api-version=preview"
        ]
    );
    for request in &requests {
        assert_eq!((request.header("api-key"), request.header("authorization")), ("azure-key", ""));
    }
}
