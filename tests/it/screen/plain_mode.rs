//! The chat line by line: no sequence moves the cursor, questions and lists have numbers, and a script is no user.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::json;

use crate::support::answer::{answer, status};
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stdout};

fn typed(place: &Workplace, server: &FakeServer, args: &[&str], lines: &str) -> Output {
    let url = server.base_url();
    let mut all = vec!["--plain", "--base-url", &url, "--model", "test-model"];
    all.extend(args);
    let mut command = place.command(&all);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_script_of_lines() {
    let server = FakeServer::start(vec![
        answer().text("I try.").call("Bash", json!({"command": "touch made"})).into(),
        answer().text("Made **it**.\n\n- one\n- two\n\n| file | lines |\n|---|---|\n| a.rs | 3 |").into(),
        answer().call("Bash", json!({"command": "touch never"})).into(),
        answer().text("Not made.").into(),
    ]);
    let place = Workplace::new();
    let lines = "make it\n1\nagain\nn use another name\n/permissions\n4\n/status\n/copy\n/vim\n";
    let output = typed(&place, &server, &[], lines);
    assert!(output.status.success());
    let shown = stdout(&output);
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert!(place.project().join("made").exists() && !place.project().join("never").exists());
    for part in [
        "> Bash touch made\n",
        "? Allow Bash touch made\n",
        "1. Yes, once\n",
        "3. No\n",
        "Made it.\n",
        "file: a.rs\nlines: 3\n",
        "Denied: use another name",
        "2. ask          ● asks before",
        "permission   auto",
        "Plain mode can't copy.",
        "Plain mode has no Vim keys.",
        "Continue with: mycode resume ",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert!(server.requests()[3].raw.contains("use another name"));
}

#[test]
fn a_line_replaces_what_was_kept_of_the_last_one() {
    let server = FakeServer::start(vec![status(401, "no"), answer().text("Fine.").into()]);
    let output = typed(&Workplace::new(), &server, &[], "first\nsecond\n");
    let sent = &server.requests()[1].raw;
    assert!(sent.contains("second") && !sent.contains("firstsecond"), "{}\n{sent}", stdout(&output));
}

#[test]
fn keys_bars_and_long_changes_are_left_out() {
    let long: Vec<String> = (0..300).map(|number| format!("row {number}")).collect();
    let server = FakeServer::start(vec![
        answer().call("Write", json!({"path": "long.txt", "content": long.join("\n")})).into(),
        answer().text("Kept.").into(),
    ]);
    let place = Workplace::new();
    let lines = "write it\nn\n/model\n\n/context\n\n/theme\n/effort\n\n/rewind\n1\n\n\n/diff\n/help\n";
    let shown = stdout(&typed(&place, &server, &[], lines));
    assert!(shown.contains("more lines. v shows all.") && !shown.contains("row 30"), "{shown}");
    assert!(shown.contains("/rename TITLE") && shown.contains("Type 1 to rewind"), "{shown}");
    for part in ["Esc", "Enter", "↑", "█", "PgUp", "Ctrl-T", "type to search", "▌", "row 200"] {
        assert!(!shown.contains(part), "{part}:\n{shown}");
    }
}

#[test]
fn a_dumb_terminal_gets_it_by_itself() {
    let server = FakeServer::start(vec![answer().text("Hello.").into()]);
    let place = Workplace::new();
    let args = ["--base-url", &server.base_url(), "--model", "test-model"];
    let mut screen = Screen::start_with(&place, &args, (80, 24), &[("TERM", "dumb")]);
    screen.wait("> ");
    screen.keys("hi\n");
    screen.wait("Hello.");
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    assert!(!screen.raw().contains('\u{1b}'), "{:?}", screen.raw());
}

#[test]
fn waiting_is_told() {
    let busy = || status(529, "{\"error\":{\"message\":\"busy\"}}");
    let server = FakeServer::start(vec![busy(), answer().text("Hello.").into()]);
    let place = Workplace::new();
    let shown = stdout(&typed(&place, &server, &[], "hi\n"));
    assert!(shown.contains("attempt 2 of ") && shown.contains("Hello."), "{shown}");
}

#[test]
fn a_question_that_nobody_answers_is_declined() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "touch never"})).into(),
        answer().text("Not made.").into(),
    ]);
    let place = Workplace::new();
    let output = typed(&place, &server, &[], "make it\n");
    assert!(output.status.success());
    assert!(!place.project().join("never").exists());
}
