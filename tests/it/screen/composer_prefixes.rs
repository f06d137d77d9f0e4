//! What begins with a sign: `!command`, `#text`; and vi's keys in the real program.

use serde_json::json;

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n");
    place
}

fn chat(place: &Workplace, server: &FakeServer, args: &[&str]) -> Screen {
    let url = server.base_url();
    let mut all = vec!["--base-url", &url, "--model", "test-model"];
    all.extend(args);
    let screen = Screen::start(place, &all, 80, 30);
    screen.wait("test-model");
    screen
}

#[test]
fn a_command_of_the_users_own_goes_into_the_context() {
    let server = FakeServer::start(vec![answer().text("Seen.").into(), answer().text("Still seen.").into()]);
    let place = place();
    let mut screen = chat(&place, &server, &["--permission", "read-only"]);
    screen.keys("!printf 'a-%s\\n' 1 2 3 4 5 6 > made; cat made; echo key=sk-ant-REDACTED\r");
    screen.wait_for("the whole output", |screen| screen.contains("a-1") && screen.contains("a-6"));
    assert!(place.text("made").starts_with("a-1\n"), "it ran as the user's own, whatever the level");
    assert!(!screen.raw().contains("a-6\r\n    key=sk-ant-api03"), "secrets are not shown");
    screen.keys("!vim made\r");
    screen.wait("vim needs a terminal: run it in another one");
    assert!(server.requests().is_empty(), "the model is not asked");
    screen.keys("what was that?\r");
    screen.wait("Seen.");
    let sent = server.requests()[0].raw.clone();
    assert!(sent.contains("!printf") && sent.contains("a-6") && sent.contains("what was that?"), "{sent}");
    assert!(!sent.contains("AAAAABBBBBCCCCC"), "{sent}");
    screen.keys("/quit\r");
    assert_eq!(screen.end(), 0);
    let mut screen = chat(&place, &server, &["-c", "--permission", "read-only"]);
    screen.wait("!printf");
    screen.keys("and now?\r");
    screen.wait("Still seen.");
    let again = server.requests()[1].raw.clone();
    let head = &sent[sent.find("\"messages\"").unwrap()..sent.find("what was that?").unwrap()];
    assert!(again.contains(head), "what was sent before is sent the same");
}

#[test]
fn a_command_waits_for_the_next_step_and_can_be_stopped() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "while [ ! -e go ]; do :; done"})).into(),
        answer().text("Went on.").into(),
    ]);
    let place = place();
    let mut screen = chat(&place, &server, &["--permission", "full", "wait for me"]);
    screen.wait("while [");
    screen.keys("!echo from-the-user\r");
    screen.wait("queued: !echo from-the-user");
    place.file("go", "");
    screen.wait("Went on.");
    let sent = server.requests()[1].raw.clone();
    assert!(sent.contains("!echo from-the-user"), "{sent}");
    screen.keys("!sleep 1000\r");
    screen.wait("Bash sleep 1000");
    screen.keys("\u{1b}");
    screen.wait("interrupted");
    screen.wait("Type a task");
}

#[test]
fn tab_completes_commands_and_paths() {
    let server = FakeServer::start(vec![]);
    let place = place();
    place.file("some folder/one.txt", "").file("some folder/other.txt", "");
    let mut screen = chat(&place, &server, &[]);
    screen.keys("!cat so\t");
    screen.wait("› !cat some\\ folder/");
    screen.keys("o\t");
    screen.wait_for("the list", |screen| screen.contains("one.txt") && screen.contains("other.txt"));
    screen.keys("\u{1b}[B\r");
    screen.wait("› !cat some\\ folder/other.txt");
    screen.keys("\u{3}!mkfif\t");
    screen.wait("› !mkfifo");
}

#[test]
fn text_is_kept_as_rule_or_note() {
    let server = FakeServer::start(vec![answer().text("Known.").into()]);
    let place = place();
    let mut screen = chat(&place, &server, &[]);
    for (sign, usage) in [("!", "Type a command after"), ("#", "Type a line after")] {
        screen.keys(&format!("{sign}\r"));
        screen.wait(usage);
    }
    assert!(server.requests().is_empty(), "a lone sign is no message");
    screen.keys("#use tabs\r");
    screen.wait("A rule in CODE_LAW.md");
    screen.keys("\u{1b}");
    screen.wait("› #use tabs");
    assert_eq!(place.text("CODE_LAW.md"), "Be kind.\n");
    screen.keys("\r");
    screen.wait("▸ 1. A rule in CODE_LAW.md");
    screen.keys("elsewhere\r");
    screen.wait("› #use tabs\n  elsewhere");
    screen.keys("\u{3}#use tabs\r");
    screen.wait("A rule in CODE_LAW.md");
    screen.keys("\r");
    screen.wait("Saved in CODE_LAW.md");
    assert_eq!(place.text("CODE_LAW.md"), "Be kind.\n- use tabs\n");
    screen.keys("#the port is 8080\r");
    screen.wait("A note in");
    screen.keys("2");
    screen.wait("Saved in .mycode/notes/");
    let notes = std::fs::read_dir(place.project().join(".mycode/notes")).unwrap().flatten();
    let texts: Vec<String> = notes.filter_map(|note| std::fs::read_to_string(note.path()).ok()).collect();
    assert!(texts.iter().any(|text| text.contains("the port is 8080")), "{texts:?}");
    screen.keys("hello\r");
    screen.wait("Known.");
    assert!(server.requests()[0].raw.contains("- use tabs"));
}

#[test]
fn vi_keys_and_their_mode() {
    let server = FakeServer::start(vec![answer().text("So be it.").into()]);
    let place = place();
    std::fs::write(place.home().join("config.toml"), "vim = true\n").unwrap();
    let mut screen = chat(&place, &server, &[]);
    screen.wait("INSERT");
    screen.keys("say (one) two");
    screen.wait("› say (one) two");
    screen.keys("\u{1b}");
    screen.wait("NORMAL");
    screen.keys("0fo");
    screen.keys("ci(three");
    screen.wait_for("the change", |screen| screen.contains("› say (three) two") && screen.contains("INSERT"));
    screen.keys("\u{1b}");
    screen.wait("NORMAL");
    screen.keys("2");
    screen.wait("NORMAL 2");
    screen.keys("\u{1b}");
    screen.wait_for("no command", |screen| !screen.contains("NORMAL 2"));
    screen.keys("u");
    screen.wait("› say (one) two");
    screen.keys("\u{12}");
    screen.wait("› say (three) two");
    screen.keys("A now\r");
    screen.wait("So be it.");
    assert!(server.requests()[0].raw.contains("say (three) two now"));
    screen.wait("INSERT");
    screen.keys("/vim\r");
    screen.wait("Vim mode is off.");
}
