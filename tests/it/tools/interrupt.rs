//! Esc while a tool works on the disk: the task that takes operations never does that work itself.

use std::future::ready;

use base::model::envelope::ErrorCode;
use base::protocol::event::{EndReason, Event};
use base::protocol::op::Control;
use serde_json::json;
use tools::api::{Preview, ToolError};
use tools::registry;

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tools::Bench;
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
    agent.send(Control::Interrupt);
    assert_eq!(agent.end().await.reason, EndReason::Interrupted { prompt_returned: None });
    assert!(!agent.seen.iter().any(|event| matches!(event, Event::Ask { .. })), "asked after the interrupt");
    assert!(!place.project().join("new.txt").exists());
}

#[tokio::test]
async fn nothing_is_looked_at_after_the_interrupt() {
    let bench = Bench::new();
    bench.put("a.txt", "a\n");
    bench.cx.cancel.cancel();
    let tools = registry::builtin();
    for (tool, args) in [
        ("Read", json!({"path": "a.txt"})),
        ("Grep", json!({"pattern": "a"})),
        ("Edit", json!({"path": "a.txt", "old_string": "a", "new_string": "b"})),
    ] {
        let prepared = registry::find(&tools, tool).unwrap().prepare(args).unwrap();
        let interrupted = |error: &ToolError| error.code == ErrorCode::Interrupted;
        assert!(prepared.access(&bench.cx).await.is_err_and(|error| interrupted(&error)), "{tool}");
        let preview = prepared.preview(&bench.cx).await;
        assert!(matches!(preview, Preview::NoEffect(Err(error)) if interrupted(&error)), "{tool}");
    }
}

/// The turn does not wait for a slow disk, here a lock that the test holds; the write still happens whole.
#[test]
fn an_abandoned_write_completes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bench = Bench::new();
    let tools = registry::builtin();
    let content = "a line of the file\n".repeat(10_000);
    let args = json!({"path": "new.txt", "content": content});
    let write = registry::find(&tools, "Write").unwrap().prepare(args).unwrap();
    let lock = bench.cx.files.exclusive();
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            outcome = write.run(&bench.cx) => Some(outcome),
            () = ready(()) => None,
        }
    });
    assert!(outcome.is_none());
    assert!(!bench.path("new.txt").exists());
    drop(lock);
    while !bench.path("new.txt").exists() {
        std::thread::yield_now();
    }
    assert_eq!(bench.text("new.txt"), content);
}
