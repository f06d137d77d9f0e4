//! What one session changed is known to the next: in its first message where the task clearly belongs to it, by Recall, and
//! by `mycode sessions`.

use serde_json::json;

use crate::support::answer::{Answer, answer};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// The bodies of the requests of one `exec` run.
fn exec(place: &Workplace, flags: &[&str], task: &str, replies: Vec<Answer>) -> Vec<String> {
    let server = FakeServer::start(replies.into_iter().map(Into::into).collect());
    let out = place.exec(&server.base_url(), &[&["--permission", "full"], flags, &[task]].concat());
    assert!(out.status.success(), "{}", stderr(&out));
    server.requests().into_iter().map(|request| request.raw).collect()
}

#[test]
fn the_next_session_knows_what_the_last_one_did() {
    let place = Workplace::new();
    place.file("auth/session.py", "TIMEOUT = 3\n");
    let edit = json!({"path": "auth/session.py", "content": "TIMEOUT = 30\n"});
    exec(
        &place,
        &[],
        "Fix the login timeout, password is hunter2secret",
        vec![
            answer().call("Read", json!({"path": "auth/session.py"})),
            answer().call("Write", edit),
            answer().text("The login timeout is 30 seconds now. More follows."),
        ],
    );
    exec(&place, &[], "What is here?", vec![answer().text("One file.")]);
    let again = exec(
        &place,
        &[],
        "The login timeout of a session is too long",
        vec![answer().call("Recall", json!({"query": "timeout"})), answer().text("Yes.")],
    );
    let line = "Fix the login timeout";
    assert!(
        again[0].contains("Earlier work here that may matter:") && again[0].contains(line),
        "{}",
        again[0]
    );
    assert!(again[0].contains("(auth/session.py), session "), "{}", again[0]);
    assert!(again[1].contains("Earlier session: ") && !again[1].contains("hunter2secret"), "{}", again[1]);
    let server = FakeServer::start(vec![answer().text("Yes.").into()]);
    let told = place.exec(&server.base_url(), &["--json", "The login timeout of a session is too long"]);
    assert!(stdout(&told).contains("Sent with your message: related earlier work"), "{}", stdout(&told));
    let session = again[0].split("(auth/session.py), session ").nth(1).unwrap();
    let session: String = session.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
    let recall = answer().call("Recall", json!({"agent": session}));
    let whole = exec(&place, &[], "What was said there?", vec![recall, answer().text("Much.")]);
    assert!(whole[1].contains("More follows.") && whole[1].contains("Write {"), "{}", whole[1]);
    let chinese = exec(
        &place,
        &[],
        "会话超时又出问题了",
        vec![answer().call("Recall", json!({"query": "登录超时"})), answer().text("好的。")],
    );
    assert!(chinese[0].contains("Earlier work here that may matter:"), "{}", chinese[0]);
    assert!(chinese[1].contains("Earlier session: "), "{}", chinese[1]);
    for (flags, task) in [
        (&[][..], "Write a README about the weather station"),
        (&[], "登录按钮改成蓝色"),
        (&["-c"], "The login timeout of a session is too long, too"),
    ] {
        let bodies = exec(&place, flags, task, vec![answer().text("Done.")]);
        let last = bodies[0].rsplit(task).next().unwrap();
        assert!(!last.contains("Earlier work here"), "{task}: {last}");
    }
    place.file(".mycode/config.toml", "inject_notes = false\n");
    let off = exec(&place, &[], "The login timeout of a session is too long", vec![answer().text("Done.")]);
    assert!(!off[0].contains("Earlier work here"), "{}", off[0]);
    let found = stdout(&place.command(&["sessions", "login", "timeout"]).output().unwrap());
    assert!(found.contains(line) && found.lines().count() == 1, "{found}");
    assert!(!found.contains("task-context"), "{found}");
    for query in ["会话超时", "ログインのタイムアウト", "Zeitüberschreitung der Anmeldung"] {
        let found = stdout(&place.command(&["sessions", query]).output().unwrap());
        assert!(found.contains(line), "{query}: {found}");
    }
    let none = stdout(&place.command(&["sessions", "weather"]).output().unwrap());
    assert!(none.contains("No earlier turn matches."), "{none}");
}

/// A turn that only says "go on" is found by what it goes on with.
#[test]
fn a_short_task_is_kept_with_the_one_before() {
    let place = Workplace::new();
    let write = |text: &str| answer().call("Write", json!({"path": "wind.py", "content": text}));
    exec(&place, &[], "Show gusts beside the mean speed of the wind", vec![answer().text("Shall I?")]);
    exec(&place, &["-c"], "go on", vec![write("GUSTS = 1\n"), answer().text("Done.")]);
    let found = stdout(&place.command(&["sessions", "gusts"]).output().unwrap());
    assert!(found.contains("go on (after: Show gusts beside the mean speed of the wind)"), "{found}");
}
