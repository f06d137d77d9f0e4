//! Questions on the screen: never hidden, answered by what was meant, and no word or paste is lost to them.

use std::time::Duration;

use base::protocol::approval::{Answer, ApprovalRequest, AskedQuestion, Question};
use base::protocol::event::{Event, JobRow};
use base::protocol::op::{Control, Op};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use frontend::tui::msg::{Cmd, Msg};
use frontend::tui::update::on_message::update;
use serde_json::json;

use crate::support::answer::answer;
use crate::support::fake_engine as fake;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::stage::{Stage, key};
use crate::support::workplace::Workplace;

const WAITS: &str = "? Waiting for your answer · Tab";

/// A chat whose turn runs.
fn stage() -> Stage {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.event(Event::TurnStarted { text: "go".to_owned() });
    stage
}

fn asked(stage: &mut Stage) {
    // Long after the last key.
    stage.app.now += Duration::from_secs(5);
    stage.event(Event::Ask { id: 1, question: fake::approval() });
}

fn question_of_the_model() -> Question {
    let options = vec!["PostgreSQL".to_owned(), "SQLite".to_owned()];
    let question = "Which database should the new service use?".to_owned();
    Question::Ask { questions: vec![AskedQuestion { question, options, optional: false }] }
}

fn ctrl(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

fn answered(answer: Answer) -> Vec<Op> {
    vec![Control::Answer { id: 1, answer }.into()]
}

/// Types with pauses in which a single letter would answer.
fn type_slowly(stage: &mut Stage, text: &str) {
    for letter in text.chars() {
        stage.press(KeyCode::Char(letter));
        stage.app.now += Duration::from_millis(400);
        stage.take_in(Msg::Tick);
    }
}

#[test]
fn a_paste_never_vanishes() {
    // At an approval, it goes to the composer, or to the reason that is being written.
    let mut stage = stage();
    asked(&mut stage);
    stage.take_in(Msg::Paste("see the log".to_owned()));
    let shown = stage.shown();
    assert!(shown.contains("› see the log▏") && shown.contains("Press Tab to answer"), "{shown}");
    stage.press(KeyCode::Tab);
    stage.press(KeyCode::Tab);
    stage.take_in(Msg::Paste("too risky".to_owned()));
    assert!(stage.shown().contains("No, because: too risky"));
    // A list searches for it; several lines, and what has no field, go to the composer.
    for (command, paste, found) in [
        ("/model", "glm", "search: glm"),
        ("/model", "first\nsecond", "pasted into your message"),
        ("/context", "words", "pasted into your message"),
    ] {
        let mut stage = self::stage();
        stage.command(command);
        stage.take_in(Msg::Paste(paste.to_owned()));
        let shown = stage.shown();
        assert!(shown.contains(found), "{command}: {shown}");
        stage.press(KeyCode::Esc);
        let kept = found.starts_with("pasted");
        assert_eq!(stage.app.composer.text(), if kept { paste } else { "" }, "{command}");
    }
    // The pager too.
    let mut stage = self::stage();
    stage.take_key(ctrl('t'));
    stage.take_in(Msg::Paste("from the log".to_owned()));
    assert!(stage.shown().contains("pasted into your message"));
    stage.press(KeyCode::Esc);
    assert!(stage.shown().contains("› from the log▏"));
}

#[test]
fn words_typed_slowly_are_no_lasting_answer() {
    let mut stage = stage();
    asked(&mut stage);
    type_slowly(&mut stage, "s");
    assert!(stage.shown().contains("▸ s Yes, and don't ask again this session"), "{}", stage.shown());
    type_slowly(&mut stage, "ee also the other file");
    let shown = stage.shown();
    assert!(shown.contains("› see also the other file▏") && !shown.contains("▸"), "{shown}");
    assert_eq!(stage.app.questions.len(), 1);
    // Enter sends the words; the question stays.
    stage.press(KeyCode::Enter);
    assert_eq!(stage.app.questions.len(), 1);
    stage.press(KeyCode::Tab);
    assert!(stage.ops(key(KeyCode::Enter)).is_empty(), "nothing is marked");
    assert_eq!(stage.ops(key(KeyCode::Enter)), answered(Answer::Once));
}

#[test]
fn enter_takes_what_is_marked() {
    let mut stage = stage();
    asked(&mut stage);
    let shown = stage.shown();
    assert!(shown.contains("▸ y Yes, once") && shown.contains("y, n at once · s, ↑↓ + Enter"), "{shown}");
    assert!(shown.contains("Tab: no, because … · Ctrl-E: why · Esc: stop"), "{shown}");
    assert_eq!(stage.ops(key(KeyCode::Enter)), answered(Answer::Once));
    for code in [KeyCode::Char('s'), KeyCode::Char('2'), KeyCode::Down] {
        let mut stage = self::stage();
        asked(&mut stage);
        assert!(stage.ops(key(code)).is_empty());
        assert!(stage.shown().contains("▸ s"));
        assert_eq!(stage.ops(key(KeyCode::Enter)), answered(Answer::Session));
    }
    // A second look: the letter again, or another one, begins no word.
    let mut stage = self::stage();
    asked(&mut stage);
    for letter in ['2', 's', '1', 's'] {
        stage.press(KeyCode::Char(letter));
        stage.app.now += Duration::from_secs(2);
    }
    assert!(stage.shown().contains("▸ s") && stage.app.composer.is_empty(), "{}", stage.shown());
    assert_eq!(stage.ops(key(KeyCode::Enter)), answered(Answer::Session));
    // An Enter that was meant for the composer approves nothing.
    let mut stage = self::stage();
    stage.command("faster");
    stage.event(Event::Ask { id: 1, question: fake::approval() });
    assert!(stage.ops(key(KeyCode::Enter)).is_empty());
}

#[test]
fn a_waiting_question_is_never_hidden() {
    for name in ["Ctrl-T", "/model", "/context", "/permission"] {
        let mut stage = stage();
        match name {
            "Ctrl-T" => stage.take_key(ctrl('t')),
            command => stage.command(command),
        }
        let before = stage.shown();
        stage.event(Event::Ask { id: 1, question: fake::approval() });
        let shown = stage.shown();
        assert!(shown.contains(WAITS), "{name}: {shown}");
        stage.press(KeyCode::Tab);
        let shown = stage.shown();
        assert!(shown.contains("? Allow Edit src/sum.rs"), "{name}: {shown}");
        assert_eq!(stage.ops(key(KeyCode::Char('2'))), []);
        assert_eq!(stage.ops(key(KeyCode::Enter)), answered(Answer::Session));
        assert_eq!(stage.shown().lines().nth(1), before.lines().nth(1), "{name} is there again");
    }
    // Completion waits as well.
    let mut stage = stage();
    stage.type_text("see @s");
    stage.event(Event::Files(["src/sum.rs".to_owned()].into()));
    stage.event(Event::Ask { id: 1, question: fake::approval() });
    stage.press(KeyCode::Char('r'));
    assert!(stage.shown().contains("? Allow Edit src/sum.rs"));
    stage.press(KeyCode::Tab);
    assert!(stage.app.answering());
    assert_eq!(stage.app.composer.text(), "see @sr");
}

#[test]
fn escape_at_a_question_stops_the_turn() {
    for question in [fake::approval(), question_of_the_model()] {
        let mut stage = stage();
        stage.event(Event::Ask { id: 1, question });
        let shown = stage.shown();
        assert!(shown.contains("Esc"), "{shown}");
        assert_eq!(stage.ops(key(KeyCode::Esc)), [Op::Control(Control::Interrupt)]);
        assert!(stage.shown().contains("Interrupting"), "{}", stage.shown());
    }
}

#[test]
fn options_of_a_question_keep_their_descriptions() {
    let option = json!({"label": "SQLite", "description": "one file, no server"});
    let asked =
        json!({"questions": [{"question": "Which database?", "options": [option, {"label": "None"}]}]});
    let server =
        FakeServer::start(vec![answer().call("AskUser", asked).into(), answer().text("So be it.").into()]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("store it\r");
    screen.wait("SQLite — one file, no server");
    screen.keys("1\r");
    screen.wait("So be it.");
}

#[test]
fn a_stopped_question_runs_nothing() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "touch made"})).into(),
        answer().text("All right.").into(),
    ]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("make it\r");
    screen.wait("Yes, once");
    screen.keys("\u{1b}");
    screen.wait("Interrupted");
    assert!(!place.project().join("made").exists());
    assert_eq!(server.requests().len(), 1, "the model isn't asked again");
}

