//! A server that refuses a field is asked again without it, once, and never with it again.

use base::config::settings::{ProviderKind, ProviderSettings};
use base::model::call::ToolSpec;
use base::model::provider::Provider;
use base::model::request::{Message, Params, Request};
use base::model::stream::StreamEvent;
use futures_util::StreamExt;
use provider::registry;
use serde_json::{Value, json};

use super::stream::settings;
use crate::support::answer::{Reply, answer, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn request(model: &str) -> Request {
    Request {
        messages: vec![Message::User("hi".into())],
        tools: [ToolSpec {
            name: "LS".into(),
            description: "Lists.".into(),
            schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false}),
        }]
        .into(),
        params: Params {
            model: model.into(),
            max_output_tokens: Some(900),
            temperature: Some(0.5),
            reasoning_effort: Some("max".into()),
            verbosity: Some("low".into()),
            ..Params::default()
        },
        ..Request::default()
    }
}

fn refusal(message: &str, param: Option<&str>) -> Reply {
    status(
        400,
        &json!({"error": {"message": message, "param": param, "type": "invalid_request_error"}}).to_string(),
    )
}

async fn answered(provider: &dyn Provider, request: &Request) -> bool {
    let events: Vec<_> = provider.stream(request).collect().await;
    matches!(events.last(), Some(Ok(StreamEvent::Done { .. })))
}

#[tokio::test]
async fn fields_are_left_out_or_renamed_once_and_for_all() {
    use ProviderKind::{Anthropic, Chat, Responses};
    type Row = (ProviderKind, &'static str, &'static str, Option<&'static str>, &'static str, Value);
    let rows: [Row; 14] = [
        (
            Chat,
            "m",
            "Unsupported value: 'reasoning_effort' does not support 'max' with this model. Supported values are: 'low', 'medium', and 'high'.",
            Some("reasoning_effort"),
            "/reasoning_effort",
            json!("high"),
        ),
        (
            Chat,
            "m",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            Some("max_tokens"),
            "/max_completion_tokens",
            json!(900),
        ),
        (
            Chat,
            "m",
            "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
            Some("temperature"),
            "/temperature",
            Value::Null,
        ),
        (Chat, "m", "property 'reasoning_effort' is unsupported", None, "/reasoning_effort", Value::Null),
        (
            Chat,
            "m",
            "Extra inputs are not permitted, field: 'stream_options'",
            None,
            "/stream_options",
            Value::Null,
        ),
        (
            Chat,
            "m",
            "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function.parameters': Cannot find field.",
            None,
            "/tools/0/function/parameters/additionalProperties",
            Value::Null,
        ),
        (
            Responses,
            "o5",
            "Your organization must be verified to generate reasoning summaries.",
            Some("reasoning.summary"),
            "/reasoning/summary",
            Value::Null,
        ),
        (
            Responses,
            "o5",
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            Some("reasoning.effort"),
            "/reasoning/effort",
            Value::Null,
        ),
        (
            Responses,
            "o5",
            "Unknown parameter: 'parallel_tool_calls'.",
            None,
            "/parallel_tool_calls",
            Value::Null,
        ),
        (Responses, "o5", "Unsupported parameter", Some("text.verbosity"), "/text", Value::Null),
        (
            Responses,
            "o5",
            "Unsupported parameter: max_output_tokens",
            None,
            "/max_output_tokens",
            Value::Null,
        ),
        (
            Anthropic,
            "claude-opus-5-5",
            "thinking.adaptive.display: Extra inputs are not permitted",
            None,
            "/thinking/display",
            Value::Null,
        ),
        (
            Anthropic,
            "claude-opus-5-5",
            "output_config: Extra inputs are not permitted",
            None,
            "/output_config",
            Value::Null,
        ),
        (
            Anthropic,
            "claude-opus-5-5",
            "tools.0.cache_control: Extra inputs are not permitted",
            None,
            "/tools/0/cache_control",
            Value::Null,
        ),
    ];
    for (kind, model, message, param, pointer, expected) in rows {
        let folder = tempfile::tempdir().unwrap();
        let fine = || answer().text("Hi.").into();
        let server = FakeServer::start(vec![refusal(message, param), fine(), fine(), fine(), fine()]);
        let settings =
            ProviderSettings { servers: Some(folder.path().join("servers.json")), ..settings(kind, &server) };
        let provider = registry::build(&settings).unwrap();
        assert!(answered(&*provider, &request(model)).await, "{message}");
        assert!(answered(&*provider, &request(model)).await);
        // Of another model nothing is known; the next session knows.
        assert!(answered(&*provider, &request("claude-sonnet-5-5")).await);
        drop(provider);
        assert!(answered(&*registry::build(&settings).unwrap(), &request(model)).await);
        let sent: Vec<_> = server.requests().iter().map(|request| request.body.clone()).collect();
        let field = |body: &Value| body.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(sent.len(), 5, "{message}");
        for later in [&sent[1], &sent[2], &sent[4]] {
            assert_eq!(field(later), expected, "{message}: {later}");
            let mut kept = later.as_object().unwrap().keys();
            assert!(kept.any(|key| key == "tools"), "{message}");
        }
        assert_ne!(field(&sent[0]), expected, "{message}: {}", sent[0]);
    }
}

