//! Model servers that flood, loop, lie and go silent, fault by fault: every wait ends, nothing half is run, what came is
//! kept, and what did not come gives the message back.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use base::config::settings::ProviderKind;
use base::model::stream::StreamEvent;
use base::protocol::event::{EndReason, Event, TurnEnd};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt;
use provider::openai::Chat;
use provider::wire::retry::RetryPolicy;
use serde_json::json;

use super::faults::outcome;
use super::stream::{ALL, hello, quick, settings};
use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::answer::raw;
use crate::support::answer::status;
use crate::support::answer::steps;
use crate::support::answer::{Answer, Dialect, Reply, Step};
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;

fn forever(piece: &str) -> Reply {
    steps(vec![Step::Forever(piece.as_bytes().to_vec(), Duration::ZERO)])
}

fn once() -> RetryPolicy {
    RetryPolicy { max_tries: 1, ..quick() }
}

/// The bytes of a whole answer.
fn bytes(answer: &Answer, kind: ProviderKind) -> Vec<u8> {
    let dialect = match kind {
        ProviderKind::Anthropic => Dialect::Anthropic,
        ProviderKind::Responses => Dialect::Responses,
        _ => Dialect::Chat,
    };
    let steps = answer.steps(dialect, 1, (0, 0, 0)).into_iter();
    steps.flat_map(|step| if let Step::Bytes(bytes) = step { bytes } else { Vec::new() }).collect()
}

#[tokio::test]
async fn floods_in_any_part() {
    let big = "z".repeat(200_000);
    let chat = |delta: serde_json::Value| format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}));
    let call = |call: serde_json::Value| chat(json!({"tool_calls": [call]}));
    let block = |index: u64, block: serde_json::Value| {
        format!(
            "data: {}\n\n",
            json!({"type": "content_block_start", "index": index, "content_block": block})
        )
    };
    let output = |item: serde_json::Value| {
        let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
        format!("data: {done}\n\n")
    };
    for (kind, piece) in [
        (ProviderKind::Openai, chat(json!({"content": big}))),
        (ProviderKind::Openai, chat(json!({"reasoning_details": [{"text": big}]}))),
        (ProviderKind::Openai, call(json!({"index": 0, "id": "a", "function": {"name": format!("{big}1")}}))),
        (ProviderKind::Openai, call(json!({"index": 0, "id": big, "function": {"arguments": "{}"}}))),
        (
            ProviderKind::Openai,
            (0..2_000).map(|index| call(json!({"index": index, "function": {"name": "LS"}}))).collect(),
        ),
        (ProviderKind::Anthropic, block(0, json!({"type": "text", "text": big}))),
        (ProviderKind::Anthropic, block(0, json!({"type": "tool_use", "id": big, "name": "LS"}))),
        (
            ProviderKind::Anthropic,
            (0..2_000).map(|index| block(index, json!({"type": "tool_use", "name": "LS"}))).collect(),
        ),
        (ProviderKind::Responses, output(json!({"type": "message", "content": big}))),
        (ProviderKind::Responses, output(json!({"type": "reasoning", "encrypted_content": big}))),
        (
            ProviderKind::Responses,
            (0..2_000).map(|_| output(json!({"type": "function_call", "name": "LS"}))).collect(),
        ),
        (ProviderKind::Openai, format!(": {}", "comment ".repeat(20_000))),
    ] {
        let told = outcome(kind, once(), vec![forever(&piece)]).await;
        let told = &told[told.rfind("error:").unwrap_or(0)..];
        assert!(told.contains("runaway response") || told.contains("is larger than"), "{told}");
    }
}

