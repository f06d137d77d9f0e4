//! Streams of the Responses API and of servers that imitate it: pieces, ends, usage, errors.

use base::config::settings::ProviderKind;
use base::model::item::{Item, ReplyPhase};
use base::model::stream::StreamEvent;
use base::model::usage::Usage;
use provider::registry;
use serde_json::{Value, json};

use super::stream::{ask, one, provider, quick, rich, settings, told};
use crate::support::answer::Reply;
use crate::support::answer::answer;
use crate::support::answer::raw;
use crate::support::server::FakeServer;

const KIND: ProviderKind = ProviderKind::Responses;

#[tokio::test]
async fn streamed_answer() {
    insta::assert_snapshot!(one(KIND, rich()).await, @r#"
    (Hmm)(…)Ich schaue 日本 🦀.[Read][Grep]
    thinking Hmm… {"kind":"openai-responses","item":{"type":"reasoning","id":"rs_1_0","summary":[{"type":"summary_text","text":"Hmm…"}],"encrypted_content":"sealed-1-0"}}
    text Ich schaue 日本 🦀.
    call call_1_1 Read {"path":"ä.rs"}
    call call_1_2 Grep {"pattern": "x
    ToolCalls in 900 cached 800 out 12
    "#);
    insta::assert_snapshot!(one(KIND, answer().text("Hi.").call("LS", json!({})).usage(5, 1, 2).whole()).await, @r#"
    Hi.[LS]
    text Hi.
    call call_1_1 LS {}
    ToolCalls in 5 cached 1 out 2
    "#);
    let server = FakeServer::start(vec![answer().text("Hi.").into()]);
    let events = ask(&*provider(KIND, &server, quick())).await.unwrap();
    let phase = events.iter().find_map(|event| match event {
        StreamEvent::Item(Item::Assistant { phase, .. }) => *phase,
        _ => None,
    });
    assert_eq!(phase, Some(ReplyPhase::FinalAnswer));
}

fn events(events: &[Value]) -> Reply {
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    raw("text/event-stream", &text)
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": []}})
}

fn item(kind: &str, place: u64, item: Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": place, "item": item})
}

fn args(place: u64, piece: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": place, "delta": piece})
}

#[tokio::test]
async fn imitators() {
    let text =
        |id: &str, piece: &str| json!({"type": "response.output_text.delta", "item_id": id, "delta": piece});
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Hi."}]});
    let called = |id: &str| json!({"type": "function_call", "call_id": id, "name": "LS"});
    let thought =
        |piece: &str| json!({"type": "response.reasoning_text.delta", "output_index": 0, "delta": piece});
    for (what, reply, expected) in [
        ("deltas alone", vec![text("m", "H"), text("m", "i."), completed()], "Hi.\ntext Hi.\nStop"),
        ("no deltas", vec![item("done", 0, message.clone()), completed()], "Hi.\ntext Hi.\nStop"),
        (
            "the response alone",
            vec![json!({"type": "response.completed", "response": {"output": [message, called("a")]}})],
            "Hi.[LS]\ntext Hi.\ncall a LS \nToolCalls",
        ),
        (
            "no finished calls, interleaved",
            vec![
                item("added", 0, called("a")),
                item("added", 1, called("b")),
                args(0, "{\"x\""),
                args(1, "{}"),
                args(0, ":1}"),
                completed(),
            ],
            "[LS][LS]\ncall a LS {\"x\":1}\ncall b LS {}\nToolCalls",
        ),
        (
            "one place for all, no finished items",
            vec![
                text("m", "Hi."),
                item("added", 0, called("a")),
                args(0, "{}"),
                item("added", 0, called("a")),
                args(0, "{}"),
                json!({"type": "response.completed", "response": {"output": [message, called("a"), called("a")]}}),
            ],
            "Hi.[LS][LS]\ntext Hi.\ncall a LS {}\ncall a_1 LS {}\nToolCalls",
        ),
        (
            "finished without their arguments, and as an object",
            vec![
                item("added", 0, called("a")),
                args(0, "{}"),
                item("done", 0, called("a")),
                item(
                    "done",
                    1,
                    json!({"type": "function_call", "id": "i", "name": "LS", "arguments": {"x": 1}}),
                ),
                completed(),
            ],
            "[LS][LS]\ncall a LS {}\ncall i LS {\"x\":1}\nToolCalls",
        ),
        (
            "plain reasoning with fields that are null",
            vec![
                thought("h"),
                thought("m"),
                item(
                    "done",
                    0,
                    json!({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": null, "status": null,
                        "content": [{"type": "reasoning_text", "text": "hm"}]}),
                ),
                completed(),
            ],
            "(h)(m)\nthinking hm {\"kind\":\"openai-responses\",\"item\":{\"type\":\"reasoning\",\"id\":\"r\",\
             \"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]}}\nStop",
        ),
        (
            "reasoning that was never finished",
            vec![
                item("added", 0, json!({"type": "reasoning", "id": "r", "encrypted_content": "half"})),
                thought("hm"),
                completed(),
            ],
            "(hm)\nthinking hm {\"kind\":\"openai-responses\",\"item\":{\"type\":\"reasoning\",\"id\":\"r\",\
             \"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]}}\nStop",
        ),
        (
            "a refusal",
            vec![
                json!({"type": "response.refusal.delta", "delta": "No."}),
                item(
                    "done",
                    0,
                    json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}),
                ),
                completed(),
            ],
            "No.\ntext No.\nStop",
        ),
        (
            "free text for a tool",
            vec![
                item("added", 0, json!({"type": "custom_tool_call", "call_id": "a", "name": "LS"})),
                json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "ls"}),
                item(
                    "done",
                    0,
                    json!({"type": "custom_tool_call", "call_id": "a", "name": "LS", "input": "ls"}),
                ),
                completed(),
            ],
            "[LS]\ncall a LS {\"input\":\"ls\"}\nToolCalls",
        ),
        (
            "a summary of two parts",
            vec![
                json!({"type": "response.reasoning_summary_part.added", "summary_index": 0}),
                json!({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": "One."}),
                json!({"type": "response.reasoning_summary_part.added", "summary_index": 1}),
                json!({"type": "response.reasoning_summary_text.delta", "summary_index": 1, "delta": "Two."}),
                item(
                    "done",
                    0,
                    json!({"type": "reasoning", "encrypted_content": "g", "summary": [
                    {"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]}),
                ),
                completed(),
            ],
            "(One.)(\n\n)(Two.)\nthinking One.\n\nTwo. {\"kind\":\"openai-responses\",\"item\":{\"type\":\"reasoning\",\
             \"encrypted_content\":\"g\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"One.\"},\
             {\"type\":\"summary_text\",\"text\":\"Two.\"}]}}\nStop",
        ),
    ] {
        assert_eq!(one(KIND, events(&reply)).await, expected, "{what}");
    }
    let marked = format!("data: {}\n\ndata: [DONE]\n\n", text("m", "Hi."));
    assert_eq!(one(KIND, raw("text/event-stream", &marked)).await, "Hi.\ntext Hi.\nStop");
    // Without any end it is half an answer.
    let server = FakeServer::start(vec![events(&[text("m", "Ha")]), answer().text("Hi.").no_usage().into()]);
    let whole = ask(&*provider(KIND, &server, quick())).await.unwrap();
    assert_eq!(
        told(&whole),
        "HaHi.\ntry 2: the answer is incomplete: it ended without a finish reason\ntext Hi.\nStop"
    );
}

#[tokio::test]
async fn ends_and_usage() {
    for (word, expected) in [("max_output_tokens", "Length"), ("content_filter", "ContentFilter")] {
        let told = one(KIND, answer().text("x").no_usage().finish(word)).await;
        assert!(told.ends_with(expected), "{told}");
    }
    let usage = json!({"input_tokens": 900, "output_tokens": 50, "total_tokens": 950,
        "input_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 100},
        "output_tokens_details": {"reasoning_tokens": 40}});
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [], "usage": usage}});
    let server = FakeServer::start(vec![events(&[end])]);
    let told = ask(&*provider(KIND, &server, quick())).await.unwrap();
    let expected = Usage { input: 900, cached: 700, cache_write: 100, output: 50, reasoning: 40, charged: 0 };
    assert!(
        matches!(told.last(), Some(StreamEvent::Done { usage: Some(usage), .. }) if *usage == expected),
        "{told:?}"
    );
}

#[tokio::test]
async fn errors_inside_the_answer() {
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "so it is"});
        events(&[json!({"type": "response.failed", "response": {"status": "failed", "error": error}})])
    };
    for (reply, expected) in [
        (failed("context_length_exceeded"), "the request does not fit the model's context window: so it is"),
        (failed("invalid_prompt"), "request rejected (HTTP 400): so it is"),
        (failed("bio_policy"), "request rejected (HTTP 400): so it is"),
        (failed("rate_limit_exceeded"), "rate limit reached (HTTP 429): so it is"),
        (failed("server_error"), "server error (HTTP 500): so it is"),
        (failed("invalid_encrypted_content"), "the server rejects earlier reasoning: so it is"),
        (
            events(&[
                json!({"type": "error", "code": "invalid_prompt", "message": "so it is", "param": null}),
            ]),
            "request rejected (HTTP 400): so it is",
        ),
        (
            events(&[
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "so it is"}}),
            ]),
            "request rejected (HTTP 400): so it is",
        ),
        (
            events(&[json!({"type": "response.failed", "response": {"status": "failed", "error": null}})]),
            "server error (HTTP 500): the model's server stopped responding",
        ),
        (
            raw(
                "application/json",
                r#"{"status":"failed","output":[],"error":{"code":"invalid_prompt","message":"no"}}"#,
            ),
            "request rejected (HTTP 400): no",
        ),
    ] {
        let server = FakeServer::start(vec![reply]);
        let mut settings = settings(KIND, &server);
        settings.max_tries = 1;
        let error = ask(&*registry::build(&settings).unwrap()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