#[tokio::test]
async fn an_account_without_the_default_model_is_given_the_next() {
    let missing = |status_code: u16, model: &str| {
        let message = format!("The model `{model}` does not exist or you do not have access to it.");
        status(status_code, &json!({"error": {"message": message, "code": "model_not_found"}}).to_string())
    };
    let fine = || answer().text("Hi.").into();
    let server = FakeServer::start(vec![
        missing(404, "m-1"),
        missing(403, "m-2"),
        fine(),
        fine(),
        missing(404, "own"),
    ]);
    let settings = ProviderSettings {
        model: "m-1".into(),
        next_models: vec!["m-2".into(), "m-3".into()],
        ..settings(ProviderKind::Chat, &server)
    };
    let provider = registry::build(&settings).unwrap();
    let events: Vec<_> = provider.stream(&request("m-1")).collect().await;
    let told = |event: &Result<StreamEvent, _>| match event {
        Ok(StreamEvent::Restarted { reason, .. }) => Some(reason.clone()),
        _ => None,
    };
    let told: Vec<String> = events.iter().filter_map(told).collect();
    assert!(told[0].ends_with("; using m-2 instead") && told[1].ends_with("; using m-3 instead"), "{told:?}");
    assert!(answered(&*provider, &request("m-1")).await);
    // A model that the user named is theirs to correct.
    assert!(!answered(&*provider, &request("own")).await);
    let sent: Vec<_> = server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(sent, ["m-1", "m-2", "m-3", "m-3", "own"]);
}

#[tokio::test]
async fn what_does_not_help_is_not_kept() {
    let refused = || refusal("Unsupported parameter: 'temperature'", None);
    let server = FakeServer::start(vec![refused(), refused(), answer().text("Hi.").into()]);
    let provider = registry::build(&settings(ProviderKind::Chat, &server)).unwrap();
    assert!(!answered(&*provider, &request("m")).await);
    assert!(answered(&*provider, &request("m")).await);
    let sent: Vec<_> = server.requests().iter().map(|request| request.body["temperature"].clone()).collect();
    assert_eq!(sent, [json!(0.5), Value::Null, json!(0.5)]);
    // What a request can't do without, and what only sounds like a field, is no reason to ask again.
    for message in [
        "Unknown parameter: 'messages'",
        "this text has no detail to reason about",
        "Missing required parameter: 'temperature'",
    ] {
        let server = FakeServer::start(vec![refusal(message, None)]);
        let provider = registry::build(&settings(ProviderKind::Chat, &server)).unwrap();
        assert!(!answered(&*provider, &request("m")).await, "{message}");
    }
}

#[test]
fn the_doctor_shows_what_is_not_sent() {
    let place = Workplace::new();
    let unverified = refusal("Unsupported parameter: 'stream_options'", None);
    let server = FakeServer::start(vec![unverified, answer().text("ok").into()]);
    let url = server.base_url();
    let out = place.command(&["--base-url", &url, "--model", "m", "doctor"]).output().unwrap();
    let said = stdout(&out);
    assert!(
        said.contains("not sent        stream_options: this server refuses it"),
        "{said}{}",
        stderr(&out)
    );
}
