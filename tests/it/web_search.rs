//! WebSearch: one request beside the conversation, in the form that each server knows, and what comes back of it.
//! Replies have the shapes of the types in `@anthropic-ai/sdk` 1.12.0, `openai` 6.49.0 and of OpenRouter's documents.

use serde_json::{Value, json};

use crate::support::answer::{answer, status};
use crate::support::server::{FakeServer, Recorded};
use crate::support::workplace::{Workplace, stderr, stdout};

const ASKED: &str = "latest serde release";

struct Session {
    /// What the model was told of its search.
    told: String,
    /// The requests of the search.
    searches: Vec<Recorded>,
    /// Those of the conversation.
    others: Vec<Recorded>,
    /// The session's tokens as the user is told.
    total: Value,
}

/// A session in which the model searches once.
fn session(provider: &str, replies: &[Value]) -> Session {
    let calls = answer().call("WebSearch", json!({"query": ASKED})).usage(100, 0, 10);
    let mut all = vec![calls.into()];
    all.extend(replies.iter().map(|reply| status(200, &reply.to_string())));
    all.push(answer().text("Done.").usage(200, 0, 10).into());
    let server = FakeServer::start(all);
    let url = server.base_url();
    let args = ["exec", "--json", "--provider", provider, "--base-url", &url, "--model", "m", "what is new?"];
    let place = Workplace::new();
    let output = place.command(&args).env("MYCODE_WEB_SEARCH", "provider").output().unwrap();
    assert!(output.status.success(), "{}{}", stderr(&output), stdout(&output));
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let total = events.iter().rev().find(|event| event["type"] == "usage").unwrap()["total"].clone();
    let requests = server.requests();
    let (first, rest) = requests.split_first().unwrap();
    let (last, searches) = rest.split_last().unwrap();
    let said = if last.body["input"].is_array() { &last.body["input"] } else { &last.body["messages"] };
    Session {
        told: said.as_array().unwrap().last().unwrap().to_string(),
        searches: searches.to_vec(),
        others: vec![first.clone(), last.clone()],
        total,
    }
}

#[test]
fn anthropic_searches_and_may_pause() {
    let first = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "pause_turn",
        "content": [
            {"type": "text", "text": "I search."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "caller": {"type": "direct"},
             "input": {"query": "serde crates.io"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "caller": {"type": "direct"}, "content": [
                {"type": "web_search_result", "url": "https://a.example/other", "title": "Other",
                 "encrypted_content": "xx", "page_age": null},
            ]},
        ],
        "usage": {"input_tokens": 1000, "output_tokens": 30, "cache_read_input_tokens": 0,
                  "cache_creation_input_tokens": 0, "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}},
    });
    let second = json!({
        "id": "msg_2", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [
            {"type": "text", "text": " Serde 2.0 is out.", "citations": [
                {"type": "web_search_result_location", "url": "https://serde.example/rel", "title": "Releases",
                 "encrypted_index": "yy", "cited_text": "2.0"},
            ]},
            {"type": "text", "text": " That is all."},
        ],
        "usage": {"input_tokens": 2000, "output_tokens": 40},
    });
    let session = session("anthropic", &[first.clone(), second]);
    let asked: Vec<&Value> = session.searches.iter().map(|request| &request.body).collect();
    assert_eq!(
        asked[0]["tools"],
        json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}])
    );
    assert_eq!(asked[0]["messages"], json!([{"role": "user", "content": ASKED}]));
    assert_eq!(asked[1]["messages"][1], json!({"role": "assistant", "content": first["content"]}));
    for part in
        ["I search. Serde 2.0 is out.[2] That is all.", "[1] Other https://a.example/other", "[2] Releases"]
    {
        assert!(session.told.contains(part), "{}", session.told);
    }
    // Its tokens count, and the fixed part of the conversation knows nothing of the server's tool.
    assert_eq!(
        session.total,
        json!({"input": 3_300, "cached": 0, "cache_write": 0, "output": 90, "reasoning": 0})
    );
    assert_eq!(session.others[0].body["tools"], session.others[1].body["tools"]);
    assert!(session.others[0].raw.contains("WebSearch {query}"));
}

#[test]
fn a_failed_search_is_told() {
    let reply = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "caller": {"type": "direct"},
            "content": {"type": "web_search_tool_result_error", "error_code": "too_many_requests"}}],
        "usage": {"input_tokens": 10, "output_tokens": 1},
    });
    let session = session("anthropic", &[reply]);
    assert!(session.told.contains("the search failed: too_many_requests"), "{}", session.told);
}

#[test]
fn responses_search() {
    let reply = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "model": "m",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search",
             "queries": ["serde"], "sources": [{"type": "url", "url": "https://b.example/"},
                                                {"type": "url", "url": "https://a.example/"}]}},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "Serde 2.0.", "annotations": [
                    {"type": "url_citation", "url": "https://a.example/", "title": "A", "start_index": 0, "end_index": 9},
                ]},
            ]},
        ],
        "usage": {"input_tokens": 500, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 20,
                  "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 520},
    });
    let session = session("responses", &[reply]);
    let asked = &session.searches[0];
    assert!(asked.path.ends_with("/responses"));
    assert_eq!(asked.body["tools"], json!([{"type": "web_search"}]));
    assert_eq!(asked.body["include"], json!(["web_search_call.action.sources"]));
    assert_eq!((&asked.body["input"], &asked.body["store"]), (&json!(ASKED), &json!(false)));
    let told = "Serde 2.0.\\n\\nSources:\\n[1] A https://a.example/\\n[2] https://b.example/";
    assert!(session.told.contains(told), "{}", session.told);
    assert_eq!(session.total["input"], 800);
}

#[test]
fn a_server_without_a_search_is_told_of() {
    let server = FakeServer::start(vec![answer().text("Done.").into()]);
    let place = Workplace::new();
    let url = server.base_url();
    let mut command = place.command(&["exec", "--base-url", &url, "--model", "m", "x"]);
    let output = command.env("MYCODE_WEB_SEARCH", "provider").output().unwrap();
    assert!(stderr(&output).contains("has no search"), "{}", stderr(&output));
    assert!(!server.requests()[0].raw.contains("WebSearch"));
}
