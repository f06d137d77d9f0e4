//! How replies end: cut in the middle of a call, at the window's end, declined, paused.

use serde_json::{Value, json};

use crate::support::answer::{answer, raw};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, passage, stderr, stdout};

fn exec(place: &Workplace, server: &FakeServer, args: &[&str]) -> std::process::Output {
    let url = server.base_url();
    let mut all = vec!["exec", "--provider", "anthropic", "--base-url", &url, "--model", "claude-sonnet-5-5"];
    all.extend(args);
    place.command(&all).output().unwrap()
}

#[test]
fn a_call_that_was_cut_is_to_be_split() {
    for finish in ["max_tokens", "length"] {
        let args = format!("{{\"path\": \"a.txt\", \"content\": \"{}", "a line\\n".repeat(300));
        let server = FakeServer::start(vec![
            answer().call("LS", json!({})).call_raw("Write", &args).finish(finish).into(),
            answer().text("In parts, then.").into(),
        ]);
        let place = Workplace::new();
        let output = if finish == "length" {
            place.exec(&server.base_url(), &["write"])
        } else {
            exec(&place, &server, &["write"])
        };
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!place.project().join("a.txt").exists());
        let told = &server.requests()[1].raw;
        assert!(
            told.contains("cut off at the output limit") && told.contains("Write the file in parts"),
            "{told}"
        );
        assert!(!told.contains("not valid JSON"), "{told}");
    }
}

#[test]
fn a_full_window_is_made_room_in() {
    let place = Workplace::new();
    place.file("f.rs", passage(3, 400));
    let read = |start: usize| answer().call("Read", json!({"path": "f.rs", "start_line": start})).into();
    let server = FakeServer::start(vec![
        read(1),
        read(100),
        read(200),
        answer().text("I was about to").finish("model_context_window_exceeded").into(),
        answer().text("All is well.").into(),
    ]);
    let output = exec(&place, &server, &["--context-window", "40000", "look"]);
    assert!(output.status.success() && stdout(&output).contains("All is well."), "{}", stderr(&output));
    let sizes: Vec<usize> = server.requests().iter().map(|request| request.raw.len()).collect();
    assert!(sizes[4] < sizes[3] * 9 / 10, "{sizes:?}");
}

#[test]
fn a_refusal_says_why() {
    let refused = json!({"type": "message", "role": "assistant", "content": [], "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "This looks like an exploit."},
        "usage": {"input_tokens": 9, "output_tokens": 0}});
    let half = answer().text("Sure, ").finish("refusal").into();
    let replies = vec![raw("application/json", &refused.to_string()), half, answer().text("Fine.").into()];
    let (server, place) = (FakeServer::start(replies), Workplace::new());
    let output = exec(&place, &server, &["do it"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the model declined to answer: This looks like an exploit."),
        "{}",
        stderr(&output)
    );
    // Kept, it would be refused again, also what was said before.
    exec(&place, &server, &["-c", "do it still"]);
    exec(&place, &server, &["-c", "something else"]);
    let last = server.requests()[2].raw.clone();
    assert!(!last.contains("do it still") && !last.contains("Sure, "), "{last}");
}

#[test]
fn a_pause_is_continued() {
    let server = FakeServer::start(vec![
        answer().text("I am still at it.").finish("pause_turn").into(),
        answer().text("Now it is done.").into(),
    ]);
    let output = exec(&Workplace::new(), &server, &["work"]);
    assert!(output.status.success() && stdout(&output).contains("Now it is done."), "{}", stderr(&output));
    let last: Vec<Value> = server.requests()[1].body["messages"].as_array().unwrap().clone();
    assert_eq!(last[last.len() - 1]["content"][0]["text"], "I am still at it.");
    assert_eq!(server.take_faults().len(), 1, "here the last message is the assistant's");
}
