//! `exec -n N --until CMD`: of several attempts, the smallest change with which the check passes.

use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::answer::{Reply, answer, silence, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn project() -> Workplace {
    let place = Workplace::new();
    place.file("n.txt", "1\n");
    place.repository()
}

/// Writes the file, then says so.
fn attempt(text: &str) -> [Reply; 2] {
    let args = json!({"command": format!("printf '{text}' > n.txt")});
    let call = answer().call("Bash", args).usage(100_000, 0, 10);
    [call.into(), answer().text("Done.").usage(100_000, 0, 10).into()]
}

fn command(place: &Workplace, server: &FakeServer, args: &[&str]) -> Command {
    let url = server.base_url();
    let usual = [
        "exec",
        "--base-url",
        &url,
        "--model",
        "gpt-4.1",
        "-n",
        "3",
        "--until",
        "grep -q good n.txt",
        "make it good",
    ];
    place.command(&[&usual[..], args].concat())
}

fn run(place: &Workplace, server: &FakeServer, args: &[&str]) -> Output {
    command(place, server, args).output().unwrap()
}

fn branches(place: &Workplace) -> usize {
    place.git(&["branch", "--format=%(refname:short)"]).lines().count() - 1
}

#[test]
fn the_smallest_change_that_passes_is_kept() {
    let place = project();
    let replies = [attempt("good\n2\n3\n4\n"), attempt("1\ngood\n"), attempt("1\n")];
    let server = FakeServer::start(replies.into_iter().flatten().collect());
    let out = run(&place, &server, &[]);
    let said = stdout(&out);
    assert_eq!(out.status.code(), Some(0), "{said}{}", stderr(&out));
    assert!(said.contains("Attempt 2 is kept"), "{said}");
    assert!(said.contains("attempt 1: passes, +4 -1 lines in 1 file\n"), "{said}");
    assert!(said.contains("attempt 3: no progress (12), +0 -0 lines in 0 files\n"), "{said}");
    assert_eq!(branches(&place), 1, "the others are gone");
    let merge = said.split('`').find(|words| words.starts_with("mycode work merge")).unwrap();
    let words: Vec<&str> = merge.split(' ').skip(1).collect();
    assert!(place.command(&words).output().unwrap().status.success());
    assert_eq!(place.text("n.txt"), "1\ngood\n");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_check_that_passes_without_its_tests_costs_no_rival_its_branch() {
    let command = |text: &str| -> [Reply; 2] {
        let call = answer().call("Bash", json!({"command": text})).usage(1_000, 0, 10);
        [call.into(), answer().text("Done.").usage(1_000, 0, 10).into()]
    };
    let (cheat, repair) = (command("rm tests/a.test"), command("printf 'good\\n2\\n3\\n' > n.txt"));
    for (second, kept, left) in
        [(repair, "Attempt 2 is kept", 1), (cheat.clone(), "All are kept: attempt 1", 2)]
    {
        let place = Workplace::new();
        place.file("n.txt", "1\n").file("tests/a.test", "x\n");
        let place = place.repository();
        let server = FakeServer::start([cheat.clone(), second].into_iter().flatten().collect());
        let url = server.base_url();
        let check = "test ! -e tests/a.test || grep -q good n.txt";
        let args =
            ["exec", "--base-url", &url, "--model", "gpt-4.1", "-n", "2", "--until", check, "make it good"];
        let out = place.command(&args).output().unwrap();
        let said = stdout(&out);
        assert_eq!(out.status.code(), Some(0), "{said}{}", stderr(&out));
        assert!(said.contains(kept) && said.contains("it removes lines of tests\n"), "{said}");
        assert_eq!(branches(&place), left, "{said}");
    }
}

#[test]
fn none_that_passes_is_no_success() {
    let place = project();
    let replies = (0..3).flat_map(|n| {
        let unchanged = answer().text("I can't.").into();
        [&attempt(&format!("bad {n}\n"))[..], &[unchanged]].concat()
    });
    let server = FakeServer::start(replies.collect());
    let out = run(&place, &server, &["--json"]);
    assert_eq!(out.status.code(), Some(12), "{}{}", stdout(&out), stderr(&out));
    let end: Value = serde_json::from_str(stdout(&out).lines().last().unwrap()).unwrap();
    assert_eq!(
        (&end["type"], &end["kept"], &end["exit_code"]),
        (&json!("attempts_ended"), &Value::Null, &json!(12))
    );
    assert_eq!(end["attempts"].as_array().unwrap().len(), 3);
    assert_eq!(branches(&place), 3, "nothing is lost");
}

#[test]
fn the_limits_hold_for_all_together() {
    let place = project();
    // Each request costs 20 cents, so the third attempt can't begin.
    let replies = [attempt("good\n2\n"), attempt("good\n")];
    let server = FakeServer::start(replies.into_iter().flatten().collect());
    let out = run(&place, &server, &["--max-cost", "0.79"]);
    let said = stdout(&out);
    assert_eq!((out.status.code(), server.left()), (Some(0), 0), "{said}{}", stderr(&out));
    assert!(said.contains("Attempt 2 is kept") || said.contains("Attempt 1 is kept"), "{said}");
    assert!(said.contains("1 attempt not started: cost limit"), "{said}");
    let out = place.command(&["exec", "-n", "2", "task"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
    let out = run(&Workplace::new(), &server, &[]);
    assert!(stderr(&out).contains("needs a git repository"), "{}", stderr(&out));
}

#[test]
fn a_price_of_the_users_own_counts() {
    let place = project();
    let row = "[[models]]\nname = \"mine\"\nwindow = 200000\nprice = { input = 2.0, output = 8.0 }\n";
    std::fs::write(place.home().join("models.toml"), row).unwrap();
    let server = FakeServer::start([attempt("good\n"), attempt("good\n")].into_iter().flatten().collect());
    let url = server.base_url();
    let check = "grep -q good n.txt";
    let args =
        ["exec", "--base-url", &url, "--model", "mine", "-n", "3", "--max-cost", "0.5", "--until", check];
    let out = place.command(&[&args[..], &["make it good"]].concat()).output().unwrap();
    assert!(stdout(&out).contains("1 attempt not started: cost limit"), "{}{}", stdout(&out), stderr(&out));
}

#[test]
fn stopped_attempts_go_on_where_they_ended() {
    let place = project();
    let outage = status(400, "{\"error\":{\"message\":\"no such model\"}}");
    let [call, done] = attempt("bad\n");
    let server = FakeServer::start(vec![call, done, answer().text("I can't.").into(), outage]);
    let out = run(&place, &server, &[]);
    assert_eq!(out.status.code(), Some(4), "{}{}", stdout(&out), stderr(&out));
    let replies: Vec<Reply> = [attempt("good\n2\n"), attempt("good\n")].into_iter().flatten().collect();
    replies.into_iter().for_each(|reply| server.push(reply));
    let out = run(&place, &server, &[]);
    let said = stdout(&out);
    assert_eq!(out.status.code(), Some(0), "{said}{}", stderr(&out));
    assert!(stderr(&out).contains("Continuing the attempts that began"), "{}", stderr(&out));
    assert!(said.contains("attempt 1: no progress") && said.contains("Attempt 3 is kept"), "{said}");
    assert_eq!((branches(&place), server.left()), (1, 0));
}

#[test]
fn attempts_that_a_signal_ended_go_on() {
    let place = project();
    let server = FakeServer::start(vec![silence()]);
    let pipes = |mut command: Command| command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let child = pipes(command(&place, &server, &[]));
    server.wait_for_requests(1);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(143), "{}{}", stdout(&out), stderr(&out));
    (0..3).flat_map(|_| attempt("good\n")).for_each(|reply| server.push(reply));
    let out = run(&place, &server, &[]);
    assert_eq!(out.status.code(), Some(0), "{}{}", stdout(&out), stderr(&out));
    assert!(stderr(&out).contains("Continuing the attempts that began"), "{}", stderr(&out));
}
