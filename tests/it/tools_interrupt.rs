//! Esc while a tool works on the disk: the task that takes operations never does that work itself.

use mycode::protocol::event::{EndReason, Event};
use mycode::protocol::op::Op;
use serde_json::json;

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

/// The runtime has one thread: the interrupt is taken only if the preview is computed elsewhere.
#[tokio::test]
async fn interrupt_during_a_large_preview() {
    let content = "some text\n".repeat(200_000);
    let write = answer().call("Write", json!({"path": "new.txt", "content": content})).into();
    let server = FakeServer::start(vec![write]);
    let place = Workplace::new();
    let config = format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.submit("write it");
    agent.until(|event| matches!(event, Event::ToolStarted { .. }).then_some(())).await;
    agent.send(Op::Interrupt);
    assert_eq!(agent.end().await.reason, EndReason::Interrupted { prompt_returned: None });
    assert!(!agent.seen.iter().any(|event| matches!(event, Event::Ask { .. })), "asked after the interrupt");
    assert!(!place.project().join("new.txt").exists());
}
