//! A scripted engine behind the two queues, to see and test the terminal interface without an agent: it plays a fixed
//! turn for each message and answers the other operations plausibly.

use std::sync::Arc;
use std::time::Duration;

use base::config::mode::Mode;
use base::config::settings::Permission;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::{Item, ItemId, Reasoning, ToolResult};
use base::model::usage::Usage;
use base::protocol::approval::{ApprovalRequest, Question};
use base::protocol::event::{EndReason, Event, Level, SessionInfo, SessionRow, TurnEnd, WindowState};
use base::protocol::ledger::{EpochCause, EpochSum, Epochs, LedgerRow, LedgerView};
use base::protocol::op::{Control, Idle, Op, Quick, Work};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

pub const DIFF: &str = "--- a/src/sum.rs\n+++ b/src/sum.rs\n@@ -1,5 +1,6 @@\n pub fn sum(values: &[i64]) -> i64 {\n-    let mut total = 1;\n+    // The empty sum is zero.\n+    let mut total = 0;\n     for value in values {\n         total += value;\n     }\n";

pub const ANSWER: &str = "The sum starts at **1** instead of `0`, so every result is one too large.\n\n1. `src/sum.rs` holds the bug\n2. the test in *tests/sum.rs* is right\n\n```rust\nlet mut total = 0;\nfor value in values {\n    total += value;\n}\n```\n\n日本語のテキストも正しく折り返されます。絵文字 👩‍👩‍👧 と 🇩🇪 も一つの幅として数えられます。\n\n| file | change |\n|---|---|\n| src/sum.rs | start at zero |\n\nDone.";

pub fn session() -> SessionInfo {
    SessionInfo {
        id: "20260102-abcd".to_owned(),
        model: "demo-model".to_owned(),
        provider: "scripted".to_owned(),
        permission: Permission::Ask,
        most_permission: Permission::Full,
        mode: Mode::Auto,
        workspace: "/home/me/project".to_owned(),
        turns: 0,
        offer_init: true,
        effort: None,
    }
}

pub fn result(id: &str, tool: &str, envelope: Envelope) -> Event {
    Event::ToolDone { id: ItemId(1), result: Arc::new(ToolResult::new(id, tool, envelope)) }
}

pub fn started(id: &str, tool: &str, title: &str) -> Event {
    Event::ToolStarted { call_id: id.into(), tool: tool.into(), title: title.to_owned(), args: "{}".into() }
}

pub fn approval() -> Question {
    Question::Approval(ApprovalRequest {
        call_id: "c4".to_owned(),
        args: String::new(),
        tool: "Edit".to_owned(),
        title: "Edit src/sum.rs".to_owned(),
        detail: DIFF.to_owned(),
        is_diff: true,
        reason: "edits a file".to_owned(),
        always_prefix: None,
        session_scope: Some("changes to files in the workspace".to_owned()),
        parts: Vec::new(),
        agent: None,
    })
}

pub fn ledger() -> LedgerView {
    let row = |id: &str, layer: &str, origin: &str, tokens, form: &str| LedgerRow {
        id: id.to_owned(),
        layer: layer.to_owned(),
        origin: origin.to_owned(),
        tokens,
        form: form.to_owned(),
        pinned: id == "#12",
    };
    let mut rows = vec![
        row("system", "L1", "system prompt", 900, "full"),
        row("tools", "L1", "11 tool schemas", 1_900, "full"),
        row("rules", "L2", "CODE_LAW.md", 640, "full"),
        row("#12", "L3", "Read src/a.rs:1-400", 4_100, "compressed"),
        row("#31", "L6", "Bash cargo test", 6_250, "full"),
        row("#30", "L4", "user", 42, "full"),
        row("todo", "L5", "recap", 60, "full"),
    ];
    for number in 13..25 {
        rows.push(row(
            &format!("#{number}"),
            "L3",
            &format!("Grep pattern{number}"),
            100 + number,
            "pointer",
        ));
    }
    let total_tokens = rows.iter().map(|row| row.tokens).sum();
    LedgerView {
        rows,
        total_tokens,
        window_tokens: 128_000,
        window_origin: "table".to_owned(),
        error_percent: 4.0,
        epochs: Epochs {
            requests: 9,
            by_cause: vec![EpochSum {
                cause: EpochCause::TurnEndCompression,
                count: 2,
                tokens_lost: 8_400,
                tokens_saved: 3_100,
                reasoning: 0,
            }],
        },
        agents: Vec::new(),
    }
}

