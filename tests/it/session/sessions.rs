//! Sessions through the real binary: they survive a kill at any moment, resume with the same prefix, refuse two writers,
//! and open in spite of damage.

use std::fs::OpenOptions;
use std::io::Write;

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::answer::status;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("a.txt", "alpha\nbeta\n");
    place
}

fn messages(body: &Value) -> Vec<Value> {
    body["messages"].as_array().unwrap().clone()
}

#[test]
fn a_resumed_session_goes_on_with_the_same_prefix() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().text("It says alpha.").into(),
        answer().call("Edit", json!({"path": "a.txt", "old_string": "alpha", "new_string": "omega"})).into(),
        answer().text("Changed.").into(),
    ]);
    let place = place();
    assert!(place.exec(&server.base_url(), &["what does a.txt say?"]).status.success());
    let output = place.exec(&server.base_url(), &["-c", "change alpha to omega"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // The file counts as read: the session remembered it across processes.
    assert_eq!(place.text("a.txt"), "omega\nbeta\n");
    let requests = server.requests();
    let (before, after) = (messages(&requests[1].body), messages(&requests[2].body));
    assert_eq!(before[..], after[..before.len()], "the prefix changed");
    let listed = place.command(&["sessions", "--json"]).output().unwrap();
    let row: Value = serde_json::from_str(stdout(&listed).lines().next().unwrap()).unwrap();
    assert_eq!((row["turns"].as_u64(), row["title"].as_str()), (Some(2), Some("what does a.txt say?")));
}

/// What somebody else wrote must not go on as the user's own session.
#[test]
fn a_link_is_no_session() {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Two.").into()]);
    let place = place();
    assert!(place.exec(&server.base_url(), &["first"]).status.success());
    let log = place.log();
    let elsewhere = place.home().join("elsewhere.jsonl");
    std::fs::rename(&log, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &log).unwrap();
    let id = log.file_stem().unwrap().to_string_lossy().into_owned();
    let before = std::fs::read(&elsewhere).unwrap();
    let output = place.exec(&server.base_url(), &["--resume", &id]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let listed = place.command(&["sessions", "--json"]).output().unwrap();
    assert_eq!(stdout(&listed), "");
    let output = place.exec(&server.base_url(), &["-c", "go on"]);
    assert!(stderr(&output).contains("so a new one starts"), "{}", stderr(&output));
    assert_eq!(std::fs::read(&elsewhere).unwrap(), before);
    assert_eq!(server.requests()[1].body["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn a_kill_in_the_middle_loses_nothing_that_was_finished() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().text("Never heard.").gated().into(),
        answer().text("Going on.").into(),
    ]);
    let place = place();
    let mut child = place
        .command(&["exec", "--base-url", &server.base_url(), "--model", "m", "read a.txt"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for_requests(2);
    child.kill().unwrap();
    child.wait().unwrap();
    let output = place.exec(&server.base_url(), &["-c", "go on"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let last = server.requests().pop().unwrap();
    assert!(last.raw.contains("1\\talpha"), "the finished Read is still there: {}", last.raw);
}

#[test]
fn a_call_cut_off_by_a_kill_is_answered_on_resume() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "touch started; sleep 60"})).into(),
        answer().text("Going on.").into(),
    ]);
    let place = place();
    let mut child = place
        .command(&["exec", "--base-url", &server.base_url(), "--model", "m", "sleep"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !place.project().join("started").exists() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = place.exec(&server.base_url(), &["-c", "go on"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // The server itself checks that calls and results pair up.
    assert!(server.requests()[1].raw.contains("INTERRUPTED"));
}

#[test]
fn damage_never_blocks_a_resume() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().text("One.").into(),
        answer().text("Two.").into(),
    ]);
    let place = place();
    place.exec(&server.base_url(), &["first"]);
    let log = place.log();
    let mut file = OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(b"{\"item\":{\"id\":99,\"ms\":1,\"tok").unwrap();
    let text = std::fs::read_to_string(&log).unwrap().replacen(
        '\n',
        "\n{\"from\":\"the future\"}\n\u{0}\u{2028}\n",
        1,
    );
    std::fs::write(&log, text).unwrap();
    let output = place.exec(&server.base_url(), &["-c", "second"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("could not be read"), "{}", stderr(&output));
    let last = server.requests().pop().unwrap();
    assert!(last.raw.contains("first") && last.raw.contains("One.") && last.raw.contains("second"));
    // What was appended after the torn line is whole again.
    let resumed = std::fs::read_to_string(&log).unwrap();
    assert!(resumed.lines().last().unwrap().starts_with("{\"turn_end\":"));
    let newer = resumed.replacen("\"version\":1,", "\"version\":2,", 1);
    for (text, told) in [(newer.as_str(), "by a newer version"), ("", "has lost its beginning")] {
        std::fs::write(&log, text).unwrap();
        server.push(answer().text("Three."));
        let output = place.exec(&server.base_url(), &["-c", "third"]);
        assert!(output.status.success() && stderr(&output).contains(told), "{}", stderr(&output));
    }
}

#[test]
fn two_processes_never_write_one_session() {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Slow.").gated().into()]);
    let place = place();
    place.exec(&server.base_url(), &["first"]);
    let mut child = place
        .command(&["exec", "-c", "--base-url", &server.base_url(), "--model", "m", "second"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for_requests(2);
    let output = place.exec(&server.base_url(), &["-c", "third"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("open in another mycode"), "{}", stderr(&output));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn headless_a_task_survives_every_error_of_the_server() {
    for (code, body, header) in [
        (402, "pay", None),
        (429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#, None),
        (307, "", Some(("location", "https://elsewhere.example/v1"))),
        (400, r#"{"error":{"message":"unknown field"}}"#, None),
        (405, "", None),
        (422, r#"{"detail":"unknown field"}"#, None),
        (451, "not in your country", None),
    ] {
        let refusal = || {
            let refusal = status(code, body);
            header.map_or_else(|| refusal.clone(), |(name, value)| refusal.clone().header(name, value))
        };
        let place = place();
        let server = FakeServer::start(vec![refusal()]);
        let output = place.exec(&server.base_url(), &["count the teapots"]);
        assert_eq!(output.status.code(), Some(4), "{code}: {}", stderr(&output));
        let server = FakeServer::start(vec![answer().text("Three.").into()]);
        let output = place.exec(&server.base_url(), &["-c", "go on"]);
        assert_eq!(output.status.code(), Some(0), "{code}: {}", stderr(&output));
        let raw = server.requests().pop().unwrap().raw;
        assert!(raw.contains("count the teapots") && raw.contains("go on"), "{code}: {raw}");
    }
}

#[test]
fn a_filtered_message_leaves_no_trace_in_the_next_request() {
    let server = FakeServer::start(vec![
        answer().text("One.").into(),
        status(
            400,
            r#"{"error":{"code":"content_filter","message":"it goes against the content management policy"}}"#,
        ),
        answer().text("Three.").into(),
    ]);
    let place = place();
    place.exec(&server.base_url(), &["first"]);
    let output = place.exec(&server.base_url(), &["-c", "second"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    place.exec(&server.base_url(), &["-c", "third"]);
    let last = server.requests().pop().unwrap();
    assert!(last.raw.contains("third") && !last.raw.contains("second"));
}

mod any_cut {
    use std::sync::OnceLock;

    use agent::session::reopen;
    use proptest::prelude::*;

    use super::*;

    /// The log of a session with several calls, as bytes.
    fn whole_log() -> &'static [u8] {
        static LOG: OnceLock<Vec<u8>> = OnceLock::new();
        LOG.get_or_init(|| {
            let server = FakeServer::start(vec![
                answer().text("Ä").call("Read", json!({"path": "a.txt"})).call("LS", json!({})).into(),
                answer()
                    .call("Edit", json!({"path": "a.txt", "old_string": "alpha", "new_string": "ω"}))
                    .into(),
                answer().text("Done.").into(),
                answer().text("Again.").into(),
            ]);
            let place = place();
            place.exec(&server.base_url(), &["change it"]);
            place.exec(&server.base_url(), &["-c", "again"]);
            std::fs::read(place.log()).unwrap()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn of_the_log_resumes_with_every_call_answered(cut in 0.0..1.0_f64, hole in 0.0..1.0_f64, lost in 0_usize..200) {
            let whole = whole_log();
            let mut bytes = whole[..(whole.len() as f64 * cut) as usize].to_vec();
            let from = (bytes.len() as f64 * hole) as usize;
            bytes.drain(from..(from + lost).min(bytes.len()));
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sessions").join("s.jsonl");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            let restored = reopen::restore(folder.path(), folder.path(), &path).unwrap();
            prop_assert!(restored.conversation.state.history.open_calls().is_empty());
            drop(restored);
            // What the first resume wrote is enough: a second one finds nothing to repair.
            let before = std::fs::read(&path).unwrap();
            drop(reopen::restore(folder.path(), folder.path(), &path).unwrap());
            prop_assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }
}