#[tokio::test]
async fn empty_events_count_as_silence() {
    let pace = |idle| RetryPolicy { idle: Duration::from_millis(idle), ..once() };
    let events = [
        ": keep-alive\n\n",
        " \n",
        "data: {\"choices\":[]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n",
    ];
    for event in events {
        for kind in ALL {
            let told = outcome(kind, pace(150), vec![forever(event)]).await;
            assert!(told.contains("error: no data from the server"), "{event}: {told}");
        }
    }
    // An answer that has said why it ended is whole, whatever still comes.
    for kind in [ProviderKind::Chat, ProviderKind::Anthropic] {
        let end = bytes(&answer().text("Hi.").no_usage(), kind);
        let text = String::from_utf8(end).unwrap();
        let formal = if kind == ProviderKind::Chat { "data: [DONE]" } else { "event: message_stop" };
        let settled = text.as_bytes()[..text.find(formal).unwrap()].to_vec();
        let pings = Step::Forever(events[4].as_bytes().to_vec(), Duration::from_millis(1));
        let told = outcome(kind, pace(1_000), vec![steps(vec![Step::Bytes(settled), pings])]).await;
        assert!(told.ends_with("text Hi.\nStop"), "{told}");
    }
    // However busily it comes, it is not waited for longer than is allowed.
    let pace = RetryPolicy { longest_answer: Duration::from_millis(300), ..once() };
    let words = "data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n";
    let drip = steps(vec![Step::Forever(words.as_bytes().to_vec(), Duration::from_millis(2))]);
    let told = outcome(ProviderKind::Openai, pace, vec![drip]).await;
    assert!(told.contains("error: the reply was not finished within"), "{told}");
}

#[tokio::test]
async fn odd_encodings_of_answers() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let good = answer().text("Hi.").no_usage();
    for kind in ALL {
        let other = if kind == ProviderKind::Chat { ProviderKind::Anthropic } else { ProviderKind::Chat };
        let plain = bytes(&good, kind);
        let whole = bytes(&good.clone().whole(), kind);
        let with_mark = [b"\xef\xbb\xbf".to_vec(), whole].concat();
        let sent = |bytes: Vec<u8>| steps(vec![Step::Bytes(bytes)]);
        let pieces = gzip(&plain).chunks(7).map(|piece| Step::Bytes(piece.to_vec())).collect();
        for (reply, expected) in [
            (steps(pieces).header("content-encoding", "gzip"), "text Hi.\nStop"),
            (sent(plain.clone()).header("content-encoding", "gzip"), "text Hi.\nStop"),
            (sent(b"\x01\x02\x03".to_vec()).header("content-encoding", "br"), "unsupported compression 'br'"),
            (sent(with_mark), "text Hi.\nStop"),
            (sent(bytes(&good, other)), "its events belong to another API"),
            (raw("application/json", r#"[{"error":{"code":400,"message":"no"}}]"#), "(HTTP 400): no"),
            (raw("text/plain", "upstream gave up"), "expected events, got: upstream gave up"),
            (raw("text/event-stream", "data: {\"error\":{\"message\":\"kaboom\"}}\n\n"), "kaboom"),
            (
                status(307, "").header("location", "https://u:p@new/v1?key=sk-very-secret#x"),
                "redirects to https://",
            ),
        ] {
            let told = outcome(kind, once(), vec![reply]).await;
            assert!(
                told.contains(expected) && !told.contains("sk-very-secret"),
                "{kind:?} {expected}: {told}"
            );
        }
    }
}

#[tokio::test]
async fn impossible_usage_is_ignored() {
    for (usage, expected) in [
        (json!({"prompt_tokens": -5, "completion_tokens": -7}), "Stop"),
        (json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX}), "Stop"),
        (json!({"prompt_tokens": 12.0, "completion_tokens": 3.5}), "Stop in 12 cached 0 out 3"),
        (json!({"prompt_tokens": "12", "completion_tokens": 1}), "Stop in 12 cached 0 out 1"),
        (json!("much"), "Stop"),
    ] {
        let end = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage});
        let reply = raw("text/event-stream", &format!("data: {end}\n\ndata: [DONE]\n\n"));
        let told = outcome(ProviderKind::Openai, once(), vec![reply]).await;
        assert!(told.ends_with(&format!("\n{expected}")), "{told}");
    }
    let huge = json!({"input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX, "output_tokens": 1});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": huge});
    let reply = raw("text/event-stream", &format!("data: {end}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"));
    assert!(outcome(ProviderKind::Anthropic, once(), vec![reply]).await.ends_with("in 0 cached 0 out 1"));
}

