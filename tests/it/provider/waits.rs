//! Limits that pass are waited for, spent credit is final, and outages are waited out where the user allows it.

use std::time::Duration;

use base::config::settings::ProviderKind;
use base::model::stream::StreamEvent;
use base::protocol::event::Event;
use base::protocol::op::Control;
use futures_util::StreamExt;
use serde_json::json;

use super::faults::outcome;
use super::stream::{ALL, hello, provider, quick};
use crate::support::agent::TestAgent;
use crate::support::answer::{Reply, answer, raw, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};

const OPENAI: &str = r#"{"error":{"code":"rate_limit_exceeded","type":"requests","message":"Rate limit reached for m on requests per min. Please try again in 1ms. To increase your rate limit, add a payment method to your account at https://platform.openai.com/account/billing."}}"#;
const GEMINI: &str = r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.001s"}]}}]"#;

#[tokio::test]
async fn the_code_decides_not_the_words() {
    let plain = "{\"error\":{\"message\":\"You exceeded your current quota, see billing.\"}}";
    for kind in ALL {
        for limit in [
            status(429, OPENAI),
            status(429, GEMINI),
            status(429, &GEMINI.replace("retryDelay", "unknown")),
            status(429, plain).header("retry-after-ms", "1"),
        ] {
            let told = outcome(kind, quick(), vec![limit, answer().text("Hi.").no_usage().into()]).await;
            assert!(told.contains("try 2: rate limit") && told.ends_with("text Hi.\nStop"), "{told}");
        }
        for spent in [
            OPENAI.replace("rate_limit_exceeded", "insufficient_quota"),
            GEMINI.replace("PerMinute", "PerDay"),
            r#"{"error":{"type":"exceeded_current_quota_error","message":"suspended"}}"#.to_owned(),
        ] {
            let told = outcome(kind, quick(), vec![status(429, &spent)]).await;
            assert!(told.contains("error: request rejected (HTTP 429)"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_limit_inside_a_failed_response_is_waited_for() {
    let error = json!({"code": "rate_limit_exceeded", "message": "Please try again in 1.25s. See billing."});
    let failed = json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let event = format!("event: response.failed\ndata: {failed}\n\n");
    let server = FakeServer::start(vec![raw("text/event-stream", &event)]);
    let reply = provider(ProviderKind::Responses, &server, quick()).stream(&hello());
    let first = std::pin::pin!(reply).next().await.unwrap().unwrap();
    let StreamEvent::Restarted { wait, .. } = first else { panic!("{first:?}") };
    assert_eq!(wait, Duration::from_millis(1_250));
}

#[tokio::test]
async fn a_minute_and_more_is_waited_for_by_default() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![status(429, "slow down").header("retry-after", "61")]);
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, false);
    agent.submit("go");
    let retrying = |event: &Event| match event {
        Event::Retrying { wait_ms, reason, .. } => Some((*wait_ms, reason.clone())),
        _ => None,
    };
    let (wait, reason) = agent.until(retrying).await;
    assert_eq!(
        (wait, reason.as_str()),
        (61_000, "rate limit reached (HTTP 429): slow down (retry after 61 s)")
    );
    agent.send(Control::Interrupt);
    agent.end().await;
}

fn outage(tries: usize) -> Vec<Reply> {
    let down = |number: usize| {
        let code = if number.is_multiple_of(2) { 503 } else { 429 };
        status(code, "busy").header("retry-after-ms", "1")
    };
    (0..tries).map(down).chain([answer().text("Done.").into()]).collect()
}

#[test]
fn an_outage_ends_a_run_unless_it_may_wait() {
    let place = Workplace::new();
    let run = |args: &[&str], server: &FakeServer| {
        let url = server.base_url();
        let all = [args, &["--base-url", &url, "--model", "m"]].concat();
        place.command(&all).output().unwrap()
    };
    let server = FakeServer::start(outage(8));
    let out = run(&["exec", "go"], &server);
    assert_eq!(server.requests().len(), 6, "{}", stderr(&out));
    assert!(stderr(&out).contains("--wait 8h"), "{}", stderr(&out));
    let server = FakeServer::start(outage(8));
    let out = run(&["exec", "--wait", "1h", "go"], &server);
    assert_eq!((out.status.code(), server.left()), (Some(0), 0), "{}", stderr(&out));
    let said = stderr(&out);
    assert!(said.contains("; waiting since 20") && said.contains(" at most"), "{said}");
    // What nobody watches waits by itself.
    place.file("tasks.jsonl", "\"one\"\n");
    let server = FakeServer::start(outage(8));
    let out = run(&["exec", "--each", "tasks.jsonl"], &server);
    assert_eq!((out.status.code(), server.left()), (Some(0), 0), "{}", stderr(&out));
    let out = run(&["exec", "--wait", "soon", "go"], &server);
    assert!(stderr(&out).contains("such as 8h, 30m or 90s"), "{}", stderr(&out));
}
