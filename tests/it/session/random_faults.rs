//! Sessions against a server that answers well or not, as a seed says: each turn ends, every request is sound (the fake
//! server checks it), no half call runs, none runs twice, no message is lost or doubled, and the log replays.

use std::fs;
use std::time::Duration;

use base::config::settings::ProviderKind;
use base::protocol::event::EndReason;
use base::protocol::op::Control;
use context::replay::run::{self, ReplayCheck};
use context::session::reader;
use provider::wire::retry::RetryPolicy;
use serde_json::json;

use crate::provider::stream::{provider, quick};
use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::answer::raw;
use crate::support::answer::silence;
use crate::support::answer::status;
use crate::support::answer::{Answer, Reply};
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

const MOST_STEPS: usize = 6;
const TRIES: usize = 3;

/// Plans replies and knows which calls must never run.
struct Plan {
    kind: ProviderKind,
    random: fastrand::Rng,
    number: usize,
    forbidden: Vec<String>,
}

impl Plan {
    fn good(&mut self) -> (Answer, Option<String>) {
        self.number += 1;
        let thinking = if self.random.bool() { answer().reasoning("Let me see. 日本") } else { answer() };
        if self.random.u8(..3) == 0 {
            return (thinking.text(&format!("Done with {}.", self.number)), None);
        }
        let token = format!("call{}x", self.number);
        let args =
            json!({"path": format!("{token}.txt"), "content": "x\n".repeat(self.random.usize(1..200))});
        let called = match self.random.u8(..3) {
            0 => thinking.call_with_id("call_0", "Write", &args.to_string()),
            1 => thinking.text("I write.").call("Write", args),
            _ => thinking.call("Read", json!({"path": "a.txt"})).call("Write", args),
        };
        (called, Some(token))
    }

    fn forbid(&mut self, token: Option<String>, reply: impl Into<Reply>) -> Reply {
        self.forbidden.extend(token);
        reply.into()
    }