pub fn sessions() -> Vec<SessionRow> {
    let row = |n: usize| SessionRow {
        id: format!("s{n}"),
        title: format!("task number {n}: 日本語 and more words that are long enough to be cut somewhere"),
        turns: n,
        updated_ms: u64::MAX,
        workspace: "/home/me/project".to_owned(),
        ..SessionRow::default()
    };
    (0..14).map(row).collect()
}

/// A list of so many todos: the first is done, the second is being done.
pub fn todos(count: usize) -> Event {
    let status = |n| ["completed", "in_progress"].get(n).copied().unwrap_or("pending");
    let todos: Vec<_> = (0..count)
        .map(|n| json!({"content": format!("step {n} of the work"), "status": status(n)}))
        .collect();
    result("todo", "TodoWrite", Envelope::success("ok").with("todos", todos))
}

pub fn window() -> WindowState {
    WindowState {
        used_tokens: 15_300,
        window_tokens: 128_000,
        estimated: true,
        total: Usage { input: 15_300, output: 900, ..Usage::default() },
        cost_usd: Some(0.042),
        ..WindowState::default()
    }
}

pub fn turn_end(reason: EndReason) -> Event {
    let usage = Usage { input: 15_300, cached: 12_000, output: 900, ..Usage::default() };
    Event::TurnEnded(TurnEnd { reason, steps: 4, usage, elapsed_ms: 12_300, ..TurnEnd::default() })
}

/// Serves until `Shutdown`. `pace` is the speed in percent of what a user likes to watch; 0 waits nowhere.
pub async fn serve(mut ops: UnboundedReceiver<Op>, events: UnboundedSender<Event>, pace: u64) {
    let send = |event| drop(events.send(event));
    pause(200 * pace).await;
    send(Event::Session(session()));
    send(Event::Window(window()));
    while let Some(op) = ops.recv().await {
        match op {
            Op::Work(Work::Submit { text }) if text == "fail" => {
                send(Event::TurnStarted { text: text.clone() });
                pause(400 * pace).await;
                send(turn_end(EndReason::ProviderFailed {
                    message: "connection refused".to_owned(),
                    hint: "Check --base-url or start the server.".to_owned(),
                    prompt_returned: Some(text),
                }));
            }
            Op::Work(Work::Submit { text }) if text == "flood" => {
                send(Event::TurnStarted { text });
                for number in 0..20_000 {
                    send(Event::TextDelta(format!("line {number} of a flood of text\n\n")));
                }
                send(turn_end(EndReason::Done));
            }
            Op::Work(Work::Submit { text }) => turn(text, &mut ops, &events, pace).await,
            Op::Control(Control::ShowContext) => send(Event::Ledger(ledger())),
            Op::Quick(Quick::ListFiles) => {
                let mut paths: Vec<String> =
                    ["src/", "src/sum.rs", "docs/a page.md", "文書/設計.md"].map(str::to_owned).to_vec();
                paths.extend((0..50_000).map(|n| format!("src/deep/module_{n}/file_{n}.rs")));
                send(Event::Files(paths.into()));
            }
            Op::Quick(Quick::ListSessions) => send(Event::Sessions(sessions())),
            Op::Idle(Idle::Resume { session: id }) => {
                send(Event::Session(SessionInfo { id, offer_init: false, ..session() }));
            }
            Op::Work(Work::Compact { .. }) => {
                send(Event::Compacting { running: true });
                pause(2_000 * pace).await;
                send(Event::Compacting { running: false });
                send(Event::Notice {
                    level: Level::Info,
                    text: "12 rounds became a summary of 900 tokens.".to_owned(),
                });
            }
            Op::Idle(Idle::SetModel { model }) => send(Event::Session(SessionInfo { model, ..session() })),
            Op::Control(Control::Shutdown) => return,
            _ => {}
        }
    }
}

