//! A session that another process has open: continued in a copy, taken over, or refused with the ways.

use serde_json::json;

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};

fn opened(place: &Workplace, server: &FakeServer) -> Screen {
    let mut first = Screen::chat(place, server, &[]);
    first.wait("test-model");
    first.keys("the task\r");
    first.wait("One.");
    first.wait("Done");
    first
}

#[test]
fn fork_is_the_default() {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Two.").into()]);
    let place = Workplace::new();
    let mut first = opened(&place, &server);
    let mut second = Screen::chat(&place, &server, &["-c"]);
    second.wait("[f] fork");
    second.keys("\r");
    second.wait("One.");
    second.keys("more\r");
    second.wait("Two.");
    assert!(server.requests()[1].raw.contains("the task"), "the copy knows what was said");
    second.keys("\u{4}");
    assert_eq!(second.end(), 0);
    first.keys("\u{4}");
    assert_eq!(first.end(), 0);
    let listed = place.command(&["sessions", "--json"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count(), 2);
}

#[test]
fn taking_over_ends_the_other() {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Two.").into()]);
    let place = Workplace::new();
    let mut first = opened(&place, &server);
    let mut second = Screen::chat(&place, &server, &["-c"]);
    second.wait("[t] take over");
    second.keys("t\r");
    second.wait("One.");
    assert_eq!(first.end(), 130);
    second.keys("more\r");
    second.wait("Two.");
    second.keys("\u{4}");
    assert_eq!(second.end(), 0);
}

#[test]
fn headless_the_error_names_the_ways() {
    let server = FakeServer::start(vec![
        answer().text("One.").into(),
        answer().call("LS", json!({})).into(),
        answer().text("Two.").into(),
    ]);
    let place = Workplace::new();
    let mut first = opened(&place, &server);
    let refused = place.exec(&server.base_url(), &["-c", "more"]);
    assert_eq!(refused.status.code(), Some(1));
    let text = stderr(&refused);
    assert!(text.contains("is open in another mycode process") && text.contains("--fork"), "{text}");
    let forked = place.exec(&server.base_url(), &["-c", "--fork", "more"]);
    assert!(forked.status.success(), "{}", stderr(&forked));
    first.keys("\u{4}");
    assert_eq!(first.end(), 0);
}
