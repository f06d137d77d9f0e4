//! Servers that refuse, cut, stall, repeat and lie: each becomes one clear error or one more try.

use std::time::Duration;

use base::config::settings::ProviderKind;
use base::model::provider::ProviderError;
use base::model::stream::StreamEvent;
use futures_util::StreamExt;
use provider::openai::Chat;
use provider::wire::decoder::MAX_REPLY_BYTES;
use provider::wire::retry::RetryPolicy;

use super::stream::{ALL, ask, hello, provider, quick, settings, told};
use crate::support::answer::answer;
use crate::support::answer::raw;
use crate::support::answer::silence;
use crate::support::answer::status;
use crate::support::answer::steps;
use crate::support::answer::{Reply, Step};
use crate::support::server::FakeServer;

/// What the user sees of an answer (its last line) or its error.
pub async fn outcome(kind: ProviderKind, pace: RetryPolicy, replies: Vec<Reply>) -> String {
    let server = FakeServer::start(replies);
    let provider = provider(kind, &server, pace);
    let events: Vec<_> = provider.stream(&hello()).collect().await;
    let mut good = Vec::new();
    let mut error = String::new();
    for event in events {
        match event {
            Ok(event) => good.push(event),
            Err(fault) => error = format!("\nerror: {fault}"),
        }
    }
    assert_eq!(server.left(), 0, "every reply is used");
    told(&good) + &error
}