async fn turn(text: String, ops: &mut UnboundedReceiver<Op>, events: &UnboundedSender<Event>, pace: u64) {
    let send = |event| drop(events.send(event));
    let pause = |ms: u64| pause(ms * pace);
    send(Event::TurnStarted { text });
    for word in "I should read the file, then run the test to see what fails.".split_inclusive(' ') {
        send(Event::ReasoningDelta(word.to_owned()));
        pause(40).await;
    }
    let reasoning = Reasoning {
        text: "I should read the file, then run the test to see what fails.".into(),
        opaque: None,
    };
    send(Event::Item { id: ItemId(1), item: Arc::new(Item::Reasoning(reasoning)) });
    send(started("c1", "Read", "Read src/sum.rs"));
    send(started("c2", "Read", "Read src/none.rs"));
    pause(300).await;
    send(result("c1", "Read", Envelope::success("").with_body("content", "1\ta\n2\tb\n3\tc\n")));
    send(result(
        "c2",
        "Read",
        Envelope::error(ErrorCode::NotFound, "no file src/none.rs; did you mean src/sum.rs?"),
    ));
    send(started("c3", "Bash", "Bash cargo test"));
    for number in 0..15 {
        send(Event::ToolProgress {
            call_id: "c3".into(),
            tail: format!("   Compiling crate {number}\n\u{1b}[32m    running\u{1b}[0m test {number}"),
        });
        pause(100).await;
    }
    send(result(
        "c3",
        "Bash",
        Envelope::success("")
            .with_body("stdout", "test sum ... FAILED\n\n1 failed")
            .with("exit_code", 101)
            .partial(),
    ));
    let todos = json!([{"content": "find the bug", "status": "completed"}, {"content": "fix it", "status": "in_progress"}, {"content": "run the tests", "status": "pending"}]);
    send(started("c5", "TodoWrite", "TodoWrite"));
    send(result("c5", "TodoWrite", Envelope::success("ok").with("todos", todos)));
    send(started("c4", "Edit", "Edit src/sum.rs"));
    send(Event::Ask { id: 7, question: approval() });
    let mut reason = EndReason::Done;
    while let Some(op) = ops.recv().await {
        match op {
            Op::Control(Control::Answer { id, .. }) => {
                send(Event::AskClosed { id });
                break;
            }
            Op::Work(Work::Submit { text }) => send(Event::Steered { text }),
            Op::Control(Control::Interrupt) => {
                reason = EndReason::Interrupted { prompt_returned: None };
                break;
            }
            _ => {}
        }
    }
    if reason == EndReason::Done {
        send(result("c4", "Edit", Envelope::success("").with("diff", DIFF)));
        send(Event::Retrying {
            attempt: 2,
            of: 6,
            wait_ms: 1500,
            reason: "the server is overloaded (529)".to_owned(),
        });
        pause(1500).await;
        for piece in ANSWER.split_inclusive([' ', '\n']) {
            send(Event::TextDelta(piece.to_owned()));
            pause(25).await;
        }
        send(Event::Item { id: ItemId(9), item: Arc::new(Item::assistant(ANSWER)) });
    }
    send(Event::Window(WindowState { estimated: false, ..window() }));
    send(turn_end(reason));
}

/// `hundredths` of a millisecond.
async fn pause(hundredths: u64) {
    tokio::time::sleep(Duration::from_micros(hundredths * 10)).await;
}