#[tokio::test]
async fn reused_connection_closed_by_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let body = String::from_utf8(bytes(&answer().text("Hi.").no_usage(), ProviderKind::Openai)).unwrap();
    let server = std::thread::spawn(move || {
        let reply = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let request = |stream: &mut std::net::TcpStream| stream.read(&mut [0; 65_536]).unwrap();
        let (mut first, _) = listener.accept().unwrap();
        request(&mut first);
        first.write_all(reply.as_bytes()).unwrap();
        // The next request comes here and finds nobody any more.
        request(&mut first);
        drop(first);
        let (mut second, _) = listener.accept().unwrap();
        request(&mut second);
        second.write_all(reply.as_bytes()).unwrap();
    });
    let fake = FakeServer::start(vec![]);
    let mut settings = settings(ProviderKind::Openai, &fake);
    settings.base_url = format!("http://127.0.0.1:{port}/v1");
    let provider = Chat::with_retry(&settings, quick()).unwrap();
    for _ in 0..2 {
        let events: Vec<_> = base::model::provider::Provider::stream(&provider, &hello()).collect().await;
        assert!(events.iter().all(|event| !matches!(event, Ok(StreamEvent::Restarted { .. }) | Err(_))));
    }
    server.join().unwrap();
}

fn start(server: &FakeServer, more: &str) -> (Workplace, TestAgent) {
    start_as(server, more, false)
}

fn start_as(server: &FakeServer, more: &str, interactive: bool) -> (Workplace, TestAgent) {
    let place = Workplace::new();
    for number in 0..6 {
        place.file(&format!("big{number}.txt"), format!("line {number} of text that fills it\n").repeat(450));
    }
    let config =
        format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\n{more}", server.base_url());
    let agent = TestAgent::start(&place, &config, interactive);
    (place, agent)
}

