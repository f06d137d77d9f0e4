//! A user who looks elsewhere is called, and finds the terminal as it was.

use serde_json::json;

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn asking() -> FakeServer {
    FakeServer::start(vec![
        answer().call("Bash", json!({"command": "touch made"})).into(),
        answer().text("Made it.").into(),
    ])
}

fn start(place: &Workplace, server: &FakeServer, vars: &[(&str, &str)]) -> Screen {
    let args = ["--base-url", &server.base_url(), "--model", "test-model"];
    let screen = Screen::start_with(place, &args, (80, 24), vars);
    screen.wait("test-model");
    screen
}

#[test]
fn bell_notification_and_title() {
    let (server, place) = (asking(), Workplace::new());
    let mut screen = start(&place, &server, &[("TERM_PROGRAM", "iTerm.app")]);
    screen.keys("\u{1b}[O");
    screen.keys("make it\r");
    screen.wait("Yes, once");
    screen.keys("y");
    screen.wait("Made it.");
    screen.wait("Done");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    let raw = screen.raw();
    for part in [
        "\u{1b}[?1004h",
        "\u{1b}[22;2t",
        "\u{1b}]2;project · mycode\u{7}",
        "\u{1b}]2;… project · mycode\u{7}",
        "\u{1b}]2;? project · mycode\u{7}",
        "\u{7}\u{1b}]9;mycode: project needs your input\u{7}",
        "\u{7}\u{1b}]9;mycode: project finished\u{7}",
        "\u{1b}[?1004l",
        "\u{1b}[23;2t",
    ] {
        assert!(raw.contains(part), "{part:?} is missing");
    }
    assert!(raw.contains("Continue with: mycode resume "));
}

#[test]
fn nobody_is_called_who_looks_or_wants_no_calls() {
    for (focus, notify) in [("\u{1b}[I", "auto"), ("\u{1b}[O", "off")] {
        let (server, place) = (asking(), Workplace::new());
        let vars = [("TERM_PROGRAM", "iTerm.app"), ("MYCODE_NOTIFY", notify)];
        let mut screen = start(&place, &server, &vars);
        screen.keys(focus);
        screen.keys("make it\r");
        screen.wait("Yes, once");
        screen.keys("y");
        screen.wait("Done");
        screen.keys("\u{4}");
        assert_eq!(screen.end(), 0);
        assert!(!screen.raw().contains("]9;"), "{notify}");
    }
}

#[test]
fn an_empty_session_leaves_no_line() {
    let (server, place) = (FakeServer::start(vec![]), Workplace::new());
    let mut screen = start(&place, &server, &[]);
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    assert!(!screen.raw().contains("Continue with"));
}

#[test]
fn a_reply_that_breaks_off_is_taken_back() {
    let text = format!("First paragraph.\n\nSecond paragraph.\n\n{}", "The third one is long. ".repeat(40));
    let broken = || answer().text(&text).cut_after(1_100).into();
    let server = FakeServer::start(vec![broken(), broken(), answer().text(&text).into()]);
    let place = Workplace::new();
    let mut screen = start(&place, &server, &[]);
    screen.keys("go\r");
    screen.wait("Done");
    let lines = screen.lines();
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert!(screen.raw().matches("First paragraph").count() > 1, "it was shown before");
    assert_eq!((count("First paragraph"), count("the reply begins again")), (1, 1), "{lines:?}");
}

#[test]
fn runs_without_a_user_are_marked_in_the_list() {
    let server = FakeServer::start(vec![answer().text("One.").into()]);
    let place = Workplace::new();
    assert!(place.exec(&server.base_url(), &["alpha task"]).status.success());
    let mut screen = start(&place, &server, &[]);
    screen.keys("/resume\r");
    screen.wait("exec: alpha task");
}

#[test]
fn the_first_start_says_what_was_found() {
    let place = Workplace::with_nudges();
    let mut screen = Screen::start(&place, &[], 100, 40);
    screen.wait("Enter to type a key");
    screen.keys("\u{1b}");
    screen.wait("Type a task");
    let shown = screen.wait("Welcome to mycode.");
    for part in ["Keys           none set", "read-only", "/init", "`mycode demo`", "Permission level: ask"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    let mut screen = Screen::start(&place, &[], 100, 40);
    screen.wait("Enter to type a key");
    screen.keys("\u{1b}");
    let shown = screen.wait("Type a task");
    assert!(!shown.contains("Welcome to mycode."), "{shown}");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    // A script is not greeted.
    let output = place.command(&["--plain"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("Welcome to mycode."));
}