#[test]
fn a_small_screen_shows_the_question_first() {
    let mut stage = Stage::new(20, 5);
    stage.event(Event::Ask { id: 1, question: question_of_the_model() });
    insta::assert_snapshot!(stage.shown(), @r"
    ? Which database
    ▸ 1. PostgreSQL
    › ▏
      Starting…
    ");
    stage.press(KeyCode::Down);
    let shown = stage.shown();
    assert!(shown.contains("? Which") && shown.contains("▸ 2. SQLite"), "{shown}");
    // Options without room are counted.
    let mut stage = Stage::new(40, 9);
    let options = (1..=5).map(|number| format!("way {number}")).collect();
    let asked = AskedQuestion { question: "Which way?".to_owned(), options, optional: false };
    stage.event(Event::Ask { id: 1, question: Question::Ask { questions: vec![asked] } });
    assert!(stage.shown().contains(" 3. way 3\n  ↓ 2 more\n"), "{}", stage.shown());
}

#[test]
fn no_hole_is_left_after_an_answer() {
    let content: String = (0..300).map(|number| format!("row number {number}\n")).collect();
    let write = |path| answer().call("Write", json!({"path": path, "content": content}));
    for open in ["", "v", "\u{1b}[6~"] {
        let server = FakeServer::start(vec![
            answer().text(&"word ".repeat(400)).into(),
            write("long.txt").into(),
            answer().text("Fine.").gated().into(),
        ]);
        let place = Workplace::new();
        let mut screen = Screen::chat(&place, &server, &[]);
        screen.wait("· ask");
        screen.keys("talk\r");
        screen.wait("Done");
        screen.keys("write it\r");
        screen.wait("row number 9");
        if !open.is_empty() {
            screen.keys(open);
            screen.wait("v collapse");
        }
        screen.keys("n");
        server.wait_for_requests(3);
        let shown = screen.wait("Denied");
        let shown = screen.wait_for("the next step", |now| now.contains("Working") && now != shown.as_str());
        let hole = shown.lines().skip_while(|line| !line.contains("Denied")).skip(1);
        let empty = hole.take_while(|line| line.trim().is_empty()).count();
        assert!(empty <= 5, "{open:?}: {empty} empty rows:\n{shown}");
        server.release(10_000);
        screen.wait("Fine.");
    }
}

#[test]
fn a_search_keeps_what_is_typed() {
    let content: String = (0..300).map(|number| format!("row number {number}\n")).collect();
    let diff = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,300 @@\n{}", content.replace("row", "+row"));
    let Question::Approval(request) = fake::approval() else { panic!("an approval") };
    let long = ApprovalRequest { detail: diff, ..request };
    let mut stage = stage();
    stage.event(Event::Ask { id: 1, question: Question::Approval(long) });
    for letter in "/299".chars() {
        stage.press(KeyCode::Char(letter));
        stage.app.now += Duration::from_millis(130);
        stage.take_in(Msg::Tick);
    }
    assert!(stage.shown().contains("/299▏"), "{}", stage.shown());
    stage.press(KeyCode::Enter);
    assert!(stage.shown().contains("row number 299"), "{}", stage.shown());
    // Where nothing is hidden, a command is typed.
    let mut stage = self::stage();
    stage.event(Event::Ask { id: 1, question: fake::approval() });
    stage.type_text("/mod");
    assert!(stage.shown().contains("› /mod▏"), "{}", stage.shown());
}

#[test]
fn completion_opens_again_after_clearing() {
    for clear in [vec![ctrl('c')], vec![key(KeyCode::Esc), key(KeyCode::Esc)]] {
        let mut stage = Stage::new(80, 24);
        stage.event(Event::Session(fake::session()));
        stage.type_text("/mo");
        stage.press(KeyCode::Esc);
        assert!(!stage.shown().contains("/model"), "closed");
        clear.into_iter().for_each(|key| stage.take_key(key));
        stage.type_text("/mo");
        assert!(stage.shown().contains("/model"), "{}", stage.shown());
    }
}

#[test]
fn control_d_deletes_and_asks_before_it_ends_work() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.type_text("abc");
    stage.press(KeyCode::Home);
    stage.take_key(ctrl('d'));
    assert_eq!(stage.app.composer.text(), "bc");
    stage.take_key(ctrl('c'));
    let job = JobRow { id: 1, command: "npm run dev".to_owned(), ended: None };
    stage.event(Event::Jobs(vec![job]));
    let quits = |stage: &mut Stage| update(&mut stage.app, Msg::Key(ctrl('d'))) == [Cmd::Quit];
    assert!(!quits(&mut stage));
    assert!(stage.shown().contains("Ctrl-D again to quit; this ends 1 job"), "{}", stage.shown());
    assert!(quits(&mut stage));
}