/// How a turn ended, in a line: the reason, the message, and what went back into the composer.
fn told(end: &TurnEnd) -> String {
    match &end.reason {
        EndReason::ProviderFailed { message, prompt_returned, .. } => {
            format!("provider: {message}; back: {prompt_returned:?}")
        }
        EndReason::Failed { message, prompt_returned, .. } => {
            format!("failed: {message}; back: {prompt_returned:?}")
        }
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn partial_answers_and_returned_prompts() {
    let half = || answer().text("First half of an answer").cut_after(420).into();
    let filtered =
        || answer().call("Bash", json!({"command": "touch half"})).finish("content_filter").no_usage().into();
    let cut = || answer().call_raw("LS", "").finish("length").no_usage().into();
    for (replies, expected, kept) in [
        (
            vec![half(), status(529, "busy")],
            "provider: server error (HTTP 529): busy (tried 2 times); back: None",
            "[interrupted]",
        ),
        (
            vec![status(529, "busy"), status(529, "busy")],
            "provider: server error (HTTP 529): busy (tried 2 times); back: Some(\"do it\")",
            "",
        ),
        (
            vec![answer().into(), answer().into()],
            "failed: the model returned an empty response; back: Some(\"do it\")",
            "",
        ),
        (vec![filtered()], "failed: the server's content filter ended the reply; back: Some(\"do it\")", ""),
        (
            vec![answer().text("I may not").finish("content_filter").into()],
            "failed: the server's content filter ended the reply; back: None",
            "I may not",
        ),
        (
            vec![cut(), cut(), cut(), cut()],
            "failed: the model reached its output limit before it replied; back: Some(\"do it\")",
            "",
        ),
        (
            vec![steps(vec![Step::Forever(
                b"data: {\"choices\":[{\"delta\":{\"content\":\"and on \"}}]}\n\n".repeat(100),
                Duration::ZERO,
            )])],
            "provider: runaway response: it repeats the same words over and over",
            "and on and on",
        ),
    ] {
        let server = FakeServer::start(replies);
        let (place, mut agent) = start_as(&server, "max_tries = 2\n", true);
        let end = agent.turn("do it").await;
        assert!(told(&end).starts_with(expected), "{}", told(&end));
        assert_eq!(server.left(), 0);
        // The session goes on, with what was kept.
        server.push(answer().text("Done."));
        assert_eq!(agent.turn("go on").await.reason, EndReason::Done);
        let last = server.requests().pop().unwrap().raw;
        assert!(last.contains(kept) && last.contains("do it") != expected.contains("do it"), "{last}");
        assert!(!place.project().join("half").exists(), "a call of an answer that is not whole was run");
    }
}

#[tokio::test]
async fn full_window_retries() {
    let full = || status(400, r#"{"error":{"message":"`inputs` must have less than 8193 tokens"}}"#);
    // Nothing to give up: once more, and then it is said.
    let server = FakeServer::start(vec![full(), answer().text("Done.").into()]);
    assert_eq!(start(&server, "").1.turn("hi").await.reason, EndReason::Done);
    let server = FakeServer::start((0..9).map(|_| full()).collect());
    let end = start(&server, "").1.turn("hi").await;
    assert!(
        told(&end).starts_with("provider: the request does not fit the model's context window"),
        "{}",
        told(&end)
    );
    assert_eq!(server.requests().len(), 2);
    // An answer that came to the end of the window is asked for again in a smaller request, once.
    let read = || {
        let name = |number| json!({"path": format!("big{number}.txt")});
        (0..6).fold(answer(), |answer, number| answer.call("Read", name(number))).no_usage().into()
    };
    let at_the_end = || answer().text("I may").finish("length").usage(29_900, 0, 60).into();
    let server = FakeServer::start(vec![read(), at_the_end(), answer().text("Done.").no_usage().into()]);
    let (_place, mut agent) = start(&server, "context_window = 30000\ncompression_threshold = 0.95\n");
    assert_eq!(agent.turn("read").await.reason, EndReason::Done);
    let sizes: Vec<usize> = server.requests().iter().map(|request| request.raw.len()).collect();
    assert!(sizes[2] < sizes[1], "{sizes:?}");
    let server =
        FakeServer::start(vec![read(), at_the_end(), at_the_end(), at_the_end(), at_the_end(), at_the_end()]);
    let (_place, mut agent) = start(&server, "context_window = 30000\ncompression_threshold = 0.95\n");
    let end = agent.turn("read").await;
    assert!(told(&end).starts_with("failed: the reply was cut off"), "{}", told(&end));
}

#[tokio::test]
async fn argument_forms() {
    let many = |open: &str| open.repeat(100_000);
    let replies = vec![
        answer().call_raw("LS", "null").no_usage().into(),
        answer().call_raw("LS", &json!(r#"{"path":"."}"#).to_string()).no_usage().into(),
        answer().call_raw("LS", "\"").no_usage().into(),
        answer().call_raw("LS", "[1]").no_usage().into(),
        answer().call_raw("LS", &format!("{{\"path\":{}", many("["))).no_usage().into(),
        answer().call_raw("Bash", &many("{\"a\":")).no_usage().into(),
        answer().call_raw(&"L".repeat(100_000), "{}").no_usage().into(),
        answer().call_with_id(&"i".repeat(10_000), "LS", "{}").call_with_id("\u{1b}[31m", "LS", "{}").into(),
        answer().text("Done.").into(),
    ];
    let server = FakeServer::start(replies);
    let (_place, mut agent) = start(&server, "");
    assert_eq!(agent.turn("list").await.reason, EndReason::Done);
    let results = agent.seen.iter().filter_map(|event| match event {
        Event::ToolDone { result, .. } => Some(result.envelope.error.is_none()),
        _ => None,
    });
    let results: Vec<bool> = results.collect();
    assert_eq!(results, [true, true, false, false, false, false, false, true, true]);
    assert!(!server.requests().pop().unwrap().raw.contains(&"i".repeat(300)));
}

#[test]
fn exec_shows_retries_and_exit_code() {
    let server = FakeServer::start(vec![status(529, "busy"), status(529, "busy")]);
    let place = Workplace::new();
    let url = server.base_url();
    let mut command = place.command(&["exec", "--base-url", &url, "--model", "m", "task"]);
    let output = command.env("MYCODE_MAX_TRIES", "2").output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let told = stderr(&output);
    assert!(told.contains("attempt 2 of 2 in") && told.contains("(tried 2 times)"), "{told}");
}
