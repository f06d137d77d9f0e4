//! The chat as a user meets it: the real binary in a terminal, against a server.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("src/a.txt", "alpha\nbeta\n").file("CODE_LAW.md", "Be kind.\n");
    place
}

#[test]
fn approved_edit() {
    let server = FakeServer::start(vec![
        answer().text("I read it.").call("Read", json!({"path": "src/a.txt"})).into(),
        answer()
            .call("Edit", json!({"path": "src/a.txt", "old_string": "alpha", "new_string": "omega"}))
            .into(),
        answer().text("Changed **it**.").usage(2534, 1000, 20).into(),
    ]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    screen.keys("change alpha to omega\r");
    let question = screen.wait("omega");
    screen.wait_for("the question", |screen| screen.contains("once") && screen.contains("session"));
    assert!(question.contains("alpha"), "{question}");
    assert_eq!(place.text("src/a.txt"), "alpha\nbeta\n", "nothing happens before the answer");
    screen.keys("y");
    let shown = screen.wait("Changed it.");
    assert!(shown.contains("Edit src/a.txt"), "{shown}");
    assert_eq!(place.text("src/a.txt"), "omega\nbeta\n");
    screen.wait("2.6k");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    assert!(screen.raw().contains("\u{1b}[?2004l"), "bracketed paste is switched off again");
}

#[test]
fn a_signal_leaves_the_open_paragraph_on_the_screen() {
    let server = FakeServer::start(vec![answer().text(&"half a thought ".repeat(9)).gated().into()]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    screen.keys("go\r");
    server.release(8);
    screen.wait("half a");
    kill_process(Pid::from_raw(screen.process_id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    screen.end();
    let shown = screen.lines().join("\n");
    assert!(shown.contains("half a") && shown.contains("A signal ended this chat.\n"), "{shown}");
}

#[test]
fn interrupt_and_resume() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "sleep 100"})).into(),
        answer().text("Going on.").into(),
    ]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &["--permission", "auto", "sleep a while"]);
    screen.wait("Bash sleep 100");
    screen.keys("\u{1b}");
    screen.wait("nterrupted");
    screen.keys("/quit\r");
    assert_eq!(screen.end(), 0);
    let mut screen = Screen::chat(&place, &server, &["-c"]);
    screen.wait("sleep a while");
    screen.keys("go on\r");
    screen.wait("Going on.");
}

/// In a session with turns, `1` may be the answer to what the model asked.
#[test]
fn a_rules_file_is_offered_before_the_first_turn_only() {
    let server =
        FakeServer::start(vec![answer().text("1 or 2?").into(), answer().text("The first, then.").into()]);
    let place = Workplace::new();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("Write one?");
    screen.keys("choose\r");
    screen.wait("1 or 2?");
    screen.keys("/quit\r");
    assert_eq!(screen.end(), 0);
    let mut screen = Screen::chat(&place, &server, &["-c"]);
    assert!(!screen.wait("1 or 2?").contains("Write one?"));
    screen.keys("1\r");
    screen.wait("The first, then.");
}

