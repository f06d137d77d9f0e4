//! What gateways and imitators make of Chat Completions: sealed and inline thinking, reasoning that they demand back or
//! refuse, several choices, errors in forms of their own.

use std::sync::Arc;

use base::config::settings::{ProviderKind, ProviderSettings};
use base::model::call::ToolCall;
use base::model::item::{Item, Reasoning};
use base::model::provider::Provider;
use base::model::request::{Message, Request};
use base::model::stream::StreamEvent;
use futures_util::StreamExt;
use provider::chat::body;
use provider::openai::Chat;
use serde_json::{Value, json};

use super::faults::outcome;
use super::stream::{ask, hello, provider, quick, settings, told};
use crate::support::answer::Reply;
use crate::support::answer::answer;
use crate::support::answer::raw;
use crate::support::answer::status;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};

/// A stream of these deltas.
fn stream(deltas: &[Value], finish: &str) -> Reply {
    let mut body = String::new();
    for delta in deltas {
        body.push_str(&format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]})));
    }
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    raw("text/event-stream", &format!("{body}data: {last}\n\ndata: [DONE]\n\n"))
}

async fn reply_to(reply: Reply) -> Vec<StreamEvent> {
    let server = FakeServer::start(vec![reply]);
    ask(&*provider(ProviderKind::Chat, &server, quick())).await.unwrap()
}

/// The request that follows `reply`, with a result for each call.
fn next_request(reply: Vec<StreamEvent>) -> Request {
    let mut request = hello();
    let mut ids = Vec::new();
    for event in reply {
        let StreamEvent::Item(item) = event else { continue };
        request.messages.push(match item {
            Item::Reasoning(reasoning) => Message::Reasoning(Arc::new(reasoning)),
            Item::Assistant { text, .. } => Message::Assistant(text.into()),
            Item::ToolCall(call) => {
                ids.push(Arc::clone(&call.id));
                Message::Call(Arc::new(call))
            }
            other => panic!("{other:?}"),
        });
    }
    let results = ids.into_iter().map(|call_id| Message::Result { call_id, text: "ok".into(), error: false });
    request.messages.extend(results);
    request
}

/// The assistant's message as it goes back.
fn sent_back(request: &Request) -> Value {
    let body: Value = serde_json::from_str(&body::body(request, false)).unwrap();
    body["messages"][1].clone()
}

fn call(id: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": "LS", "arguments": "{}"}}]})
}

