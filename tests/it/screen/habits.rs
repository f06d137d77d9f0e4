//! Keys that users of other agents press: the permission cycle, messages for after the turn, text set aside.

use std::os::unix::fs::PermissionsExt;

use base::config::mode::Mode;
use base::config::settings::Permission;
use base::protocol::event::{EndReason, Event};
use base::protocol::op::{Idle, Op, Quick, Work};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use frontend::tui::msg::Msg;

use crate::support::answer::answer;
use crate::support::fake_engine as fake;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::stage::{Stage, key};
use crate::support::workplace::Workplace;

fn stage() -> Stage {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage
}

#[test]
fn a_narrow_activity_line_has_no_hole() {
    let mut stage = Stage::new(40, 12);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    stage.event(Event::TextDelta("word ".repeat(2_000)));
    assert!(stage.shown().contains("⠋ · 0s · "), "{}", stage.shown());
}

fn ctrl(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

fn submit(text: &str) -> Op {
    Work::Submit { text: text.to_owned() }.into()
}

#[test]
fn shift_tab_goes_through_the_permissions() {
    let mut stage = stage();
    let level = |permission| Op::Quick(Quick::SetPermission { permission });
    let mode = |mode| Op::Quick(Quick::SetMode { mode });
    for (status, sent) in [
        ("accept-edits", vec![level(Permission::AcceptEdits)]),
        ("plan mode · ask", vec![mode(Mode::Plan), level(Permission::Ask)]),
        ("auto", vec![mode(Mode::Auto), level(Permission::Auto)]),
        ("ask", vec![level(Permission::Ask)]),
    ] {
        assert_eq!(stage.ops(key(KeyCode::BackTab)), sent, "{status}");
        let shown = stage.shown();
        assert!(shown.contains(&format!("demo-model · {status}")), "{status}: {shown}");
    }
    // Older confirmations don't turn it back.
    stage.press(KeyCode::BackTab);
    stage.event(Event::Permission(Permission::Auto));
    assert!(stage.shown().contains("demo-model · accept-edits"), "{}", stage.shown());
}

#[test]
fn edits_are_accepted_and_commands_are_not() {
    let server = FakeServer::start(vec![
        answer().call("Write", serde_json::json!({"path": "a.txt", "content": "a\n"})).into(),
        answer().call("Bash", serde_json::json!({"command": "touch made"})).into(),
        answer().call("Write", serde_json::json!({"path": "AGENTS.md", "content": "a\n"})).into(),
        answer().text("Fine.").into(),
    ]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("\u{1b}[Z");
    screen.wait("· accept-edits");
    screen.keys("make it\r");
    screen.wait("Allow Bash touch made");
    assert_eq!(place.text("a.txt"), "a\n");
    screen.keys("n");
    // A file that tells agents what to do isn't just any file.
    screen.wait("Allow Write AGENTS.md");
    screen.keys("n");
    screen.wait("Fine.");
    assert!(!place.project().join("made").exists() && !place.project().join("AGENTS.md").exists());
}

#[test]
fn full_permission_is_confirmed_and_stands_out() {
    let mut stage = stage();
    stage.command("/permission full");
    let shown = stage.shown();
    assert!(
        shown.contains("▸ full") && shown.contains("Enter confirms: no questions, no sandbox"),
        "{shown}"
    );
    assert_eq!(stage.app.session.as_ref().map(|info| info.permission), Some(Permission::Ask));
    let sent = stage.ops(key(KeyCode::Enter));
    assert_eq!(sent, [Op::Quick(Quick::SetPermission { permission: Permission::Full })]);
    assert!(!stage.shown().contains("Permission level"), "the administrator may allow less");
    stage.event(Event::Permission(Permission::Full));
    let shown = stage.shown();
    assert!(shown.contains("Permission level: full. No approvals, and commands run without a sandbox."));
    let row = shown.lines().position(|line| line.contains("demo-model · full")).unwrap();
    let column = shown.lines().nth(row).unwrap().find("full").unwrap() - "·".len() + 1;
    let screen = stage.screen.output().parser.screen();
    let cell = screen.cell(u16::try_from(row).unwrap(), u16::try_from(column).unwrap()).unwrap();
    assert!(cell.bold() && cell.fgcolor() == vt100::Color::Idx(1), "{:?}", cell.contents());
    // Escape leaves it as it was.
    let mut stage = self::stage();
    stage.command("/permission full");
    assert!(stage.ops(key(KeyCode::Esc)).is_empty());
    assert!(stage.shown().contains("demo-model · ask"));
}

#[test]
fn tab_queues_for_after_the_turn() {
    let mut stage = stage();
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    stage.type_text("then test it");
    assert!(stage.ops(key(KeyCode::Tab)).is_empty(), "the running turn doesn't get it");
    stage.type_text("and commit");
    stage.press(KeyCode::Tab);
    let shown = stage.shown();
    assert!(shown.contains("after this turn: then test it"), "{shown}");
    assert!(shown.contains("after this turn: and commit · Up to edit"), "{shown}");
    let ends = |stage: &mut Stage, reason| {
        stage.event(fake::turn_end(reason));
        stage.ops(key(KeyCode::Null))
    };
    stage.event(fake::turn_end(EndReason::Done));
    assert_eq!(stage.app.later, ["and commit"]);
    assert!(stage.app.turn.is_some(), "the first one is sent");
    // What an interrupted turn leaves comes back to be edited.
    assert!(ends(&mut stage, EndReason::Interrupted { prompt_returned: None }).is_empty());
    assert_eq!(stage.app.composer.text(), "and commit");
    assert!(stage.app.later.is_empty());
}

#[test]
fn a_queued_message_is_sent_after_the_turn() {
    let server = FakeServer::start(vec![answer().text("One.").gated().into(), answer().text("Two.").into()]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("first\r");
    server.wait_for_requests(1);
    screen.keys("second\t");
    screen.wait("after this turn: second");
    server.release(10_000);
    screen.wait("Two.");
    let requests = server.requests();
    assert!(requests[1].raw.contains("One.") && requests[1].raw.contains("second"), "a turn of its own");
}

#[test]
fn text_is_set_aside_and_comes_back() {
    let mut stage = stage();
    stage.type_text("half a thought");
    stage.take_key(ctrl('s'));
    assert!(stage.shown().contains("Type a task"), "{}", stage.shown());
    stage.take_key(ctrl('s'));
    assert_eq!(stage.app.composer.text(), "half a thought");
    stage.take_key(ctrl('s'));
    stage.type_text("first this");
    assert!(stage.ops(key(KeyCode::Enter)).contains(&submit("first this")));
    assert_eq!(stage.app.composer.text(), "half a thought");
}

#[test]
fn a_question_mark_lists_the_keys() {
    let mut stage = stage();
    stage.type_text("?");
    assert!(stage.app.composer.is_empty());
    assert!(stage.shown().contains("Ctrl-R"), "{}", stage.shown());
    stage.type_text("why?");
    assert_eq!(stage.app.composer.text(), "why?");
    stage.take_key(KeyEvent::new(KeyCode::Char('p'), KeyModifiers::ALT));
    assert!(stage.shown().contains("Models"), "{}", stage.shown());
}

#[test]
fn pasting_again_opens_the_fold() {
    let mut stage = stage();
    let text = "line\n".repeat(14);
    stage.take_in(Msg::Paste(text.clone()));
    assert!(stage.shown().contains("[Pasted 14 lines]"));
    stage.take_in(Msg::Paste(text.clone()));
    assert_eq!(stage.app.composer.text(), text);
}

#[test]
fn control_x_control_e_opens_the_editor() {
    let (server, place) = (FakeServer::start(vec![]), Workplace::new());
    place.file("editor.sh", "#!/bin/sh\nprintf 'from the editor' > \"$1\"\n");
    let editor = place.project().join("editor.sh");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let args = ["--base-url", &server.base_url(), "--model", "m"];
    let vars = [("EDITOR", editor.to_str().unwrap())];
    let mut screen = Screen::start_with(&place, &args, (80, 24), &vars);
    screen.wait("· ask");
    screen.keys("draft\u{18}\u{5}");
    screen.wait("› from the editor");
}

#[test]
fn words_without_quotes_are_a_task() {
    let server = FakeServer::start(vec![answer().text("Fixed.").into(), answer().text("Again.").into()]);
    let place = Workplace::new();
    let screen = Screen::chat(&place, &server, &["fix", "the", "bug"]);
    screen.wait("› fix the bug");
    screen.wait("Fixed.");
    let url = server.base_url();
    let args = ["-p", "fix", "the", "report", "--base-url", &url, "--model", "m"];
    let output = place.command(&args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(server.requests()[1].raw.contains("fix the report"));
}

#[test]
fn a_running_command_moves_to_the_background() {
    let server = FakeServer::start(vec![
        answer().call("Bash", serde_json::json!({"command": "echo begun; sleep 60"})).into(),
        answer().text("Meanwhile.").into(),
    ]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &["--permission", "full"]);
    screen.wait("· full");
    screen.keys("serve\r");
    screen.wait("    begun");
    screen.keys("\u{2}");
    screen.wait("Meanwhile.");
    screen.wait("· 1 job ·");
    let sent = server.requests()[1].raw.clone();
    assert!(sent.contains("Moved to the background by the user; it keeps running as job 1."), "{sent}");
    // Without a command it is the cursor's key, as in a shell.
    screen.keys("ac\u{2}b");
    screen.wait("› abc");
}

#[test]
fn effort_by_list_and_by_keys() {
    let mut stage = stage();
    let set = |level: &str| Op::Idle(Idle::SetEffort { level: level.to_owned() });
    let alt = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::ALT);
    assert_eq!(stage.ops(alt('.')), [set("high")], "one more than the default");
    assert!(stage.ops(alt('.')).is_empty());
    assert!(stage.shown().contains("effort: high; there is no higher level"), "{}", stage.shown());
    assert_eq!(stage.ops(alt(',')), [set("medium")]);
    stage.command("/effort");
    stage.press(KeyCode::Up);
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Effort  type to search
      Enter to use · Esc to close · Alt-, and Alt-. lower and raise it
    ▸ low
      medium   in use
      high
      demo-model · ask                                                         /help
    "#);
    assert_eq!(stage.ops(key(KeyCode::Enter)), [set("low")]);
    stage.command("/effort wild");
    assert!(stage.shown().contains("demo-model has no effort wild. Choose one of low, medium, high."));
}

#[test]
fn commands_of_other_agents() {
    let id = fake::session().id;
    for (typed, sent) in [
        ("/plan", Op::Quick(Quick::SetMode { mode: Mode::Plan })),
        ("/fork", Op::Idle(Idle::ForkSession { session: id.clone() })),
        ("/rename Two words", Op::Quick(Quick::NameSession { session: id, title: "Two words".to_owned() })),
    ] {
        let mut stage = stage();
        stage.command(typed);
        assert!(stage.sent().contains(&sent), "{typed}");
    }
}

#[test]
fn what_was_queued_comes_back_with_an_unanswered_message() {
    let server = FakeServer::start(vec![answer().text("Late.").gated().into()]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("hello\r");
    server.wait_for_requests(1);
    screen.keys("and more\r");
    screen.wait("queued: and more");
    screen.keys("draft\u{1b}");
    let shown = screen.wait("No reply had arrived yet");
    assert!(
        shown.contains("› hello") && shown.contains("  and more") && shown.contains("  draft"),
        "{shown}"
    );
    assert!(!shown.contains("queued:"), "{shown}");
}

#[test]
fn what_is_rewound_leaves_the_screen() {
    let server =
        FakeServer::start(vec![answer().text("Answer one.").into(), answer().text("Answer two.").into()]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("first\r");
    screen.wait("Answer one.");
    screen.keys("second\r");
    screen.wait("Answer two.");
    screen.keys("\u{1b}");
    screen.wait("Esc again");
    screen.keys("\u{1b}");
    screen.wait("Rewind to before");
    screen.keys("\r");
    screen.wait("from the conversation");
    screen.keys("\r");
    let shown = screen.wait_for("the last message to be edited", |shown| {
        shown.contains("Answer one.") && shown.contains("› second") && !shown.contains("Answer two.")
    });
    assert!(shown.contains("› first"), "{shown}");
}