#[test]
fn the_cursor_stands_in_the_composer_during_a_turn() {
    let server = FakeServer::start(vec![answer().text("Fine.").gated().into()]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("go\r");
    server.wait_for_requests(1);
    screen.keys("half");
    let shown = screen.wait_for("both", |now| now.contains("› half") && now.contains("Working"));
    let row = shown.lines().position(|line| line.starts_with("› half")).unwrap();
    while screen.cursor() != (6, u16::try_from(row).unwrap()) {
        screen.wait_for("the composer", |now| now.contains("› half"));
    }
    server.release(10_000);
    screen.wait("Fine.");
}

#[test]
fn both_sides_of_a_rewrite_are_shown() {
    let lines = |text: &str| (0..300).map(|number| format!("{text} {number}\n")).collect::<String>();
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().call("Write", json!({"path": "a.txt", "content": lines("new line")})).into(),
        answer().text("Rewritten.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.txt", lines("old line"));
    let mut screen = Screen::start(&place, &["--base-url", &server.base_url(), "--model", "m"], 80, 60);
    screen.wait("· ask");
    screen.keys("rewrite it\r");
    let shown = screen.wait("Yes, once");
    for part in ["Allow Write a.txt  +300 -300", "1 -old line 0", "… 295 more lines", "1 +new line 0"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert!(!screen.raw().contains("\u{1b}[7mold"), "no words are marked");
    screen.resize(120, 60);
    let shown = screen.wait("11 +new line 10");
    assert!(shown.contains("… 289 more lines") && !shown.contains("594"), "{shown}");
    screen.resize(80, 60);
    screen.keys("y");
    let shown = screen.wait("Rewritten.");
    let done = &shown[shown.find("● Write a.txt").unwrap()..];
    for part in ["+300 -300", "10 -old line 9", "… 290 more lines", "10 +new line 9"] {
        assert!(done.contains(part), "{part}:\n{done}");
    }
}

#[test]
fn a_question_is_readable_on_an_unknown_background() {
    let server = FakeServer::start(vec![answer().call("Bash", json!({"command": "touch made"})).into()]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("make it\r");
    screen.wait("Yes, once");
    let raw = screen.raw();
    assert!(raw.contains("\u{1b}[1m? Allow"), "{raw:?}");
}

#[test]
fn a_narrow_screen_shows_the_whole_scope() {
    let Question::Approval(request) = fake::approval() else { panic!("an approval") };
    let mut stage = Stage::new(40, 24);
    let always_prefix = Some("cargo test --workspace --features all".to_owned());
    let scope = ApprovalRequest { always_prefix, ..request };
    stage.event(Event::Ask { id: 1, question: Question::Approval(scope) });
    let shown = stage.shown();
    assert!(
        shown.contains("  a Always allow `cargo test --workspace\n    --features all` in this project\n"),
        "{shown}"
    );
    assert!(shown.contains("Ctrl-E: why · Esc:\n  stop\n"), "{shown}");
}

#[test]
fn a_question_is_explained() {
    let mut stage = stage();
    let request = ApprovalRequest {
        call_id: "c".to_owned(),
        tool: "Bash".to_owned(),
        title: "Bash make && git push".to_owned(),
        args: String::new(),
        detail: "make && git push".to_owned(),
        is_diff: false,
        reason: "`git push`: needs network access".to_owned(),
        always_prefix: Some("make".to_owned()),
        session_scope: Some("this exact command".to_owned()),
        parts: vec!["make: runs the project's own code".to_owned(), "git push: needs the network".to_owned()],
        agent: None,
    };
    stage.app.now += Duration::from_secs(5);
    stage.event(Event::Ask { id: 1, question: Question::Approval(request) });
    stage.take_key(ctrl('e'));
    let shown = stage.shown();
    let question: Vec<&str> = shown.lines().skip_while(|line| !line.contains("? Allow")).collect();
    insta::assert_snapshot!(question.join("\n"), @r#"
    ? Allow Bash make && git push
      `git push`: needs network access
      make: runs the project's own code
      git push: needs the network
      y: this call only.
      s: this exact command, without asking until you quit.
      a: in this project, commands that begin with `make` never ask again;
        /permission revokes it.
      n: nothing runs, and the model continues without it. Esc ends the turn.
    ▸ y Yes, once
      s Yes, and don't ask again this session: this exact command
      a Always allow `make` in this project
      n No
      y, n at once · s, a, ↑↓ + Enter · Tab: no, because … · Ctrl-E: why · Esc: stop
      demo-model · ask
    "#);
    stage.take_key(ctrl('e'));
    assert!(!stage.shown().contains("y: this call only"));
    assert_eq!(stage.ops(key(KeyCode::Enter)), answered(Answer::Once));
}
