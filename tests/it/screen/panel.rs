//! The panel above the composer: todos, jobs, sub-agents and calls that wait.

use base::model::envelope::{Envelope, ErrorCode};
use base::protocol::event::{Event, JobRow};
use crossterm::event::KeyCode;
use serde_json::json;

use crate::support::fake_engine as fake;
use crate::support::stage::Stage;

#[test]
fn a_call_that_never_ran_keeps_its_title() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    stage.event(Event::ToolWaiting { call_id: "b".into(), title: "Bash cargo test".to_owned() });
    stage.event(fake::result("b", "Bash", Envelope::error(ErrorCode::Interrupted, "the user interrupted")));
    let shown = stage.shown();
    assert!(shown.contains("● Bash cargo test") && !shown.contains("queued"), "{shown}");
}

#[test]
fn panel_above_the_composer() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    stage.event(fake::todos(9));
    stage.event(Event::Jobs(vec![JobRow { id: 1, command: "npm run watch".to_owned(), ended: None }]));
    stage.event(fake::started("t", "Task", "Task explore: find the sum"));
    let tail = "explore: 3 requests · 12.0k tokens · Read src/sum.rs".to_owned();
    stage.event(Event::ToolProgress { call_id: "t".into(), tail });
    stage.event(Event::ToolWaiting { call_id: "b".into(), title: "Bash cargo test".to_owned() });
    stage.event(Event::Window(base::protocol::event::WindowState {
        total: base::model::usage::Usage { input: 12_000, output: 345, ..Default::default() },
        ..fake::window()
    }));
    insta::assert_snapshot!(stage.shown(), @r#"
        ☑ step 0 of the work
        ▶ step 1 of the work
        ☐ step 2 of the work
        ☐ step 3 of the work
        ☐ step 4 of the work
        ☐ step 5 of the work
        ☐ step 6 of the work
        ☐ step 7 of the work
        ☐ step 8 of the work
    ⠋ explore: find the sum · 3 requests · 12.0k tokens · Read src/sum.rs
    ○ Bash cargo test · queued

    ⠋ Running · 0s · 12.3k tokens · Esc to interrupt
      1 of 9 todos done · Alt-T to fold
      ▶ step 1 of the work
      ☐ step 2 of the work
      ☐ step 3 of the work
      ☐ step 4 of the work
      ☐ step 5 of the work
      … 3 more
    ◦ job 1: npm run watch
    ──────────────────────────────────────────────────────────────────────────────
    › ▏Add a message to this turn
      demo-model · ~11% 15.3k/128k · $0.04 · 1 job · ask              Enter to steer
    "#);
    stage.take_key(crossterm::event::KeyEvent::new(KeyCode::Char('t'), crossterm::event::KeyModifiers::ALT));
    assert!(stage.shown().contains("Alt-T to show"), "{}", stage.shown());
    stage.event(fake::started("b", "Bash", "Bash cargo test"));
    assert!(!stage.shown().contains("waits"), "{}", stage.shown());
    for (columns, rows) in [(40, 15), (20, 5)] {
        let mut small = Stage::new(columns, rows);
        small.event(Event::TurnStarted { text: "go".to_owned() });
        small.event(fake::todos(9));
        small.event(Event::ToolWaiting { call_id: "b".into(), title: "Bash cargo test".to_owned() });
        let shown = small.shown();
        assert!(shown.contains('›') && shown.contains("Working"), "{columns}x{rows}:\n{shown}");
        assert!(
            shown.lines().count() <= usize::from(rows) && (rows < 10) != shown.contains("todos done"),
            "{shown}"
        );
    }
}

#[test]
fn todos_that_are_done_take_no_room() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    let done = json!([{"content": "a", "status": "completed"}, {"content": "b", "status": "cancelled"}]);
    stage.event(fake::result(
        "t",
        "TodoWrite",
        base::model::envelope::Envelope::success("").with("todos", done),
    ));
    assert!(!stage.shown().contains("todos"), "{}", stage.shown());
}