    fn reply(&mut self, faults: u8) -> Reply {
        let (good, token) = self.good();
        if self.random.u8(..10) >= faults {
            return good.into();
        }
        let early = self.random.usize(..150);
        match self.random.u8(..17) {
            0 => self.forbid(token, good.cut_after(early)),
            1 => self.forbid(token, good.end_after(early)),
            2 => self.forbid(token, good.reset_after(early)),
            3 => self.forbid(token, good.stall_after(early)),
            4 => self.forbid(token, silence()),
            5 => self.forbid(token, status(529, "busy")),
            6 => self.forbid(
                token,
                status(400, r#"{"error":{"message":"prompt is too long: 9000 tokens > 8000"}}"#),
            ),
            7 => {
                self.forbid(token, raw("text/event-stream", "data: {\"error\":{\"message\":\"kaboom\"}}\n\n"))
            }
            8 => self.forbid(token, raw("text/html", "<html><title>Sign in</title>")),
            9 => self.forbid(token, answer()),
            10 => self.forbid(token, answer().text(" \n ")),
            11 => self.forbid(token, answer().reasoning("Only a thought.")),
            12 => {
                let word = if self.kind == ProviderKind::Anthropic { "refusal" } else { "content_filter" };
                self.forbid(token, good.finish(word))
            }
            13 => {
                self.forbidden.extend(token);
                let half = format!("{{\"path\": \"half{}.txt\", \"content\": \"x", self.number);
                self.forbidden.push(format!("half{}", self.number));
                let word = if self.kind == ProviderKind::Anthropic { "max_tokens" } else { "length" };
                answer().text("I write.").call_raw("Write", &half).finish(word).into()
            }
            14 => good.usage(999_999_999, 1, 1).into(),
            15 => good.bytes_per_chunk(1).no_usage().into(),
            _ => good.whole().into(),
        }
    }
}

fn pace() -> RetryPolicy {
    RetryPolicy { idle: Duration::from_millis(150), longest_answer: Duration::from_secs(20), ..quick() }
}

async fn session(seed: u64, kind: ProviderKind) {
    let mut plan = Plan { kind, random: fastrand::Rng::with_seed(seed), number: 0, forbidden: Vec::new() };
    let server = FakeServer::start(vec![]);
    let summary = if plan.random.bool() {
        answer().text("## Objectives & Status\n- on").into()
    } else {
        status(500, "")
    };
    server.on_body("<conversation>", summary);
    let place = Workplace::new();
    place.file("a.txt", "line of text\n".repeat(400));
    let name = if kind == ProviderKind::Anthropic { "anthropic" } else { "openai" };
    let window = [8_000, 16_000, 128_000][plan.random.usize(..3)];
    let config = format!(
        "provider = \"{name}\"\nbase_url = \"{}\"\nmodel = \"m\"\ncontext_window = {window}\nmax_steps = {MOST_STEPS}\n",
        server.base_url()
    );
    let faults = plan.random.u8(..8);
    let mut agent = TestAgent::with(&place, &config, provider(kind, &server, pace()), None);
    for turn in 0..4 {
        while server.left() < 40 {
            server.push(plan.reply(faults));
        }
        let before = server.requests().len();
        let text = format!("message {turn} of {seed}");
        let end = agent.turn(&text).await;
        // Each step may be tried again, and once or twice with a smaller request.
        let requests =
            server.requests()[before..].iter().filter(|sent| !sent.raw.contains("<conversation>")).count();
        assert!(requests <= (MOST_STEPS + 3) * TRIES, "{seed} {kind:?}: {requests} requests: {end:?}");
        assert!(!matches!(end.reason, EndReason::Interrupted { .. }), "{seed}: {end:?}");
        if plan.random.u8(..3) == 0 {
            agent.send(Control::Shutdown);
            agent.handle.task.await.unwrap();
            agent = TestAgent::with(&place, &config, provider(kind, &server, pace()), Some(place.log()));
        }
    }
    agent.send(Control::Shutdown);
    agent.handle.task.await.unwrap();
    for token in &plan.forbidden {
        assert!(!place.project().join(format!("{token}.txt")).exists(), "{seed} {kind:?}: {token} ran");
    }
    let log = fs::read_to_string(place.log()).unwrap();
    for number in 1..=plan.number {
        let named = format!("\\\"call{number}x.txt\\\"");
        let calls =
            log.lines().filter(|line| line.contains("\"tool_call\":") && line.contains(&named)).count();
        assert!(calls <= 1, "{seed} {kind:?}: call {number} was taken up {calls} times");
    }
    for turn in 0..4 {
        let begins = format!("{{\"user\":{{\"text\":\"message {turn} of {seed}\"");
        assert_eq!(log.matches(&begins).count(), 1, "{seed} {kind:?}: message {turn}");
    }
    let records = reader::read(&place.log()).unwrap().records;
    for request in run::play(&records, |_, _| {}) {
        assert_eq!(request.check, ReplayCheck::Same, "{seed} {kind:?}: request {}", request.number);
    }
}

#[tokio::test]
async fn sessions_survive_faults() {
    for seed in 0..14 {
        tokio::join!(session(seed, ProviderKind::Openai), session(100 + seed, ProviderKind::Anthropic));
    }
}

/// Headless nobody holds the text: the session does, once, and it can be gone on with or said again.
#[tokio::test]
async fn unanswered_message_stays_once() {
    for (next, kind) in [("go on", ProviderKind::Openai), ("do it", ProviderKind::Anthropic)] {
        let failing = || status(401, r#"{"error":{"message":"no"}}"#);
        let server = FakeServer::start(vec![failing(), answer().reasoning("Hm.").into(), answer().into()]);
        let place = Workplace::new();
        let name = if kind == ProviderKind::Anthropic { "anthropic" } else { "openai" };
        let config = format!("provider = \"{name}\"\nbase_url = \"{}\"\nmodel = \"m\"\n", server.base_url());
        let mut agent = TestAgent::with(&place, &config, provider(kind, &server, quick()), None);
        let end = agent.turn("do it").await;
        let EndReason::ProviderFailed { prompt_returned: None, hint, .. } = &end.reason else {
            panic!("{end:?}")
        };
        assert!(!hint.is_empty());
        agent.send(Control::Shutdown);
        agent.handle.task.await.unwrap();
        let mut agent = TestAgent::with(&place, &config, provider(kind, &server, quick()), Some(place.log()));
        assert!(matches!(agent.turn("do it").await.reason, EndReason::Failed { prompt_returned: None, .. }));
        server.push(answer().text("Done."));
        assert_eq!(agent.turn(next).await.reason, EndReason::Done);
        let requests = server.requests();
        for request in &requests {
            assert_eq!(request.raw.matches("do it").count(), 1, "{}", request.raw);
        }
        assert_eq!(requests[1].raw, requests[2].raw, "asked once more is the same request");
    }
}

/// The watch over answers without an end looks at what is said, not at what is written into files.
#[tokio::test]
async fn file_of_equal_lines() {
    for (kind, content) in [
        (ProviderKind::Openai, "assert_eq!(0, 0);\n".repeat(10_000)),
        (ProviderKind::Anthropic, format!("[{}0]\n", "0,".repeat(60_000))),
    ] {
        let call =
            answer().call("Write", json!({"path": "new.txt", "content": content})).bytes_per_chunk(4_000);
        let server = FakeServer::start(vec![call.into(), answer().text("Done.").into()]);
        let place = Workplace::new();
        let name = if kind == ProviderKind::Anthropic { "anthropic" } else { "openai" };
        let config = format!("provider = \"{name}\"\nbase_url = \"{}\"\nmodel = \"m\"\n", server.base_url());
        let mut agent = TestAgent::with(&place, &config, provider(kind, &server, quick()), None);
        assert_eq!(agent.turn("write").await.reason, EndReason::Done);
        assert_eq!(place.text("new.txt"), content);
    }
}

/// An answer that broke off and a refusal after it: the smaller request ends with what the last one ended with.
#[tokio::test]
async fn error_after_broken_answer() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().text("I have read half of what").cut_after(420).into(),
        status(400, r#"{"error":{"message":"prompt is too long"}}"#),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.txt", "line of text\n".repeat(900));
    let config = format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\n", server.base_url());
    let mut agent = TestAgent::with(&place, &config, provider(ProviderKind::Openai, &server, pace()), None);
    assert_eq!(agent.turn("read").await.reason, EndReason::Done);
    assert!(!server.requests()[3].raw.contains("[interrupted]"));
}
