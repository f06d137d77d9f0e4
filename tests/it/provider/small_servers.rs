//! Small and slow servers on this machine: they may take their time before the first word, and answer into a quarter of
//! their window.

use base::protocol::event::{EndReason, Event};
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::{Step, answer, steps};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

#[tokio::test]
async fn a_local_server_reads_the_prompt_for_as_long_as_it_takes() {
    let reply =
        json!({"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]});
    // The head of the reply comes at once, as llama.cpp sends it.
    let slow = steps(vec![Step::Gate, Step::Bytes(reply.to_string().into_bytes())]);
    let server = FakeServer::start(vec![slow.header("content-type", "application/json")]);
    let place = Workplace::new();
    let config = format!(
        "base_url = \"{}\"\nmodel = \"m\"\nidle_timeout_s = 1\nanswer_timeout_s = 1\n",
        server.base_url()
    );
    let mut agent = TestAgent::start(&place, &config, false);
    agent.submit("go");
    let longer = |event: &Event| match event {
        Event::Silent { since_ms, left_ms: None, .. } => (*since_ms > 1_500).then_some(()),
        Event::Silent { .. } => panic!("{event:?}"),
        _ => None,
    };
    agent.until(longer).await;
    server.release(1);
    assert_eq!(agent.end().await.reason, EndReason::Done);
}

#[test]
fn a_reply_may_take_a_quarter_of_a_small_window() {
    let place = Workplace::new();
    for (window, expected) in [("8192", json!(2_048)), ("32768", json!(8_192)), ("40000", Value::Null)] {
        let server = FakeServer::start(vec![answer().text("Hi.").into()]);
        let out = place.exec(&server.base_url(), &["--context-window", window, "hi"]);
        assert_eq!(stdout(&out).trim(), "Hi.", "{}", stderr(&out));
        assert_eq!(server.requests()[0].body["max_tokens"], expected, "{window}");
    }
}
