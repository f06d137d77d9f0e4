//! What the terminal interface looks like at 80×24: transcript above, viewport below, as text.

use std::time::Duration;

use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::ItemId;
use base::protocol::approval::{Answer, ApprovalRequest, AskedQuestion, Question};
use base::protocol::event::Event;
use base::protocol::ledger::{ItemEvent, ItemHistory, LedgerView};
use base::protocol::op::{Control, Op, Undo, Work};
use base::protocol::rewind::{
    FileAction, PointId, RewindDone, RewindPoint, RewindPreview, RewindRow, RewindScope,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use frontend::tui::msg::{Cmd, Msg};
use frontend::tui::render::view;
use frontend::tui::update::on_message::update;
use ratatui::text::Line;

use crate::support::fake_engine as fake;
use crate::support::stage::{Stage, key};

#[test]
fn composer_before_first_event() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("early");
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    › early▏
      Starting…                                                                /help
    "#);
}

#[test]
fn welcome() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::Window(fake::window()));
    insta::assert_snapshot!(stage.shown(), @r#"
    mycode 0.1.0  /home/me/project
    @ to add a file · / for commands · /help for help
    ? No AGENTS.md here. Write one? It tells the model how to work on this project.
      Type 1 for yes (/init), 2 for not now, or 3 for never in this project
    ──────────────────────────────────────────────────────────────────────────────
    › ▏Type a task
      demo-model · ~11% 15.3k/128k · $0.04 · ask                               /help
    "#);
}

#[test]
fn a_call_that_has_run_does_not_spin() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    stage.event(fake::started("a", "Bash", "Bash sleep 3"));
    stage.event(fake::started("b", "Read", "Read src/sum.rs"));
    stage.event(Event::ToolRan { call_id: "b".into() });
    let shown = stage.shown();
    assert!(shown.contains("● Read src/sum.rs") && !shown.contains("● Bash"), "{shown}");
}

#[test]
fn an_interrupted_command_keeps_its_last_lines() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    stage.event(fake::started("a", "Bash", "Bash make"));
    stage.event(Event::ToolProgress { call_id: "a".into(), tail: "cc main.c".to_owned() });
    stage.event(fake::result("a", "Bash", Envelope::error(ErrorCode::Interrupted, "it was killed")));
    let shown = stage.shown();
    assert!(shown.contains("● Bash make\n  └ it was killed\n    cc main.c\n"), "{shown}");
}

#[test]
fn words_behind_a_long_paste_are_shown() {
    let mut stage = Stage::new(80, 60);
    let paste: String = (1..200).map(|number| format!("line {number}\n")).collect();
    stage.event(Event::TurnStarted { text: format!("Why?\n{paste}Look at line 7.\n") });
    let shown = stage.shown();
    for part in
        ["› Why?\n  line 1\n", "\n  line 21\n  … 1.5 KiB more …\n  line 193\n", "\n  Look at line 7.\n"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn lines_that_are_still_to_come_are_told() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    assert!(!stage.shown().contains("Printing") && !stage.app.needs_tick());
    stage.app.behind = 300;
    assert!(stage.shown().contains("⠋ Printing · 300 lines to come"), "{}", stage.shown());
    assert!(stage.app.needs_tick());
}

#[test]
fn streaming_with_tools() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(base::protocol::event::SessionInfo { offer_init: false, ..fake::session() }));
    stage.event(Event::TurnStarted { text: "why is the sum wrong?".to_owned() });
    stage.event(Event::TextDelta("I look at `src/sum.rs` first.".to_owned()));
    stage.event(fake::started("a", "Read", "Read src/sum.rs"));
    stage.event(fake::started("b", "Read", "Read src/none.rs"));
    stage.event(fake::result("a", "Read", Envelope::success("").with_body("content", "1\ta\n2\tb\n")));
    let missing = Envelope::error(ErrorCode::NotFound, "no file src/none.rs; did you mean src/sum.rs?");
    stage.event(fake::result("b", "Read", missing));
    stage.event(fake::started("c", "Bash", "Bash cargo test"));
    let tail = "\u{1b}[32m   Compiling\u{1b}[0m demo\nrunning 2 tests".to_owned();
    stage.event(Event::ToolProgress { call_id: "c".into(), tail });
    stage.app.now = Duration::from_secs(65);
    stage.take_in(Msg::Tick);
    insta::assert_snapshot!(stage.shown(), @r#"
    mycode 0.1.0  /home/me/project
    @ to add a file · / for commands · /help for help

    › why is the sum wrong?

    I look at src/sum.rs first.

    ● Read src/sum.rs
      └ 2 lines
    ● Read src/none.rs
      └ no file src/none.rs; did you mean src/sum.rs?
    ⠙ Bash cargo test
           Compiling demo
        running 2 tests

    ⠙ Running · 1m 05s · Esc to interrupt
    ──────────────────────────────────────────────────────────────────────────────
    › ▏Add a message to this turn
      demo-model · ask                                                Enter to steer
    "#);
}

