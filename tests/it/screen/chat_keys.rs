//! Keys in the chat, in a real terminal: questions, commands, lists, and what can be opened.

use serde_json::json;

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn chat(place: &Workplace, server: &FakeServer, (columns, rows): (u16, u16)) -> Screen {
    Screen::start(place, &["--base-url", &server.base_url(), "--model", "m"], columns, rows)
}

#[test]
fn a_typed_word_is_no_answer_and_a_long_file_has_pages() {
    let content: String = (0..300).map(|number| format!("row number {number}\n")).collect();
    let call = answer().call("Write", json!({"path": "long.txt", "content": content}));
    let server = FakeServer::start(vec![call.into(), answer().text("Written.").into()]);
    let place = Workplace::new();
    let mut screen = chat(&place, &server, (80, 24));
    screen.wait("ask");
    screen.keys("write it\r");
    screen.wait("y Yes, once");
    screen.keys("\u{1b}[6~");
    screen.wait_for("the second page", |screen| {
        screen.contains("row number 20") && !screen.contains("row number 5\n")
    });
    screen.keys("\u{1b}[F");
    screen.wait("row number 299");
    screen.keys("\u{1b}[H");
    screen.wait("row number 0");
    screen.keys("/");
    screen.wait("Enter to find");
    screen.keys("number 150\r");
    screen.wait("row number 150");
    screen.keys("yes");
    screen.wait_for("the word in the composer", |screen| {
        screen.contains("› yes") && screen.contains("Press Tab")
    });
    assert!(!place.project().join("long.txt").exists());
    screen.keys("\t");
    screen.wait_for("the question again", |screen| !screen.contains("Press Tab"));
    screen.keys("y");
    screen.wait("Written.");
    assert!(place.project().join("long.txt").exists());
}

#[test]
fn a_tiny_screen_shows_how_to_answer() {
    let call = answer().call("Write", json!({"path": "a.txt", "content": "x\n"}));
    let server = FakeServer::start(vec![call.into(), answer().text("Written.").into()]);
    let place = Workplace::new();
    let mut screen = chat(&place, &server, (20, 5));
    screen.wait_for("the prompt", |screen| screen.contains('›'));
    screen.keys("write\r");
    screen.wait_for("the choices", |screen| {
        screen.contains("Allow") && screen.contains("y once") && screen.contains("n no")
    });
}

#[test]
fn an_unknown_command_stays_here() {
    let server = FakeServer::start(vec![answer().text("Fine.").into()]);
    let place = Workplace::new();
    let mut screen = chat(&place, &server, (80, 24));
    screen.wait("ask");
    screen.keys("/foo bar\r");
    screen.wait_for("a warning and the text", |screen| {
        screen.contains("Unknown command: /foo") && screen.contains("› /foo bar")
    });
    assert!(server.requests().is_empty());
    screen.keys("\u{1} \r");
    screen.wait("Fine.");
}

#[test]
fn another_session_is_found() {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Two.").into()]);
    let place = Workplace::new();
    let mut screen = chat(&place, &server, (80, 24));
    screen.wait("ask");
    screen.keys("alpha task\r");
    screen.wait("Done");
    screen.keys("/clear\r");
    screen.wait("──── session");
    screen.keys("beta task\r");
    screen.wait("Done");
    screen.keys("/resume\r");
    let shown =
        screen.wait_for("the list", |screen| screen.contains("Resume") && screen.contains("alpha task"));
    let (_, list) = shown.split_once("Resume a session").unwrap();
    assert!(!list.contains("beta task"), "the open session is no choice\n{list}");
    screen.keys("zz");
    screen.wait("No match");
    screen.keys("\u{7f}\u{7f}alp");
    screen.wait_for("the session", |screen| screen.contains("alpha task") && screen.contains("search: alp"));
    screen.keys("\r");
    screen.wait_for("its transcript", |screen| screen.contains("› alpha task") && screen.contains("One."));
}

#[test]
fn thinking_can_be_opened() {
    let thought: String =
        (0..40).map(|number| format!("thought number {number} goes on for a while. ")).collect();
    let server = FakeServer::start(vec![answer().reasoning(&thought).text("Thought.").into()]);
    let place = Workplace::new();
    let mut screen = chat(&place, &server, (80, 40));
    screen.wait("ask");
    screen.keys("think\r");
    let cut = screen.wait("Done");
    assert!(cut.contains("Ctrl-O") && !cut.contains("thought number 39"), "{cut}");
    screen.keys("\u{f}");
    screen.wait("thought number 39");
    screen.keys("q");
    screen.wait("Ctrl-O");
}

#[test]
fn files_that_are_new_are_offered() {
    let server = FakeServer::start(vec![]);
    let place = Workplace::new();
    place.file("src/old.rs", "x\n");
    let mut screen = chat(&place, &server, (80, 24));
    screen.wait("ask");
    screen.keys("@rs");
    screen.wait("src/old.rs");
    place.file("src/brand_new.rs", "x\n");
    screen.keys("\u{15}@rs");
    screen.wait("src/brand_new.rs");
}
