//! What goes wrong around the agent: signals, full disks, damaged files, odd surroundings. Each ends in a clear word, and
//! nothing is left running, lost or locked.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use base::protocol::approval::Question;
use base::protocol::event::{EndReason, Event};
use base::protocol::op::Control;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::answer::status;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

fn fifo(place: &Workplace, name: &str) -> std::path::PathBuf {
    let path = place.project().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn signals_end_the_command() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        // What the tests' own surroundings ignore (a hang-up under `nohup`), the program ignores rightly.
        if is_ignored(signal) {
            continue;
        }
        let place = Workplace::new();
        let gate = fifo(&place, "gate");
        let server = FakeServer::start(vec![answer().call("Bash", json!({"command": "cat gate"})).into()]);
        let child = place
            .command(&["exec", "--base-url", &server.base_url(), "--model", "m", "wait"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Opens as soon as the command reads from it.
        let mut command = OpenOptions::new().write(true).open(&gate).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let code = 128 + signal.as_raw();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let listed = stdout(&place.command(&["ps", "--all"]).output().unwrap());
        assert!(listed.contains(&format!("interrupted ({code})")), "{listed}");
        // Nobody reads any more: the command went with us.
        assert!(command.write_all(b"x").is_err(), "{signal:?} left the command running");
    }
}

#[test]
fn output_on_full_disk() {
    let place = Workplace::new();
    let full = || Stdio::from(OpenOptions::new().write(true).open("/dev/full").unwrap());
    for more in [&[][..], &["--json"]] {
        let server = FakeServer::start(vec![answer().text("The answer.").into()]);
        let base_url = server.base_url();
        let mut args = vec!["exec", "--base-url", &base_url, "--model", "m", "task"];
        args.extend(more);
        let output = place.command(&args).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("could not be written"), "{}", stderr(&output));
    }
    let output = place.command(&["tool", "LS"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("could not be written"), "{}", stderr(&output));
}

#[test]
fn failed_start_leaves_nothing() {
    let server = FakeServer::start(vec![]);
    let place = Workplace::new();
    let base_url = server.base_url();
    let inner = place.command(&["exec", "--base-url", &base_url, "--model", "m", "task"]);
    // As on a full disk: files can be made, but not a byte written.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(place.project())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    // Said once, with what to do; and the next message may begin the session anew.
    assert_eq!(stderr(&output).matches("can't be written").count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("free some disk space"));
    assert!(stdout(&place.command(&["sessions"]).output().unwrap()).contains("No sessions in this project"));
}

#[test]
fn configuration_not_a_file() {
    let server = FakeServer::start(vec![answer().text("Done.").into(), answer().text("Done.").into()]);
    let place = Workplace::new();
    place.file(".mycode/x", "");
    let config = place.project().join(".mycode/config.toml");
    // What is wrong with a text tells of it: a checkout's link brings in nothing from outside.
    symlink("/dev/zero", &config).unwrap();
    let output = place.exec(&server.base_url(), &["task"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("it is a symlink out of the project"), "{}", stderr(&output));
    fs::remove_file(&config).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &config, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let output = place.exec(&server.base_url(), &["task"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("is a named pipe"), "{}", stderr(&output));
    fs::remove_file(&config).unwrap();
    File::create(&config).unwrap().set_len(2 * 1024 * 1024).unwrap();
    let output = place.exec(&server.base_url(), &["task"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("more than the limit"), "{}", stderr(&output));
    fs::remove_file(&config).unwrap();
    assert_eq!(stdout(&place.exec(&server.base_url(), &["task"])).trim(), "Done.");
}

#[test]
fn answers_with_a_mistake() {
    let server = FakeServer::start(vec![answer().text("One.").into()]);
    let place = Workplace::new();
    place.exec(&server.base_url(), &["task"]);
    let state = place.log().parent().unwrap().parent().unwrap().to_owned();
    fs::write(state.join("permissions.toml"), "[permissions]\nalow = []\n").unwrap();
    let output = place.exec(&server.base_url(), &["task"]);
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    assert!(
        said.contains("permissions.toml is not a valid configuration") && said.contains("`alow`"),
        "{said}"
    );
    let doctor = stdout(&place.command(&["doctor"]).output().unwrap());
    assert!(doctor.contains("permissions.toml is not a valid configuration"), "{doctor}");
    fs::write(state.join("permissions.toml"), "[permissions]\nallow = [\"Frob(x)\"]\n").unwrap();
    let doctor = place.command(&["doctor"]).output().unwrap();
    assert!(stdout(&doctor).contains("there is no such tool") && !doctor.status.success(), "{doctor:?}");
    fs::remove_file(state.join("permissions.toml")).unwrap();
    fs::write(state.join("rules.json"), "{\"commands\": [\"make all\"]}").unwrap();
    let doctor = stdout(&place.command(&["doctor"]).output().unwrap());
    assert!(doctor.contains("allow Bash(make all) (") && doctor.contains("permissions.toml)"), "{doctor}");
    let check = ["policy", "check", "--permission", "ask", "--", "make all"];
    let checked = stdout(&place.command(&check).output().unwrap());
    assert!(checked.contains("; allow Bash(make all) in ") && checked.starts_with("allow"), "{checked}");
}

#[tokio::test]
async fn interrupted_question() {
    let server = FakeServer::start(vec![answer().call("Write", json!({"path": "a", "content": "x"})).into()]);
    let place = Workplace::new();
    let config = format!("base_url = \"{}\"\nmodel = \"test-model\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.submit("write");
    let asked =
        |event: &Event| matches!(event, Event::Ask { question: Question::Approval(_), .. }).then_some(());
    agent.until(asked).await;
    agent.send(Control::Interrupt);
    let said = agent
        .until(|event| match event {
            Event::ToolDone { result, .. } => Some(result.envelope.wire().into_owned()),
            _ => None,
        })
        .await;
    assert!(said.contains("changed nothing"), "{said}");
    agent.end().await;
    assert!(!place.project().join("a").exists());
}

#[test]
fn call_cut_off_by_kill() {
    let place = Workplace::new();
    let gate = fifo(&place, "gate");
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "cat gate"})).into(),
        answer().text("Again.").into(),
    ]);
    let mut child = place
        .command(&["exec", "--base-url", &server.base_url(), "--model", "m", "wait"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let command = OpenOptions::new().write(true).open(&gate).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(command);
    let output = place.exec(&server.base_url(), &["-c", "go on"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let log = fs::read_to_string(place.log()).unwrap();
    let result = log.lines().find(|line| line.contains("the program stopped")).unwrap();
    assert!(result.contains("\"tool\":\"Bash\""), "{result}");
}

#[test]
fn overlong_message() {
    let server = FakeServer::start(vec![answer().text("Seen.").into()]);
    let place = Workplace::new();
    let task = "word ".repeat(12_000);
    let output = place.exec(&server.base_url(), &["--context-window", "8192", &task]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("too long for the window"), "{}", stderr(&output));
    assert!(server.requests()[0].raw.contains("Recall"));
}

#[tokio::test]
async fn server_that_always_says_too_long() {
    let no = || status(400, r#"{"error":{"message":"exceeds the context window"}}"#);
    let server = FakeServer::start((0..9).map(|_| no()).collect());
    let place = Workplace::new();
    let config = format!("base_url = \"{}\"\nmodel = \"test-model\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    let end = agent.turn("hello").await;
    assert!(matches!(end.reason, EndReason::ProviderFailed { .. }), "{end:?}");
    // There was nothing to give up: it was asked once more and not for ever; and the window is what it was.
    assert!((2..=4).contains(&server.requests().len()), "{}", server.requests().len());
    let last = agent.seen.iter().rev().find_map(|event| match event {
        Event::Window(window) => Some(window.window_tokens),
        _ => None,
    });
    assert_eq!(last, Some(128_000));
}

#[test]
fn empty_answer() {
    let empty = || answer().text("").into();
    let server = FakeServer::start(vec![empty(), answer().text("Now.").into()]);
    let place = Workplace::new();
    let output = place.exec(&server.base_url(), &["hello"]);
    assert!(output.status.success() && stdout(&output).contains("Now."), "{}", stderr(&output));

    let server = FakeServer::start(vec![empty(), empty()]);
    let output = place.exec(&server.base_url(), &["hello"]);
    assert_eq!(output.status.code(), Some(13));
    assert!(stderr(&output).contains("empty response"), "{}", stderr(&output));
}

#[test]
fn answer_cut_at_output_limit() {
    let cut = || answer().text("The first half of").finish("length").into();
    let server = FakeServer::start(vec![cut(), cut(), cut(), cut()]);
    let output = Workplace::new().exec(&server.base_url(), &["hello"]);
    assert_eq!(output.status.code(), Some(13));
    // Standard output holds answers, and this is none; nothing of it is lost either.
    assert!(stdout(&output).is_empty() && stderr(&output).contains("The first half of"));
    assert!(
        stderr(&output).contains("output limit") && stderr(&output).contains("continue"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_run_goes_on_when_an_update_replaces_the_program() {
    let place = Workplace::new();
    place.file("a.txt", "one\n");
    let place = place.repository();
    let own = place.home().join("mycode");
    fs::hard_link(env!("CARGO_BIN_EXE_mycode"), &own)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_mycode"), &own).map(drop))
        .unwrap();
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "true"})).into(),
        answer().call("Bash", json!({"command": "git status --short; echo fine"})).gated().into(),
        answer().text("Done.").into(),
    ]);
    let like = place.command(&[
        "exec",
        "--permission",
        "auto",
        "--base-url",
        &server.base_url(),
        "--model",
        "m",
        "go",
    ]);
    let mut command = Command::new(&own);
    command.args(like.get_args()).env_clear().current_dir(place.project()).stderr(Stdio::null());
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    server.wait_for_requests(2);
    fs::remove_file(&own).unwrap();
    server.release(1_000);
    assert_eq!(stdout(&child.wait_with_output().unwrap()).trim(), "Done.");
    let last = &server.requests()[2].raw;
    assert!(last.contains("fine") && !last.contains("sandbox could not"), "{last}");
}