#[test]
fn approval_with_diff() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::TurnStarted { text: "fix it".to_owned() });
    stage.event(fake::started("c4", "Edit", "Edit src/sum.rs"));
    stage.event(Event::Ask { id: 1, question: fake::approval() });
    insta::assert_snapshot!(stage.shown(), @r#"
    › fix it

    ⠋ Edit src/sum.rs

    ? Waiting for your answer
    ──────────────────────────────────────────────────────────────────────────────
    ? Allow Edit src/sum.rs  +2 -1
      edits a file
       1  pub fn sum(values: &[i64]) -> i64 {
       2 -    let mut total = 1;
       2 +    // The empty sum is zero.
       3 +    let mut total = 0;
       4      for value in values {
       5          total += value;
       6      }
      y Yes, once
      s Yes, and don't ask again this session: changes to files in the workspace
      n No
      y, n at once · s, ↑↓ + Enter · Tab: no, because … · Ctrl-E: why · Esc: stop
      Starting…
    "#);
}

#[test]
fn file_popup() {
    let mut stage = Stage::new(80, 24);
    let paths = ["src/", "src/sum.rs", "tests/sum.rs", "docs/a summary.md", "文書/設計.md"];
    stage.event(Event::Files(paths.map(str::to_owned).into()));
    stage.type_text("look at @sum");
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    › look at @sum▏
    ▸ src/sum.rs
      tests/sum.rs
      docs/a summary.md
      Starting…                                                                /help
    "#);
}

#[test]
fn context() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Ledger(fake::ledger()));
    assert!(!stage.shown().contains("Context"), "a ledger that nobody asked for opens nothing");
    stage.type_text("/context");
    stage.press(KeyCode::Enter);
    stage.event(Event::Ledger(fake::ledger()));
    stage.press(KeyCode::Down);
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Context 15.3k of 128.0k tokens (12%, ±4%) · window size from table
    L1 System & tools    2.8k  █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   2.2%
    L2 Project rules      640  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0.5%
    L3 History           5.5k  ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   4.3%
    L4 Question            42  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0.0%
    L5 Todo recap          60  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0.0%
    L6 Scratchpad        6.2k  ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   4.9%
       free            112.7k  88%
       epochs  3 (re-read, saved): 2× turn-end compression (8.4k, 3.1k)

        6.2k  L6 #31    full       Bash cargo test
    ▸   4.1k  L3 #12    compressed Read src/a.rs:1-400 · pinned
        1.9k  L1 tools  full       11 tool schemas
         900  L1 system full       system prompt
         640  L2 rules  full       CODE_LAW.md
         124  L3 #24    pointer    Grep pattern24
         123  L3 #23    pointer    Grep pattern23
         122  L3 #22    pointer    Grep pattern22
         121  L3 #21    pointer    Grep pattern21
      ↓ 10 more
      ↑↓ select · Enter why · p pin · d drop · r restore · Esc close
      Starting…                                                                /help
    "#);
    stage.press(KeyCode::Enter);
    stage.event(Event::ItemHistory(ItemHistory {
        id: "#12".to_owned(),
        origin: "Read src/a.rs:1-400".to_owned(),
        arrived_ms: None,
        full_tokens: 9_000,
        tokens: 4_100,
        form: "compressed".to_owned(),
        pinned: true,
        events: vec![ItemEvent {
            after_requests: 14,
            what: "compressed: 9000 → 4100 tokens".to_owned(),
            cause: "compaction: finished rounds".to_owned(),
        }],
        recall: "the model: Recall {\"id\":12}".to_owned(),
    }));
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    #12  Read src/a.rs:1-400
      original          9000 tokens
      sent now          4100 tokens, compressed, pinned
      after request 14  compressed: 9000 → 4100 tokens — compaction: finished rounds
      recall            the model: Recall {"id":12}















      Esc to go back
      Starting…                                                                /help
    "#);
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Down);
    assert!(stage.ops(key(KeyCode::Enter)).is_empty());
    assert!(
        stage.shown().contains("This part is always sent in full: 11 tool schemas."),
        "{}",
        stage.shown()
    );
    stage.press(KeyCode::Esc);
    assert!(stage.shown().contains("Type a task"));
}

