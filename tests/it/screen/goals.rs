//! `/goal` and `/review` in the chat, as a user sees them.

use serde_json::json;

use crate::support::answer::{Reply, answer, silence};
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn say(text: &str) -> Reply {
    answer().text(text).into()
}

fn write(text: &str) -> Reply {
    answer().call("Write", json!({"path": "n.txt", "content": text})).into()
}

#[test]
fn a_goal_goes_on_until_its_check_passes() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), say("First try."), write("3"), say("Second try.")]);
    let mut screen = Screen::chat(&place, &server, &["--permission", "auto"]);
    screen.wait("· auto");
    screen.keys("/goal make n 3\r");
    screen.wait("Usage: /goal TEXT --check COMMAND");
    screen.keys(" --check grep -q 3 n.txt\r");
    screen.wait("round 1: check failed (exit code 1)");
    screen.wait("Second try.");
    screen.wait("round 2: check passed (exit code 0)");
    screen.keys("/goal\r");
    screen.wait("reached after 2 rounds");
    assert_eq!(place.text("n.txt"), "3");
    // It is closed, and says so.
    screen.keys("/goal go\r");
    screen.wait("No goal is open.");
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn a_goal_is_looked_at_and_stopped() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![write("1"), silence()]);
    let mut screen = Screen::chat(&place, &server, &["--permission", "auto"]);
    screen.wait("· auto");
    screen.keys("/goal make n 3 --check 'grep -q 3 n.txt'\r");
    server.wait_for_requests(2);
    screen.keys("\u{1b}");
    screen.wait("Interrupted");
    screen.keys("/goal\r");
    screen.wait("goal: make n 3 (until `grep -q 3 n.txt` passes)");
    screen.wait("not reached yet");
    screen.keys("/goal stop\r");
    screen.wait("Stopped. goal: make n 3");
}

#[test]
fn a_review_shows_its_findings() {
    let place = Workplace::new();
    let finding = json!({"verdict": "fail", "summary": "Read it.", "findings": [
        {"path": "n.txt", "line": 1, "severity": "high", "problem": "adds 2", "evidence": "read it"}]});
    let server = FakeServer::start(vec![write("2"), say("Done."), say(&finding.to_string()), say("Mended.")]);
    let mut screen = Screen::chat(&place, &server, &["--permission", "auto"]);
    screen.wait("· auto");
    screen.keys("write n\r");
    screen.wait("✓ Done");
    screen.keys("/review\r");
    screen.wait("n.txt:1 adds 2 (read it)");
    screen.keys("mend it\r");
    screen.wait("Mended.");
    assert!(
        server.requests()[3].raw.contains("A reviewer who saw only the task"),
        "the next message has them"
    );
}
