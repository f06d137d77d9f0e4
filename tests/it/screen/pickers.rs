//! The lists of the chat: what each shows in two sizes, and what its keys do, in the real program.

use base::config::settings::Permission;
use base::config::theme::ThemeName;
use base::protocol::event::{Event, JobRow};
use base::protocol::lists::{ModelRow, NoteRow, PreviewMessage, RuleRow};
use base::protocol::op::{Idle, Op, Quick};
use serde_json::json;

use crate::support::answer::answer;
use crate::support::fake_engine as fake;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::stage::{Stage, key};
use crate::support::workplace::Workplace;
use crossterm::event::KeyCode;
use frontend::tui::msg::{Cmd, Msg};
use frontend::tui::update::on_message::update;

fn models() -> Vec<ModelRow> {
    let row = |name: &str, source, window, price| ModelRow {
        name: name.to_owned(),
        source,
        window_tokens: window,
        price,
    };
    let mut rows = vec![row("demo-model", "configured", Some(128_000), Some((0.25, 2.0)))];
    rows.extend((0..30).map(|n| row(&format!("vendor/model-{n}"), "on the server", None, None)));
    rows
}

#[test]
fn model_list() {
    let mut stage = Stage::new(80, 12);
    stage.event(Event::Session(fake::session()));
    stage.command("/model");
    stage.event(Event::Models(models()));
    stage.press(KeyCode::Down);
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Models  type to search
      Enter to use · Esc to close
      demo-model                        128.0k  $0.25 in, $2 out  in use
    ▸ vendor/model-0                         ?  price unknown  on the server
      vendor/model-1                         ?  price unknown  on the server
      vendor/model-2                         ?  price unknown  on the server
      vendor/model-3                         ?  price unknown  on the server
      vendor/model-4                         ?  price unknown  on the server
      ↓ 25 more
      demo-model · ask                                                         /help
    "#);
    stage.type_text("model-29");
    let op = stage.ops(key(KeyCode::Enter));
    assert_eq!(op, [Op::Idle(Idle::SetModel { model: "vendor/model-29".to_owned() })]);
    stage.command("/model");
    stage.type_text("typed-name");
    assert_eq!(stage.ops(key(KeyCode::Enter)), [Op::Idle(Idle::SetModel { model: "typed-name".to_owned() })]);
    let mut small = Stage::new(40, 8);
    small.event(Event::Session(fake::session()));
    small.command("/model");
    small.event(Event::Models(models()));
    insta::assert_snapshot!(small.shown(), @r#"
    ──────────────────────────────────────
    Models  type to search
      Enter to use · Esc to close
    ▸ demo-model        128.0k  $0.25 in, $…
      vendor/model-0         ?  price unkno…
      ↓ 29 more
      demo-model · ask                 /help
    "#);
}

#[test]
fn session_list() {
    let mut stage = Stage::new(80, 20);
    stage.command("/resume");
    stage.event(Event::Sessions(fake::sessions()));
    let messages = vec![
        PreviewMessage { by_user: true, text: "why is the sum wrong?".to_owned() },
        PreviewMessage { by_user: false, text: "It begins at one.".to_owned() },
    ];
    stage.event(Event::SessionPreview { session: "s0".to_owned(), messages });
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Resume a session  type to search
      Enter · Ctrl-F fork · Ctrl-R rename · Delete delete · Tab all · Esc close
    ▸ now      0 turns    task number 0: 日本語 and more words that are long enough…
      now      1 turn     task number 1: 日本語 and more words that are long enough…
      now      2 turns    task number 2: 日本語 and more words that are long enough…
      now      3 turns    task number 3: 日本語 and more words that are long enough…
      now      4 turns    task number 4: 日本語 and more words that are long enough…
      now      5 turns    task number 5: 日本語 and more words that are long enough…
      ↓ 8 more
    ────────────────────────────────────────────────────────────────────────────────
    › why is the sum wrong?
      It begins at one.
      Starting…                                                                /help
    "#);
    stage.press(KeyCode::End);
    assert!(stage.shown().contains("↑"), "it says what is above");
    let deleted = stage.ops(key(KeyCode::Delete));
    assert_eq!(deleted, [Op::Quick(Quick::DeleteSession { session: "s13".to_owned() })]);
    let ctrl = |letter| {
        crossterm::event::KeyEvent::new(KeyCode::Char(letter), crossterm::event::KeyModifiers::CONTROL)
    };
    assert_eq!(stage.ops(ctrl('u')), [Op::Quick(Quick::RestoreSession { session: "s13".to_owned() })]);
    stage.ops(ctrl('r'));
    stage.type_text("better");
    let renamed = stage.ops(key(KeyCode::Enter));
    assert_eq!(
        renamed,
        [Op::Quick(Quick::RenameSession { session: "s13".to_owned(), title: "better".to_owned() })]
    );
    assert_eq!(stage.ops(ctrl('f')), [Op::Idle(Idle::ForkSession { session: "s13".to_owned() })]);
    let mut small = Stage::new(40, 8);
    small.command("/resume");
    small.event(Event::Sessions(fake::sessions()));
    let shown = small.shown();
    assert!(shown.contains("more") && shown.contains("▸"), "{shown}");
}

#[test]
fn permission_list() {
    let mut stage = Stage::new(80, 12);
    stage.event(Event::Session(fake::session()));
    stage.command("/permissions");
    let rule = RuleRow { text: "commands that begin with `cargo test`".to_owned(), kept: true };
    stage.event(Event::Rules(vec![rule.clone()]));
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Permissions  type to search
      Enter to set the level · Esc to close
      read-only      reads files; changes nothing
    ▸ ask          ● asks before each change and command
      accept-edits   edits files in the workspace; asks before each command
      auto           works in the workspace without asking, sandboxed; asks for any…
      full           runs everything without asking, not sandboxed
      always here commands that begin with `cargo test`
      demo-model · ask                                                         /help
    "#);
    stage.press(KeyCode::Down);
    assert_eq!(
        stage.ops(key(KeyCode::Enter)),
        [Op::Quick(Quick::SetPermission { permission: Permission::AcceptEdits })]
    );
    assert!(stage.shown().contains("demo-model · accept-edits"));
    stage.command("/permissions");
    stage.event(Event::Rules(vec![rule.clone()]));
    assert!(stage.shown().contains("▸ accept-edits ●"), "{}", stage.shown());
    stage.press(KeyCode::End);
    assert_eq!(stage.ops(key(KeyCode::Delete)), [Op::Quick(Quick::RemoveRule { rule })]);
    let mut small = Stage::new(40, 6);
    small.event(Event::Session(fake::session()));
    small.command("/permissions");
    insta::assert_snapshot!(small.shown(), @r#"
    Permissions  type to search
      read-only      reads files; changes n…
    ▸ ask          ● asks before each chang…
      ↓ 3 more
      demo-model · ask                 /help
    "#);
}

#[test]
fn job_and_todo_lists() {
    let mut stage = Stage::new(80, 10);
    let job = |id, ended: Option<&str>| JobRow {
        id,
        command: format!("npm run watch-{id}"),
        ended: ended.map(str::to_owned),
    };
    stage.event(Event::Jobs(vec![job(1, Some("exit code 0")), job(2, None)]));
    stage.command("/jobs");
    stage.press(KeyCode::Down);
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Background jobs  type to search
      Enter to see output · Delete to stop · Esc to close
      1   exit code 0    npm run watch-1
    ▸ 2   running        npm run watch-2
      Starting…                                                                /help
    "#);
    assert_eq!(stage.ops(key(KeyCode::Enter)), [Op::Quick(Quick::ShowJob { id: 2 })]);
    stage.event(Event::JobOutput { id: 2, text: "one\ntwo\u{1b}]2;x\u{7}\n".to_owned() });
    assert!(stage.shown().contains("two"), "{}", stage.shown());
    assert_eq!(stage.ops(key(KeyCode::Delete)), [Op::Quick(Quick::StopJob { id: 2 })]);
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Esc);
    stage.event(fake::todos(9));
    stage.command("/todos");
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Todos  type to search
      Esc close
    ▸ ☑ step 0 of the work
      ▶ step 1 of the work
      ☐ step 2 of the work
      ☐ step 3 of the work
      ↓ 5 more
      Starting…                                                                /help
    "#);
}

#[test]
fn sessions_are_renamed_deleted_and_brought_back() {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Two.").into()]);
    let place = Workplace::new();
    assert!(place.exec(&server.base_url(), &["the first task"]).status.success());
    assert!(place.exec(&server.base_url(), &["the second task"]).status.success());
    let mut screen = Screen::chat(&place, &server, &["resume"]);
    screen.wait_for("both, and what was said last", |screen| {
        screen.contains("the first task") && screen.contains("Two.")
    });
    screen.keys("first");
    screen.wait_for("the one found", |screen| !screen.contains("second") && screen.contains("One."));
    screen.keys("\u{12}shorter\r");
    screen.wait("No match");
    screen.keys(&"\u{7f}".repeat(5));
    screen.wait("shorter");
    screen.keys("shorter\u{1b}[3~");
    screen.wait("No match");
    screen.keys("\u{15}");
    screen.wait("▸");
    screen.keys("\r");
    screen.wait("──── session");
    screen.keys("/fork\r");
    screen.wait("Forked: this is now session 2");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    assert!(screen.raw().contains("Continue with: mycode resume "));
}

#[test]
fn permission_rules_are_taken_back() {
    let run = || answer().call("Bash", json!({"command": "touch a; touch b"}));
    let server = FakeServer::start(vec![
        run().into(),
        answer().text("Once.").into(),
        run().into(),
        answer().text("Twice.").into(),
    ]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("ask");
    screen.keys("go\r");
    screen.wait("again this session");
    screen.keys("s\r");
    screen.wait("Once.");
    screen.keys("/permissions\r");
    screen.wait("session");
    screen.keys("\u{1b}[F");
    screen.wait("to revoke");
    screen.keys("\u{1b}[3~");
    screen.wait_for("no rule", |screen| !screen.contains("to revoke"));
    screen.keys("\u{1b}");
    screen.wait_for("the end of the list", |screen| !screen.contains("Permissions"));
    screen.keys("again\r");
    screen.wait("again this session");
    screen.keys("y");
    screen.wait("Twice.");
}

#[test]
fn a_task_typed_into_a_list_is_not_lost() {
    let server = FakeServer::start(vec![]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    for (command, list) in [("/model\r", "Models"), ("/login\r", "Log in")] {
        screen.keys(command);
        screen.wait(list);
        screen.keys("what\u{15}fix the login bug");
        screen.wait("search: fix the login bug");
        screen.wait("Enter to move this to your message");
        screen.keys("\r");
        screen.wait("› fix the login bug");
        screen.keys("\u{15}");
        screen.wait("Type a task");
    }
    screen.wait("test-model");
}

#[test]
fn a_model_that_nobody_knows() {
    let server = FakeServer::start(vec![answer().text("Hello.").usage(1000, 0, 10).into()]);
    let place = Workplace::new();
    let url = server.base_url();
    let mut screen = Screen::start(&place, &["--base-url", &url, "--model", "gpt-5-mini"], 80, 24);
    screen.wait("gpt-5-mini");
    screen.keys("hi\r");
    screen.wait("Hello.");
    screen.wait("$0.00");
    screen.keys("/model gtp-5-mini\r");
    screen.wait_for("the nearest name and the cost", |screen| {
        ["still using gpt-5-mini", "Did you mean", "gpt-5-mini?", "· $0.00 ·"]
            .iter()
            .all(|part| screen.contains(part))
    });
    screen.keys("/cost\r");
    screen.wait_for("the cost by model", |screen| {
        screen.contains("· 1 request") && screen.contains("0% cached")
    });
    screen.keys("/status\r");
    screen
        .wait_for("the status", |screen| screen.contains("rules files") && screen.contains("turns        1"));
}

#[test]
fn a_model_that_the_server_does_not_list() {
    let server = FakeServer::start(vec![]);
    server.on_get("/v1/models", &json!({"data": [{"id": "test-model"}, {"id": "large-model-2026"}]}));
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("/model large-model\r");
    screen.wait("Model: large-model.");
    screen.keys("/model large-modle-2026\r");
    screen.wait("Did you mean\n  large-model-2026?");
    assert!(!screen.raw().contains("'large-model'"));
}

#[test]
fn files_that_have_come_since_are_offered() {
    let (server, place) = (FakeServer::start(vec![]), Workplace::new());
    place.file("src/old.rs", "");
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    screen.keys("see @src/");
    screen.wait("src/old.rs");
    screen.keys("\u{15}");
    screen.wait("Type a task");
    place.file("src/newcomer.rs", "");
    screen.keys("see @newc");
    screen.wait("src/newcomer.rs");
    // Of many files the first are there while the rest is looked for.
    for number in 0..3_000 {
        place.file(&format!("many/{}/file_{number}.rs", number / 100), "");
    }
    screen.keys("\u{15}@file_2999");
    screen.wait("many/29/file_2999.rs");
    // Outside the project, one folder at a time.
    std::fs::create_dir(place.project().join("../papers")).unwrap();
    std::fs::write(place.project().join("../papers/plan.md"), "").unwrap();
    screen.keys("\u{15}see @../pap");
    screen.wait("▸ ../papers/");
    screen.keys("\t");
    screen.wait("▸ ../papers/plan.md");
    screen.keys("\t");
    screen.wait("› see @../papers/plan.md");
}

#[test]
fn notes_are_read_edited_and_archived() {
    let mut stage = Stage::new(80, 12);
    stage.event(Event::Session(fake::session()));
    stage.command("/notes");
    assert!(stage.sent().contains(&Op::Quick(Quick::ListNotes)));
    let row = |id: &str, title: &str, text: &str| NoteRow {
        id: id.to_owned(),
        title: title.to_owned(),
        kind: "decision",
        path: format!(".mycode/notes/{id}.md"),
        text: text.to_owned(),
    };
    let rows =
        vec![row("a1", "Возвраты денег", "Only **within** 30 days."), row("b2", "El límite", "100 orders.")];
    stage.event(Event::Notes(rows));
    stage.type_text("limites");
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Notes  search: limites▏
      Enter to read · Tab to edit · Delete to archive · Esc to close
    ▸ decision     El límite
      demo-model · ask                                                         /help
    "#);
    stage.press(KeyCode::Enter);
    assert!(stage.shown().contains("100 orders."), "{}", stage.shown());
    let archive = Op::Quick(Quick::ForgetNote { id: "b2".to_owned() });
    assert_eq!(stage.ops(key(KeyCode::Delete)), [archive]);
    (0..7).for_each(|_| stage.press(KeyCode::Backspace));
    stage.type_text("возврат");
    assert!(stage.shown().contains("Возвраты денег"), "{}", stage.shown());
    let edit = update(&mut stage.app, Msg::Key(key(KeyCode::Tab)));
    assert_eq!(edit, [Cmd::Edit(".mycode/notes/a1.md".to_owned())]);
}

#[test]
fn sessions_of_all_folders() {
    let server = FakeServer::start(vec![
        answer().call("Write", json!({"path": "refund.py", "content": "def refund(): pass\n"})).into(),
        answer().text("The refund window is 30 days now.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.txt", "a\n");
    let place = place.repository();
    let done = place.exec(&server.base_url(), &["--permission", "auto", "change the shop"]);
    assert!(done.status.success(), "{done:?}");
    let other = place.project().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("· ask");
    screen.keys("/resume\r");
    let shown = screen.wait("change the shop");
    assert!(shown.contains(" main "), "the branch: {shown}");
    // Neither word is in the title.
    screen.keys("refund window");
    screen.wait_for("found by its outcome", |shown| shown.contains("▸") && shown.contains("change the shop"));
    screen.keys("\u{1b}");
    drop(screen);
    let mut screen = Screen::chat(&place, &server, &["--cd", "other"]);
    screen.wait("· ask");
    screen.keys("/resume all\r");
    screen.wait("project exec: change the shop");
    screen.keys("\r");
    screen.wait("That session belongs to another folder. Continue it with: mycode resume");
}

#[test]
fn a_session_begun_read_only_stays_so() {
    let server = FakeServer::start(vec![answer().text("Looked.").into()]);
    let place = Workplace::new();
    place.exec(&server.base_url(), &["--permission", "read-only", "look around"]);
    let mut screen = Screen::chat(&place, &server, &["--permission", "auto"]);
    screen.wait("· auto");
    screen.keys("/resume\r");
    screen.wait("look around");
    screen.keys("\r");
    screen.wait("This session started read-only and stays read-only; /permission changes that.");
    screen.wait("· read-only");
}

#[test]
fn a_theme_is_found_by_typing() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Session(fake::session()));
    stage.command("/theme");
    stage.type_text("hix");
    let shown = stage.shown();
    assert!(shown.contains("search: hi▏") && shown.contains("▸ high-contrast"), "{shown}");
    assert_eq!(stage.app.look.name, ThemeName::HighContrast);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.look.name, ThemeName::Auto);
    let place = Workplace::new();
    let wrong = place.command(&["--theme", "pink"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}