#[test]
fn command_popup() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/c");
    stage.take_in(Msg::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE)));
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    › /c▏
      /context [verb id]   show what fills the window; why, pin, drop, restore
    ▸ /cost                show what this session cost, by model and turn
      /compact [focus]     summarize older turns now; `auto on|off`
      /copy [code]         copy the last answer, or its last code block
      /clear               start a new session
      Starting…                                                                /help
    "#);
}

#[test]
fn approval_escapes_control_characters() {
    let mut stage = Stage::new(60, 24);
    let request = ApprovalRequest {
        call_id: "c".to_owned(),
        args: String::new(),
        tool: "Bash".to_owned(),
        title: "Bash echo \u{202e}safe\u{1b}[8m; rm -rf /".to_owned(),
        detail: "echo \u{202e}safe\u{1b}[8m; rm -rf /".to_owned(),
        is_diff: false,
        reason: "commands ask first".to_owned(),
        always_prefix: Some("echo".to_owned()),
        session_scope: Some("this exact command".to_owned()),
        parts: Vec::new(),
        agent: None,
    };
    stage.event(Event::Ask { id: 1, question: Question::Approval(request) });
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────
    ? Allow Bash echo <U+202E>safe<U+001B>[8m; rm -rf /
      commands ask first
      echo <U+202E>safe<U+001B>[8m; rm -rf /
      y Yes, once
      s Yes, and don't ask again this session: this exact
        command
      a Always allow `echo` in this project
      n No
      y, n at once · s, a, ↑↓ + Enter · Tab: no, because … ·
      Ctrl-E: why · Esc: stop
      Starting…
    "#);
}

#[test]
fn a_question_of_the_model() {
    let mut stage = Stage::new(60, 24);
    let question = "Which database should the new service use?".to_owned();
    let options = vec!["PostgreSQL".to_owned(), "SQLite".to_owned()];
    let questions = vec![AskedQuestion { question, options, optional: false }];
    stage.event(Event::Ask { id: 1, question: Question::Ask { questions } });
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────
    ? Which database should the new service use?
    ▸ 1. PostgreSQL
      2. SQLite
    › ▏
      Number, or ↑↓ and Enter · or type an answer · Esc to stop
      Starting…
    "#);
}

#[test]
fn empty_context() {
    let mut stage = Stage::new(30, 8);
    let ledger = LedgerView {
        rows: Vec::new(),
        total_tokens: 0,
        window_tokens: 0,
        window_origin: "default".to_owned(),
        error_percent: 15.0,
        epochs: Default::default(),
        agents: Vec::new(),
    };
    stage.type_text("/context");
    stage.press(KeyCode::Enter);
    stage.event(Event::Ledger(ledger));
    assert!(stage.shown().contains("0 of 0 tokens"));
}

#[test]
fn cursor_after_wide_characters() {
    let mut stage = Stage::new(30, 8);
    stage.type_text("日本語 👩‍👩‍👧 テキストは長いので折り返す");
    stage.take_in(Msg::Key(KeyEvent::new(KeyCode::Left, KeyModifiers::NONE)));
    insta::assert_snapshot!(stage.shown(), @r#"
    ────────────────────────────
    › 日本語 👩‍ テキストは長いの
      で折り返▏す
      Starting…              /help
    "#);
}

#[test]
fn tiny_screen() {
    let mut stage = Stage::new(20, 5);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::TurnStarted { text: "x".to_owned() });
    stage.type_text("a rather long line that wraps");
    insta::assert_snapshot!(stage.shown(), @r#"
    › x
    ⠋ Working · 0s · Esc
    › a rather long
      line that wraps▏
      ask Enter to steer
    "#);
}

#[tokio::test]
async fn turn_in_scrollback() {
    let (ops, served) = tokio::sync::mpsc::unbounded_channel();
    let (events, mut received) = tokio::sync::mpsc::unbounded_channel();
    let engine = tokio::spawn(fake::serve(served, events, 0));
    let mut stage = Stage::new(80, 24);
    ops.send(Work::Submit { text: "fix it".to_owned() }.into()).unwrap();
    while let Some(event) = received.recv().await {
        let ended = matches!(event, Event::TurnEnded(_));
        if let Event::Ask { id, .. } = event {
            ops.send(Control::Answer { id, answer: Answer::Once }.into()).unwrap();
        }
        stage.event(event);
        stage.shown();
        if ended {
            break;
        }
    }
    ops.send(Control::Shutdown.into()).unwrap();
    engine.await.unwrap();
    let visible = stage.shown();
    let all = stage.screen.output().lines().join("\n");
    assert!(all.contains("Done") && visible.contains("Done"), "{all}");
    let places: Vec<usize> =
        ["› fix it", "● Read src/sum.rs", "exit 101", "☑ find the bug", "+2 -1", "1. src/sum.rs", "✓ Done"]
            .iter()
            .map(|text| all.find(text).unwrap_or_else(|| panic!("{text:?} is missing in\n{all}")))
            .collect();
    assert!(places.is_sorted(), "{places:?}\n{all}");
}

#[test]
fn rewind_popup() {
    let point = |id, name: &str, title: &str, files| RewindPoint {
        id,
        name: name.to_owned(),
        title: title.to_owned(),
        ms: 1,
        files,
        plus: 4,
        minus: 2,
        conversation: true,
    };
    let points = vec![
        point(PointId::Rewind(1), "u1", "Undo the rewind to “hello”", 1),
        point(PointId::Turn(ItemId(9)), "9", "tidy up\u{1b}[2J", 2),
        point(PointId::Turn(ItemId(1)), "1", "hello", 0),
    ];
    let row = |path: &str, action, conflict: Option<&str>| RewindRow {
        path: path.to_owned(),
        action,
        plus: 1,
        minus: 3,
        differs: None,
        conflict: conflict.map(str::to_owned),
        impossible: None,
    };
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.type_text("/rewind");
    let sent = update(&mut stage.app, Msg::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    assert!(matches!(sent.last(), Some(Cmd::Send(Op::Undo(Undo::ListPoints)))), "{sent:?}");
    stage.event(Event::RewindPoints(points.clone()));
    let list = stage.shown();
    assert!(list.contains("2 files +4 -2") && list.contains("no files") && list.contains("▸ "), "{list}");
    assert!(list.contains("tidy up") && !list.contains("[2J"), "{list}");
    let sent = update(&mut stage.app, Msg::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    let id = PointId::Turn(ItemId(9));
    assert!(
        matches!(&sent[..], [Cmd::Send(Op::Undo(Undo::PreviewRewind { point }))] if *point == id),
        "{sent:?}"
    );
    let of_rewind =
        RewindPreview { point: points[0].clone(), rows: Vec::new(), outside: Vec::new(), items: 0 };
    stage.event(Event::RewindPreview(of_rewind));
    assert!(stage.shown().contains("\nUndo the rewind to “hello”\n"), "{}", stage.shown());
    stage.event(Event::RewindPreview(RewindPreview {
        point: points[1].clone(),
        rows: vec![
            row("src/a.rs", FileAction::Restore, None),
            row("mine.txt", FileAction::Delete, Some("another program changed it since")),
        ],
        outside: vec!["/etc/x".to_owned()],
        items: 7,
    }));
    let page = stage.shown();
    for part in [
        "▸ conversation and files",
        "restore  src/a.rs  +1 -3",
        "skip     mine.txt  another program changed",
        "7 messages",
        "/etc/x",
    ] {
        assert!(page.contains(part), "{part} in\n{page}");
    }
    let mut narrow = stage.app.clone();
    update(&mut narrow, Msg::Resize(40, 12));
    update(&mut narrow, Msg::Key(KeyEvent::new(KeyCode::Left, KeyModifiers::NONE)));
    let rows = view::picture(&narrow, 40, 11).lines;
    let seen = |row: &Line| row.to_string().chars().take(40).collect::<String>().contains("▸ conversation");
    assert!(rows.iter().any(seen), "{rows:?}");
    // The conflict is overwritten only when the user says so; the arrow leaves the conversation where it is.
    let mut press = |code| update(&mut stage.app, Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    press(KeyCode::Char('o'));
    press(KeyCode::Right);
    let sent = press(KeyCode::Enter);
    let wanted = Op::Undo(Undo::Rewind { point: id, part: RewindScope::Files, force: true });
    assert!(matches!(&sent[..], [Cmd::Send(op)] if *op == wanted), "{sent:?}");
    stage.event(Event::Rewound(RewindDone {
        part: RewindScope::Both,
        done: Vec::new(),
        left: Vec::new(),
        text: Some("tidy up".to_owned()),
        undo: "u1".to_owned(),
    }));
    assert!(stage.shown().contains("› tidy up"));
}
