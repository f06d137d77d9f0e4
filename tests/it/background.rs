//! Runs in the background: they outlive who started them, and `ps`, `logs`, `attach` and `stop` tell the truth about them.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, getsid, kill_process};
use serde_json::{Value, json};

use crate::support::answer::{answer, silence};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn run(place: &Workplace, args: &[&str]) -> Output {
    place.command(args).output().unwrap()
}

fn start(place: &Workplace, server: &FakeServer, args: &[&str]) -> String {
    let url = server.base_url();
    let out = run(
        place,
        &[&["exec", "--base-url", &url, "--model", "gpt-5-mini", "--bg", "--json"], args].concat(),
    );
    assert_eq!(out.status.code(), Some(0), "{}{}", stdout(&out), stderr(&out));
    let line: Value = serde_json::from_str(&stdout(&out)).unwrap();
    line["id"].as_str().unwrap().to_owned()
}

fn listed(place: &Workplace, args: &[&str]) -> Vec<Value> {
    let out = run(place, &[&["ps", "--json"], args].concat());
    stdout(&out).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn pid(run: &Value) -> Pid {
    Pid::from_raw(run["pid"].as_i64().unwrap() as i32).unwrap()
}

#[test]
fn it_outlives_its_start_and_is_stopped() {
    let place = Workplace::new();
    let wrote = answer().call("Write", json!({"path": "a.txt", "content": "a"})).usage(1_000, 0, 10);
    let server = FakeServer::start(vec![wrote.into(), silence()]);
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let id = start(&place, &server, &[&format!("write a, not {secret}")]);
    server.wait_for_requests(2);
    let rows = listed(&place, &[]);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((&row["id"], &row["session"]), (&json!(id), &json!(id)));
    let task = row["task"].as_str().unwrap();
    assert!(task.starts_with("write a, not ") && !task.contains(&secret), "{task}");
    assert_eq!(row["folder"], json!(place.project()));
    assert!(row["cost_usd"].as_f64().unwrap() > 0.0, "{row}");
    assert_eq!(getsid(Some(pid(row))).unwrap(), pid(row), "no terminal can take it along");
    let log = row["log"].as_str().unwrap();
    assert_eq!(fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
    let text = stdout(&run(&place, &["ps"]));
    assert!(text.contains(&id) && text.contains("write a"), "{text}");

    let out = run(&place, &["stop", &id]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(stdout(&out).contains(&format!("`mycode exec --resume {id}` continues it")), "{}", stdout(&out));
    assert!(listed(&place, &[]).is_empty());
    assert_eq!(listed(&place, &["--all"])[0]["exit_code"], 143);
    let said = stdout(&run(&place, &["logs", &id[..id.len() - 1]]));
    assert!(said.contains("\"type\":\"tool_done\"") && said.contains("a.txt"), "{said}");
    let out = run(&place, &["stop", &id]);
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
    let out = run(&place, &["attach", &id]);
    assert_eq!(out.status.code(), Some(143), "its own exit code: {}", stderr(&out));
}

#[test]
fn attached_until_the_answer() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![answer().text("All\nis done.").into()]);
    let url = server.base_url();
    let mut command =
        place.command(&["exec", "--bg", "--base-url", &url, "--model", "m", "--", "--bg is in it"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"text from a pipe").unwrap();
    let shown = stdout(&child.wait_with_output().unwrap());
    let id = shown.split_whitespace().nth(1).unwrap();
    assert!(shown.contains(&format!("mycode attach {id}")), "{shown}");
    let out = run(&place, &["attach", id]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(stdout(&out).contains("All\nis done.\n"), "{}", stdout(&out));
    let asked = &server.requests()[0].raw;
    assert!(asked.contains("--bg is in it") && asked.contains("text from a pipe"), "{asked}");
    assert!(stdout(&run(&place, &["ps"])).starts_with("Nothing is running."));
}

#[test]
fn what_was_killed_is_not_running() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![silence(), answer().text("Went on.").into()]);
    let id = start(&place, &server, &["wait"]);
    server.wait_for_requests(1);
    let pid = pid(&listed(&place, &[])[0]);
    kill_process(pid, Signal::KILL).unwrap();
    let out = run(&place, &["attach", &id]);
    assert_eq!(out.status.code(), Some(1), "{}", stdout(&out));
    assert!(stderr(&out).contains("was killed") && stderr(&out).contains("--resume"), "{}", stderr(&out));
    assert!(listed(&place, &[]).is_empty());
    assert_eq!(listed(&place, &["--all"])[0]["state"], "killed");

    // A run in the foreground is listed, too, with what it printed.
    let out = place.exec(&server.base_url(), &["--resume", &id, "go on"]);
    assert!(out.status.success(), "{}", stderr(&out));
    let rows = listed(&place, &["--all"]);
    assert_eq!((&rows[0]["state"], &rows[0]["session"]), (&json!("done"), &json!(id)));
    for args in [&["logs", rows[0]["id"].as_str().unwrap()][..], &["logs"]] {
        let out = run(&place, args);
        assert!(stdout(&out).contains("Went on."), "{}{}", stdout(&out), stderr(&out));
    }
}

#[test]
fn what_cannot_begin_says_so_at_once() {
    let place = Workplace::new();
    for (args, code, says) in [
        (&["exec", "--bg", "task", "--model", "m", "--base-url", "nonsense"][..], 3, "nonsense"),
        (&["-p", "task", "--background", "--model", "m", "--base-url", "nonsense"], 3, "nonsense"),
        (&["exec", "--bg", "--resume", "none", "--model", "m", "task"], 2, "no session 'none'"),
        (&["build", "--bg"], 2, "the task is empty"),
    ] {
        let out = run(&place, args);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {}{}", stdout(&out), stderr(&out));
        assert!(stderr(&out).contains(says), "{}", stderr(&out));
    }
    assert!(listed(&place, &["--all"]).is_empty());
    let out = run(&place, &["attach", "20"]);
    assert!(stderr(&out).contains("no run '20'"), "{}", stderr(&out));
}

#[test]
fn without_bash_commands_run_in_sh() {
    let place = Workplace::new();
    let programs = place.home().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    for name in ["sh", "sleep"] {
        std::os::unix::fs::symlink(format!("/bin/{name}"), programs.join(name)).unwrap();
    }
    let job = json!({"command": "echo from a job; sleep 1", "background": true});
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "echo in $0; cd /; pwd"})).call("Bash", job).into(),
        answer().call("Bash", json!({"command": "pwd"})).into(),
        answer().text("Done.").into(),
    ]);
    let args = ["exec", "--base-url", &server.base_url(), "--model", "m", "--permission", "auto", "look"];
    let out = place.command(&args).env("PATH", &programs).output().unwrap();
    assert!(out.status.success(), "{}", stderr(&out));
    let requests = server.requests();
    assert!(requests[0].raw.contains("no bash: commands run in sh"), "{}", requests[0].raw);
    assert!(requests[1].raw.contains("in sh\\n/\\n"), "{}", requests[1].raw);
    assert!(requests[1].raw.contains("from a job"), "{}", requests[1].raw);
}