fn detail(text: &str) -> Value {
    json!({"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]})
}

#[tokio::test]
async fn sealed_thinking_is_put_together_and_returned() {
    let signature = json!({"reasoning_details": [{"type": "reasoning.text", "signature": "S", "format": "a", "index": 0}]});
    let reply = reply_to(stream(&[detail("Let"), detail(" me."), signature, call("a")], "tool_calls")).await;
    assert!(told(&reply).starts_with("(Let)( me.)[LS]\nthinking Let me. "), "{}", told(&reply));
    insta::assert_snapshot!(sent_back(&next_request(reply)), @r#"{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":"Let me.","index":0,"signature":"S","format":"a"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"LS","arguments":"{}"}}]}"#);

    let block =
        |text: &str, signature: &str| json!([{"type": "thinking", "thinking": text, "signature": signature}]);
    let piece = |text: &str, signature: &str| {
        json!({"reasoning_content": text, "thinking_blocks": block(text, signature),
            "provider_specific_fields": {"thinking_blocks": block(text, signature)}})
    };
    let hidden = json!({"provider_specific_fields": {"thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]}});
    let signed = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "LS", "arguments": "{}"},
        "provider_specific_fields": {"thought_signature": "t"}}]});
    let reply = reply_to(stream(
        &[piece("Let", ""), piece(" me.", ""), piece("", "S"), hidden, signed],
        "tool_calls",
    ))
    .await;
    insta::assert_snapshot!(sent_back(&next_request(reply)), @r#"{"role":"assistant","content":null,"thinking_blocks":[{"type":"thinking","thinking":"Let me.","signature":"S"},{"type":"redacted_thinking","data":"x"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"LS","arguments":"{}"},"provider_specific_fields":{"thought_signature":"t"}}]}"#);

    // A reply that comes whole has finished blocks, also where they look alike.
    let text = |text: &str| json!({"type": "reasoning.text", "text": text});
    let mut message = call("a");
    message["reasoning_details"] = json!([text("one"), text("two")]);
    let whole = json!({"object": "chat.completion", "choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let reply = reply_to(raw("application/json", &whole.to_string())).await;
    assert!(told(&reply).starts_with("(onetwo)"));
    assert_eq!(sent_back(&next_request(reply))["reasoning_details"], json!([text("one"), text("two")]));
}

#[tokio::test]
async fn inline_thinking_is_no_answer() {
    let content = |pieces: &[&str], finish: &str| {
        let deltas: Vec<Value> = pieces.iter().map(|piece| json!({"content": piece})).collect();
        stream(&deltas, finish)
    };
    for (pieces, expected) in [
        (
            &["<th", "ink>\nhm", "</thi", "nk>", "\n\nHi", "."][..],
            "(\nhm)Hi.\nthinking hm {…}\ntext Hi.\nStop",
        ),
        (&["hm\n", "</think>\n\nHi."], "hm\n</think>\n\nHi.\nthinking hm {…}\ntext Hi.\nStop"),
        (&["<think>hm"], "(hm)\nthinking hm {…}\nStop"),
        (&["The tag `<think>` opens, `</think>` ends."], "=\ntext =\nStop"),
        (&["```\n<think>a</think>\n```"], "=\ntext =\nStop"),
        (&["<", "b>bold</b>"], "=\ntext =\nStop"),
    ] {
        let expected = expected
            .replace("{…}", r#"{"kind":"openai-reasoning-content","field":"content"}"#)
            .replace('=', &pieces.concat());
        assert_eq!(told(&reply_to(content(pieces, "stop")).await), expected);
    }
    // With calls it goes back to where it came from.
    let reply =
        reply_to(stream(&[json!({"content": "<think>hm</think>I look."}), call("a")], "tool_calls")).await;
    assert_eq!(sent_back(&next_request(reply))["content"], "<think>\nhm\n</think>\n\nI look.");
}

#[tokio::test]
async fn only_the_first_choice_counts() {
    let chunk = |index: u64, text: &str, finish: Value| {
        let chunk =
            json!({"choices": [{"index": index, "delta": {"content": text}, "finish_reason": finish}]});
        format!("data: {chunk}\n\n")
    };
    let body = chunk(1, "No", json!("length")) + &chunk(0, "Yes", json!("stop")) + "data: [DONE]\n\n";
    assert_eq!(told(&reply_to(raw("text/event-stream", &body)).await), "Yes\ntext Yes\nStop");
    let both = json!({"choices": [{"index": 1, "message": {"content": "No"}, "finish_reason": "length"},
        {"index": 0, "message": {"content": "Yes"}, "finish_reason": "stop"}]});
    assert_eq!(told(&reply_to(raw("application/json", &both.to_string())).await), "Yes\ntext Yes\nStop");
}

#[tokio::test]
async fn a_message_behind_its_deltas_brings_only_the_usage() {
    let whole = |message: Value| {
        json!({"object": "chat.completion", "choices": [{"message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2}})
    };
    let mut message = call("a");
    message["content"] = json!("I look.");
    let mut body = String::new();
    for delta in [json!({"role": "assistant"}), json!({"content": "I look."}), call("a")] {
        body.push_str(&format!("data: {}\n\n", json!({"choices": [{"delta": delta}]})));
        let reply = raw("text/event-stream", &format!("{body}data: {}\n\n", whole(message.clone())));
        let told = told(&reply_to(reply).await);
        let call = if body.contains("tool_calls") || !body.contains("look") { "call a LS {}\n" } else { "" };
        assert!(
            told.starts_with("I look.") && told.contains(&format!("text I look.\n{call}ToolCalls in 9")),
            "{told}"
        );
        assert_eq!(told.matches("call a").count(), usize::from(!call.is_empty()), "{told}");
    }
}

#[tokio::test]
async fn a_reply_that_broke_off_is_asked_for_again() {
    let half = |finish: &str| stream(&[json!({"content": "1. Stop the ser"})], finish);
    for finish in
        ["network_error", "insufficient_system_resource", "abort", "content_filter: MALFORMED_FUNCTION_CALL"]
    {
        let replies = vec![half(finish), answer().text("All.").no_usage().into()];
        let told = outcome(ProviderKind::Chat, quick(), replies).await;
        let why = format!("try 2: server error (HTTP 500): the model's server stopped responding ({finish})");
        assert!(told.contains(&why) && told.ends_with("text All.\nStop"), "{told}");
    }
    for (finish, expected) in
        [("SAFETY", "ContentFilter"), ("content_filter: OTHER", "ContentFilter"), ("done", "Stop")]
    {
        let told = told(&reply_to(half(finish)).await);
        assert!(told.ends_with(expected), "{finish}: {told}");
    }
}

#[tokio::test]
async fn money_is_not_waited_for() {
    let budget = "Budget has been exceeded! Current cost: 26.1, Max budget: 0.25";
    for (reply, expected) in [
        (
            status(
                400,
                &json!({"error": {"message": budget, "type": "auth_error", "code": 400}}).to_string(),
            ),
            budget,
        ),
        (
            status(
                429,
                &json!({"error": {"message": budget, "type": "budget_exceeded", "code": "429"}}).to_string(),
            ),
            budget,
        ),
        (
            status(500, r#"{"error":{"message":"ExceededBudget: End User=a over budget. Spend=1"}}"#),
            "ExceededBudget",
        ),
        (
            status(402, r#"{"error":{"message":"Insufficient credits. Add more","code":402}}"#),
            "Insufficient credits",
        ),
        (
            status(403, r#"{"error":{"message":"Key limit exceeded (total limit)","code":403}}"#),
            "Key limit exceeded",
        ),
        (
            raw(
                "text/event-stream",
                "data: {\"error\":{\"message\":\"Budget has been exceeded!\",\"code\":\"429\"}}\n\n",
            ),
            "Budget has been exceeded!",
        ),
    ] {
        let server = FakeServer::start(vec![reply]);
        let error = ask(&*provider(ProviderKind::Chat, &server, quick())).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().starts_with("request rejected"), "{error}");
        assert_eq!(
            error.hint(true),
            "add credit or raise the limit with the key's provider, or use another model"
        );
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn errors_in_forms_of_their_own() {
    for (event, expected) in [
        (r#"data: {"message":"no such thing","code":404}"#, "endpoint or model not found"),
        (r#"data: {"message":"bad","status":400}"#, "request rejected (HTTP 400): bad"),
        (r#"data: {"message":"slow","type":"rate_limit_error"}"#, "rate limit reached (HTTP 429): slow"),
        (r#"data: {"detail":"Input is too long for requested model","status":400}"#, "does not fit"),
        (
            r#"data: {"detail":[{"loc":["body","model"],"msg":"odd"}],"status":422}"#,
            "(HTTP 422): odd (body.model)",
        ),
        (r#"data: {"object":"error","message":"gone","code":400}"#, "request rejected (HTTP 400): gone"),
        ("event: error\ndata: upstream went away", "server error (HTTP 500): upstream went away"),
        (
            "event: error\ndata: {\"error\":{\"message\":\"bad\",\"code\":\"400\"}}",
            "request rejected (HTTP 400): bad",
        ),
        ("event: error\ndata: {\"message\":\"odd\"}", "server error (HTTP 500): odd"),
        (r#"error: {"code":400,"message":"the request exceeds the available context size"}"#, "does not fit"),
    ] {
        let server = FakeServer::start(vec![raw("text/event-stream", &format!("{event}\n\n"))]);
        let once = provider::wire::retry::RetryPolicy { max_tries: 1, ..quick() };
        let error = ask(&*provider(ProviderKind::Chat, &server, once)).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{event}: {error}");
    }
    // Trouble of the server's is worth another try in these forms, too.
    let trouble = raw("text/event-stream", "data: {\"message\":\"busy\",\"status\":503}\n\n");
    let told =
        outcome(ProviderKind::Chat, quick(), vec![trouble, answer().text("Hi.").no_usage().into()]).await;
    assert!(
        told.contains("try 2: server error (HTTP 503): busy") && told.ends_with("text Hi.\nStop"),
        "{told}"
    );
}

/// A history whose first step another model made, and whose second has reasoning of this dialect.
fn mixed_history(model: &str) -> Request {
    let call =
        |id: &str| Message::Call(Arc::new(ToolCall { id: id.into(), name: "LS".into(), args: "{}".into() }));
    let result = |id: &str| Message::Result { call_id: id.into(), text: "ok".into(), error: false };
    let opaque = json!({"kind": "openai-reasoning-content", "field": "reasoning_content",
        "extras": {"c": {"extra_content": {"google": {"thought_signature": "s"}}}}});
    let own = Message::Reasoning(Arc::new(Reasoning { text: "hm".into(), opaque: Some(opaque) }));
    let mut request = hello();
    request.params.model = model.into();
    request.messages.extend([call("a"), call("b"), result("a"), result("b"), own, call("c"), call("d")]);
    request.messages.extend([
        result("c"),
        result("d"),
        Message::Assistant("Done.".into()),
        Message::User("more".into()),
    ]);
    request
}

/// What the assistant's messages hold of reasoning: the field, and the signatures of the calls.
fn reasoning_of(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let assistants = messages.iter().filter(|message| message["role"] == "assistant");
    assistants
        .map(|message| {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let signatures =
                calls.map(|call| call["extra_content"]["google"]["thought_signature"].to_string());
            format!("{} {}", message["reasoning_content"], signatures.collect::<Vec<_>>().join(" "))
        })
        .collect()
}

#[test]
fn what_the_table_says_is_sent_from_the_start() {
    let sent = |model: &str, strict: bool| {
        let body = body::body(&mixed_history(model), strict);
        reasoning_of(&serde_json::from_str(&body).unwrap())
    };
    let skip = "\"skip_thought_signature_validator\"";
    assert_eq!(sent("m", false), ["null null null", "\"hm\" \"s\" null", "null "]);
    // DeepSeek wants the answer's, too.
    for (model, answer) in [("deepseek-flash", "\" \" "), ("kimi-k3", "null "), ("glm-5.3", "null ")] {
        assert_eq!(sent(model, false), ["\" \" null null", "\"hm\" \"s\" null", answer]);
    }
    assert_eq!(sent("gemini-4-argon", false), [&format!("null {skip} null"), "\"hm\" \"s\" null", "null "]);
    assert_eq!(sent("deepseek-flash", true), ["null null null", "null null null", "null "]);
}

async fn done(provider: &dyn Provider, request: &Request) -> bool {
    let events: Vec<_> = provider.stream(request).collect().await;
    matches!(events.last(), Some(Ok(StreamEvent::Done { .. })))
}

#[tokio::test]
async fn demands_and_refusals_are_learned_once() {
    let refusal = |message: &str| status(400, &json!({"error": {"message": message}}).to_string());
    let skip = "\"skip_thought_signature_validator\"";
    for (message, expected) in [
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
            ["\" \" null null".to_owned(), "\"hm\" \"s\" null".into(), "\" \" ".into()],
        ),
        (
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            ["\" \" null null".into(), "\"hm\" \"s\" null".into(), "\" \" ".into()],
        ),
        (
            "Unable to submit request because function call `LS` in the 3. content block is missing a `thought_signature`.",
            [format!("null {skip} null"), "\"hm\" \"s\" null".into(), "null ".into()],
        ),
        (
            "'messages.2' : property 'reasoning_content' is unsupported",
            ["null null null".into(), "null \"s\" null".into(), "null ".into()],
        ),
        (
            "Invalid JSON payload received. Unknown name \"extra_content\" at 'messages[2]': Cannot find field.",
            ["null null null".into(), "\"hm\" null null".into(), "null ".into()],
        ),
    ] {
        let fine = || answer().text("Hi.").into();
        let server = FakeServer::start(vec![refusal(message), fine(), fine(), fine()]);
        let provider = provider(ProviderKind::Chat, &server, quick());
        let request = mixed_history("m");
        assert!(done(&*provider, &request).await, "{message}");
        assert!(done(&*provider, &request).await);
        // Of another model nothing is known.
        assert!(done(&*provider, &mixed_history("other")).await);
        let sent: Vec<_> = server.requests().iter().map(|request| reasoning_of(&request.body)).collect();
        assert_eq!(sent.len(), 4);
        assert_eq!((&sent[1], &sent[2]), (&expected.to_vec(), &expected.to_vec()), "{message}");
        assert_eq!(sent[0], sent[3]);
    }
}

#[tokio::test]
async fn a_server_that_wants_both_is_not_asked_for_ever() {
    let refusal = |message: &str| status(400, &json!({"error": {"message": message}}).to_string());
    let (wanted, refused) =
        (refusal("reasoning_content is missing"), refusal("reasoning_content is not supported"));
    let server = FakeServer::start(vec![wanted.clone(), refused, wanted]);
    let settings = ProviderSettings { model: "m".into(), ..settings(ProviderKind::Chat, &server) };
    let provider = Chat::with_retry(&settings, quick()).unwrap();
    let events: Vec<_> = provider.stream(&mixed_history("m")).collect().await;
    assert!(matches!(&events[..], [Err(error)] if error.to_string().contains("is missing")), "{events:?}");
    assert_eq!(server.left(), 0);
}

/// The roles, in one letter each, and the ids of calls and results.
fn order_of(body: &Value) -> (String, Vec<String>) {
    let messages = body["messages"].as_array().unwrap();
    let roles = messages.iter().map(|message| &message["role"].as_str().unwrap()[..1]).collect();
    let calls = |message: &Value| message["tool_calls"].as_array().cloned().unwrap_or_default();
    let called = messages.iter().flat_map(calls).map(|call| call["id"].as_str().unwrap().to_owned());
    let answered = messages.iter().filter_map(|message| Some(message["tool_call_id"].as_str()?.to_owned()));
    (roles, called.chain(answered).collect())
}

#[tokio::test]
async fn the_order_of_roles_and_the_form_of_ids() {
    let request = |model: &str| {
        let mut request = mixed_history(model);
        request.messages.push(Message::System("half of the window is used".into()));
        let image = Message::System("a picture".into());
        request.messages.splice(5..5, [image]);
        request
    };
    let usual = "uattuattauu";
    let bridged = "uattauattauu";
    let sent = |model: &str| -> Value { serde_json::from_str(&body::body(&request(model), false)).unwrap() };
    for model in ["devstral-latest", "mistralai/Mistral-Small-4-119B"] {
        let (roles, ids) = order_of(&sent(model));
        assert_eq!(roles, bridged);
        assert!(!sent(model).to_string().contains(r#""tool_calls":null"#));
        assert!(ids.iter().all(|id| id.len() == 9) && ids[..4] == ids[4..], "{ids:?}");
    }
    assert_eq!(order_of(&sent("m")).0, usual);
    for (message, roles, id) in [
        ("Unexpected role 'user' after role 'tool'", bridged, 1),
        (
            "After the optional system message, conversation roles must alternate user and assistant roles",
            "uattauattauau",
            1,
        ),
        ("Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9.", usual, 9),
    ] {
        let refusal = status(400, &json!({"object": "error", "message": message}).to_string());
        let server = FakeServer::start(vec![refusal, answer().text("Hi.").into()]);
        let provider = provider(ProviderKind::Chat, &server, quick());
        assert!(done(&*provider, &request("m")).await, "{message}");
        let order = order_of(&server.requests()[1].body);
        assert_eq!((order.0.as_str(), order.1[0].len()), (roles, id), "{message}");
    }
}

#[tokio::test]
async fn claude_caches_behind_a_gateway() {
    let mut request = mixed_history("anthropic/claude-opus-5.5");
    request.system = vec![base::model::request::Block { text: "Work.".into() }];
    request.cache_marks = vec![1, 5, request.messages.len()];
    let marked = |body: &Value| -> Vec<usize> {
        let messages = body["messages"].as_array().unwrap().iter().enumerate();
        let marked = messages
            .filter(|(_, message)| message.to_string().contains(r#""cache_control":{"type":"ephemeral"}"#));
        marked.map(|(place, _)| place).collect()
    };
    let refusal =
        status(400, r#"{"error":{"message":"messages.0.content: Input should be a valid string"}}"#);
    let server = FakeServer::start(vec![answer().text("Hi.").into(), refusal, answer().text("Hi.").into()]);
    let provider = provider(ProviderKind::Chat, &server, quick());
    assert!(done(&*provider, &request).await && done(&*provider, &request).await);
    let requests = server.requests();
    assert_eq!(marked(&requests[0].body), [0, 1, 4, 9]);
    assert_eq!(requests[0].body["messages"][3]["content"], json!([{"type": "text", "text": "ok"}]));
    assert_eq!(requests[2].body["messages"][3]["content"], "ok");
}

#[test]
fn services_are_told_which_requests_share_a_cache() {
    for (model, base) in [
        ("devstral-latest", "http://api.mistral.ai/v1"),
        ("grok-4.7", "http://api.x.ai/v1"),
        ("m", "http://other/v1"),
    ] {
        let read = answer().call("LS", json!({})).into();
        let server = FakeServer::start(vec![read, answer().text("Hi.").into()]);
        let place = Workplace::new();
        let mut command =
            place.command(&["exec", "--provider", "chat", "--base-url", base, "--model", model, "hi"]);
        command.env("HTTP_PROXY", format!("http://127.0.0.1:{}", server.port())).env("OPENAI_API_KEY", "k");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let keys = server
            .requests()
            .iter()
            .map(|request| {
                (
                    request.body["prompt_cache_key"].as_str().map(str::len),
                    request.header("x-grok-conv-id").to_owned(),
                )
            })
            .collect::<Vec<_>>();
        assert_eq!(keys[0], keys[1]);
        let expected = (base.contains("mistral").then_some(32), if base.contains("x.ai") { 32 } else { 0 });
        assert_eq!((keys[0].0, keys[0].1.len()), expected, "{base}");
    }
}