#[test]
fn caret_and_wide_characters() {
    let server = FakeServer::start(vec![]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    let start = screen.cursor().0;
    screen.keys("日本語🙂x");
    screen.wait("日本語🙂x");
    assert_eq!(screen.cursor().0, start + 9);
}

#[test]
fn tiny_terminal_and_resize() {
    let server = FakeServer::start(vec![answer().text("Hello from a small place.").into()]);
    let place = place();
    let mut screen = Screen::start(&place, &["--base-url", &server.base_url(), "--model", "m"], 20, 5);
    screen.wait_for("the prompt", |screen| screen.contains('›'));
    screen.keys("hi\r");
    screen.resize(80, 24);
    screen.wait("Hello from a small place.");
    screen.wait("Done");
    screen.resize(20, 5);
    // Not at once: crossterm may leave a key that arrives together with a resize until the next key.
    screen.wait_for("the narrow screen", |screen| screen.contains("· ask /help"));
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
}

#[test]
fn chat_without_model() {
    let place = place();
    let mut screen = Screen::start(&place, &[], 80, 24);
    screen.wait("Enter to type a key");
    screen.keys("\u{1b}");
    screen.wait_for("the advice", |screen| screen.contains("or pass") && screen.contains("Type a task"));
    screen.keys("hello\r");
    // The text comes back into the composer.
    screen.wait_for("the text is back", |screen| {
        screen.contains("› hello") && screen.contains("no model is configured")
    });
    screen.keys("\u{3}\u{4}");
    assert_eq!(screen.end(), 0);
}

#[test]
fn chat_with_a_server_but_no_model() {
    let server = FakeServer::start(vec![answer().text("Hello.").into()]);
    server.on_get("/v1/models", &json!({"data": [{"id": "first-model"}, {"id": "other-model"}]}));
    let place = place();
    let address = [("OPENAI_BASE_URL", server.base_url())];
    let vars = address.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut screen = Screen::start_with(&place, &[], (80, 24), &vars);
    screen
        .wait_for("the list", |screen| screen.contains("▸ first-model") && screen.contains("  other-model"));
    screen.keys("\u{1b}[B\r");
    screen.wait("Model: other-model.");
    screen.keys("hello\r");
    screen.wait("Hello.");
    assert_eq!(server.requests()[0].body["model"], "other-model");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    let out = place.command(&["exec", "hi"]).env("OPENAI_BASE_URL", server.base_url()).output().unwrap();
    assert!(stderr(&out).starts_with("error: no model is set for"), "{}", stderr(&out));
}

#[test]
fn unmarked_paste() {
    let server = FakeServer::start(vec![answer().text("Read it.").into()]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    screen.keys(&format!("{}\rsecond line", "many words in a first line ".repeat(30)));
    screen.wait_for("the paste", |screen| screen.contains("second line") || screen.contains("asted"));
    assert!(server.requests().is_empty());
    screen.keys("\r");
    screen.wait("Read it.");
    let sent = server.requests()[0].raw.clone();
    assert!(sent.contains("first line \\nsecond line"), "{sent}");
}

#[test]
fn a_few_unmarked_lines() {
    let server = FakeServer::start(vec![answer().text("Read it.").into()]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    screen.keys("first\rsecond\rthird\r");
    screen.wait("third");
    assert!(server.requests().is_empty());
    screen.keys("!\r");
    screen.wait("Read it.");
    assert!(server.requests()[0].raw.contains("first\\nsecond\\nthird\\n!"), "{}", server.requests()[0].raw);
}

#[test]
fn unmarked_large_paste() {
    let server = FakeServer::start(vec![answer().text("Read it.").into()]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &[]);
    screen.wait("test-model");
    // More than the terminal's queue holds.
    screen.keys(&format!("{}the end", "short line\r".repeat(4_000)));
    screen.wait_for("the paste", |screen| screen.contains("the end") || screen.contains("asted"));
    assert!(server.requests().is_empty());
    screen.keys("\r");
    screen.wait("Read it.");
    assert_eq!(server.requests().len(), 1);
    assert!(server.requests()[0].raw.contains("short line\\nshort line\\n"));
}

#[test]
fn queued_messages_are_edited_and_come_back() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "sleep 100"})).into(),
        answer().text("Going on.").into(),
    ]);
    let place = place();
    let mut screen = Screen::chat(&place, &server, &["--permission", "auto", "sleep a while"]);
    screen.wait("Bash sleep 100");
    screen.keys("then this\r");
    screen.wait("queued: then this");
    screen.keys("and that\r");
    screen.wait("queued: and that");
    screen.keys("\u{1b}[A");
    screen.wait_for("both in the composer", |screen| {
        !screen.contains("queued") && screen.contains("› then this")
    });
    screen.keys(" now\r");
    screen.wait("queued: then this and that now");
    screen.keys("\u{1b}");
    screen.wait_for("the message in the composer", |screen| {
        screen.contains("nterrupted") && !screen.contains("queued") && screen.contains("› then this")
    });
    assert_eq!(server.requests().len(), 1, "Esc sends nothing");
    screen.keys("\r");
    screen.wait("Going on.");
    assert!(server.requests()[1].raw.contains("then this\\nand that now"));
}

/// The terminal doesn't answer, so it counts as slow: what was written before a key is read delays its echo.
#[test]
fn keys_are_echoed_while_a_long_answer_waits() {
    let lines: String = (0..600).map(|n| format!("Paragraph {n} of a long answer.\n\n")).collect();
    let server = FakeServer::start(vec![answer().text(&lines).whole().into()]);
    let place = place();
    let url = server.base_url();
    let args = ["--base-url", &url, "--model", "test-model", "tell me"];
    let mut screen = Screen::start_terminal(&place, &args, (80, 24), &[], false);
    screen.wait("Paragraph 1 ");
    let before = screen.raw().len();
    screen.keys("zq");
    screen.wait("zq");
    let between = screen.raw().len() - before;
    assert!(between < 2_000, "{between} bytes");
    screen.keys("\u{15}\u{4}");
    assert_eq!(screen.end(), 0);
    assert!(screen.lines().iter().any(|line| line.contains("Paragraph 599 ")), "all of it stays");
}

#[test]
fn an_interruption_does_not_wait_for_what_a_slow_terminal_has_not_printed() {
    let long =
        (0..600).fold(answer(), |answer, n| answer.text(&format!("Paragraph {n} of a long answer.\n\n")));
    let server = FakeServer::start(vec![long.stall_after(80_000).into()]);
    let place = place();
    let url = server.base_url();
    let args = ["--base-url", &url, "--model", "test-model", "tell me"];
    let mut screen = Screen::start_terminal(&place, &args, (80, 24), &[], false);
    screen.wait("lines to come");
    let before = screen.raw().len();
    screen.keys("\u{1b}");
    screen.wait("Interrupted");
    let between = screen.raw().len() - before;
    assert!(between < 5_000, "{between} bytes");
    let lines = screen.lines();
    assert!(lines.iter().any(|line| line.contains("lines not shown; Ctrl-T shows them")), "{lines:?}");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
}