#[tokio::test]
async fn final_errors() {
    for (reply, expected) in [
        (
            status(401, r#"{"error":{"message":"bad key sk-very-secret"}}"#),
            "API key rejected (HTTP 401): bad key <key>",
        ),
        (status(404, r#"{"error":"model 'm' not found"}"#), "model 'm' not found"),
        (
            status(400, r#"{"error":{"message":"unknown field"}}"#),
            "request rejected (HTTP 400): unknown field",
        ),
        (status(400, r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#), "does not fit"),
        (status(429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#), "(HTTP 429): pay"),
        (status(302, "moved").header("location", "https://elsewhere/"), "redirects to https://elsewhere/"),
        (status(308, "").header("location", "/openai/v1/x?key=1"), "/openai/v1/x; set --base-url"),
        (raw("text/html", "<html><title>Login</title></html>"), "a web page titled 'Login'"),
        (raw("application/json", r#"{"hello":1}"#), "the JSON is not a"),
        (
            raw("application/json", r#"{"error":{"type":"invalid_request_error","message":"no"}}"#),
            "(HTTP 400): no",
        ),
    ] {
        for kind in ALL {
            let told = outcome(kind, quick(), vec![reply.clone()]).await;
            assert!(told.contains(expected), "{told}");
            assert!(!told.contains("try 2"), "{told}");
        }
    }
}

#[tokio::test]
async fn retried_errors() {
    let slow_down = status(429, r#"{"error":{"message":"slow"}}"#).header("retry-after-ms", "2");
    let overloaded = status(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#);
    let good = || answer().text("Hi.").no_usage();
    for kind in ALL {
        let told = outcome(kind, quick(), vec![slow_down.clone(), overloaded.clone(), good().into()]).await;
        insta::allow_duplicates! { insta::assert_snapshot!(told, @r"
        Hi.
        try 2: rate limit reached (HTTP 429): slow
        try 3: server error (HTTP 529): busy
        text Hi.
        Stop
        "); }
        for broken in [
            good().cut_after(250),
            good().end_after(250),
            good().reset_after(250),
            good().bytes_per_chunk(3).cut_after(10),
            good().end_after(0),
        ] {
            let told = outcome(kind, quick(), vec![broken.into(), good().into()]).await;
            assert!(told.contains("try 2: ") && told.ends_with("text Hi.\nStop"), "{told}");
        }
    }
}

#[tokio::test]
async fn error_inside_the_stream() {
    let event = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    for kind in ALL {
        let told =
            outcome(kind, quick(), vec![raw("text/event-stream", event), answer().no_usage().into()]).await;
        assert!(told.contains("try 2: server error (HTTP 529): busy"), "{told}");
        let told = outcome(kind, quick(), vec![raw("text/event-stream", "data: nonsense\n\n")]).await;
        assert!(told.contains("is not valid JSON"), "{told}");
    }
}

#[tokio::test]
async fn retries_are_bounded() {
    let trouble = || status(500, "oops");
    let told = outcome(ProviderKind::Openai, quick(), vec![trouble(), trouble(), trouble()]).await;
    assert!(told.ends_with("error: server error (HTTP 500): oops"), "{told}");
    let later = status(429, "tomorrow").header("retry-after", "86400");
    let told = outcome(ProviderKind::Openai, quick(), vec![later]).await;
    assert!(
        told.ends_with("error: rate limit reached (HTTP 429): tomorrow (retry after 24 hours)"),
        "{told}"
    );
}

#[tokio::test]
async fn idle_timeouts() {
    let pace = || RetryPolicy { idle: Duration::from_millis(150), max_tries: 1, ..quick() };
    for kind in ALL {
        for reply in
            [silence(), answer().text("x").stall_after(250).into(), answer().text("x").stall_after(0).into()]
        {
            let told = outcome(kind, pace(), vec![reply]).await;
            assert!(told.contains("error: no data from the server"), "{told}");
        }
    }
    // Comments keep an answer alive, but not for ever.
    let pace = RetryPolicy { idle: Duration::from_millis(50), max_tries: 1, ..quick() };
    let drip = steps(vec![Step::Forever(b": keep-alive\n\n".to_vec(), Duration::from_millis(2))]);
    let told = outcome(ProviderKind::Openai, pace, vec![drip]).await;
    assert!(told.contains("error: no data from the server"), "{told}");
}

#[tokio::test]
async fn settled_answer_without_formal_end() {
    // Everything but the [DONE]; the connection then stays open, or breaks.
    let body = answer().text("Hi.").no_usage();
    let length = "data: [DONE]\n\n".len();
    let whole: usize = body
        .steps(crate::support::answer::Dialect::Chat, 1, (0, 0, 0))
        .iter()
        .map(|step| if let Step::Bytes(bytes) = step { bytes.len() } else { 0 })
        .sum();
    let pace = || RetryPolicy { idle: Duration::from_millis(400), max_tries: 1, ..quick() };
    for reply in [
        body.clone().stall_after(whole - length),
        body.clone().cut_after(whole - length),
        body.clone().end_after(whole - length),
    ] {
        assert_eq!(outcome(ProviderKind::Openai, pace(), vec![reply.into()]).await, "Hi.\ntext Hi.\nStop");
    }
}

#[tokio::test]
async fn argument_flood() {
    let flood = answer().call_raw("Write", &"x".repeat(MAX_REPLY_BYTES + 2)).no_usage();
    for kind in ALL {
        let told = outcome(kind, quick(), vec![flood.clone().into()]).await;
        assert!(told.contains("16 MiB"), "{}", &told[..200.min(told.len())]);
    }
    // Ten megabytes are large, but an answer.
    let large = answer().call_raw("Write", &"x".repeat(10 << 20)).no_usage();
    assert!(outcome(ALL[0], quick(), vec![large.into()]).await.ends_with("ToolCalls"));
}

#[tokio::test]
async fn no_connection() {
    let server = FakeServer::start(vec![]);
    let mut settings = settings(ProviderKind::Openai, &server);
    let once = RetryPolicy { max_tries: 1, ..quick() };
    settings.base_url = "http://127.0.0.1:9/v1".to_owned();
    let error = ask(&Chat::with_retry(&settings, once.clone()).unwrap()).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Connect { message, .. } if message.contains("refused")),
        "{error}"
    );
    // A plain server where a secure one is expected.
    settings.base_url = format!("https://127.0.0.1:{}/v1", server.port());
    let error = ask(&Chat::with_retry(&settings, once.clone()).unwrap()).await.unwrap_err();
    assert!(matches!(error, ProviderError::Tls { .. }), "{error:?}");
    settings.api_key = None;
    settings.base_url = "https://api.openai.com/v1".to_owned();
    let error = Chat::with_retry(&settings, once.clone()).err().unwrap().to_string();
    assert!(error.contains("OPENAI_API_KEY"), "{error}");
    settings.base_url = "localhost/v1".to_owned();
    assert!(matches!(Chat::with_retry(&settings, once), Err(ProviderError::Setup(_))));
}

#[tokio::test]
async fn restart_discards_partial_answer() {
    let server = FakeServer::start(vec![
        answer().text("first half and more").cut_after(400).into(),
        answer().text("whole").into(),
    ]);
    let events = ask(&*provider(ProviderKind::Openai, &server, quick())).await.unwrap();
    let restart = events.iter().position(|event| matches!(event, StreamEvent::Restarted { attempt: 2, .. }));
    let first_half = events.iter().position(|event| matches!(event, StreamEvent::TextDelta(_)));
    assert!(first_half < restart && restart.is_some(), "{events:?}");
}
