//! `mycode report` and `/stats` through the binary: every figure of a known session, periods, torn logs, rewinds.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::answer::{answer, silence, status};
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// With a price in the model table: $0.25 for a million tokens in, $0.025 cached, $2 out.
const MODEL: &str = "gpt-5-mini";

fn exec(place: &Workplace, server: &FakeServer, prompt: &str) -> Command {
    place.command(&["exec", "--base-url", &server.base_url(), "--model", MODEL, prompt])
}

fn report(place: &Workplace, args: &[&str]) -> String {
    let output = place.command(&[&["report"], args].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

fn figures(place: &Workplace, args: &[&str]) -> Value {
    serde_json::from_str(&report(place, &[&["--json"], args].concat())).unwrap()
}

fn worked() -> (Workplace, FakeServer) {
    let server = FakeServer::start(vec![
        answer()
            .call("Write", json!({"path": "a.txt", "content": "one\ntwo\n"}))
            .call("Bash", json!({"command": "echo '\"exit_code\":0'; exit 3"}))
            .usage(1_000, 0, 50)
            .into(),
        answer()
            .call("Note", json!({"action": "create", "title": "T", "content": "c", "type": "general"}))
            .call("Note", json!({"action": "list"}))
            .call("Read", json!({"path": "missing.txt"}))
            .usage(2_000, 1_000, 50)
            .into(),
        answer().text("Done.").usage(3_000, 2_000, 50).into(),
    ]);
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n");
    let output = exec(&place, &server, "write | a file").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    (place, server)
}

#[test]
fn a_denied_call_has_not_failed() {
    let denied = answer().call("Write", json!({"path": "/opt/denied.txt", "content": "x"})).into();
    let server = FakeServer::start(vec![denied, answer().text("Done.").into()]);
    let place = Workplace::new();
    assert!(stderr(&exec(&place, &server, "write").output().unwrap()).contains("1 call denied"));
    assert_eq!(figures(&place, &[])["total"]["tools"]["Write"], json!({"calls": 1, "errors": 0}));
}

#[test]
fn every_figure_of_a_session() {
    let (place, _server) = worked();
    let whole = figures(&place, &[]);
    let session = &whole["sessions"][0];
    assert_eq!(session["title"], "write | a file");
    for figures in [session, &whole["total"]] {
        for (name, value) in
            [("turns", 1), ("steps", 3), ("failed_commands", 1), ("notes", 1), ("compactions", 0)]
        {
            assert_eq!(figures[name], value, "{name}: {figures}");
        }
        assert_eq!(figures["tools"]["Note"], json!({"calls": 2, "errors": 0}));
        assert_eq!(figures["tools"]["Read"], json!({"calls": 1, "errors": 1}));
        assert_eq!(figures["files"], json!({"a.txt": {"added": 2, "removed": 0}}));
        let tokens = &figures["tokens"];
        assert_eq!(
            [&tokens["input"], &tokens["cached"], &tokens["output"]],
            [&json!(6_000), &json!(3_000), &json!(150)]
        );
        for layer in ["L1", "L2", "L4", "L6"] {
            assert!(figures["layers"][layer].as_u64().unwrap() > 0, "{layer}: {figures}");
        }
        let cost = figures["models"][MODEL]["cost_usd"].as_f64().unwrap();
        assert!((cost - (3_000.0 * 0.25 + 3_000.0 * 0.025 + 150.0 * 2.0) / 1e6).abs() < 1e-9, "{cost}");
        assert_eq!(figures["days"].as_object().unwrap().len(), 1);
    }
    let text = report(&place, &[]);
    for part in [
        ": write | a file\n",
        "- Work: 1 turn, 3 steps\n",
        "- Commands: 1 (1 failed)\n",
        "- Changed: 1 file, +2 −0 lines: `a.txt`\n",
        "- Notes written: 1\n",
        "Read 1 (1 failed), Write 1\n",
        "- Tokens: 6.0k in (50% from the cache), 150 out\n",
        "- Cost: $0.0011 (gpt-5-mini $0.0011)\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // What is taken back was not changed.
    let undo = place.command(&["rewind", "--to", "1", "--files", "--yes"]).output().unwrap();
    assert!(undo.status.success(), "{}{}", stdout(&undo), stderr(&undo));
    assert!(!place.project().join("a.txt").exists());
    assert_eq!(figures(&place, &[])["total"]["files"], json!({}));
}

#[test]
fn a_killed_turn_and_a_torn_line() {
    let (place, server) = worked();
    server.push(answer().call("LS", json!({})).usage(500, 0, 5));
    server.push(silence());
    let url = server.base_url();
    let mut command = place.command(&["exec", "-c", "--base-url", &url, "--model", MODEL, "more"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    server.wait_for_requests(5);
    child.kill().unwrap();
    child.wait().unwrap();
    let log = place.log();
    fs::OpenOptions::new().append(true).open(log).unwrap().write_all(b"{\"request\":{\"ms\":17").unwrap();
    let total = &figures(&place, &[])["total"];
    assert_eq!([&total["turns"], &total["steps"], &total["tokens"]["input"]], [1, 4, 6_500], "{total}");
}

#[test]
fn a_period_takes_what_was_done_in_it() {
    let (place, _server) = worked();
    // The same session as it would be, had it been written in 2020.
    let log = place.log();
    let year_2020 = |line: &str| match line.find("\"ms\":") {
        Some(at) => {
            let rest = line[at + 5..].trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}\"ms\":1600000000000{rest}\n", &line[..at])
        }
        None => format!("{line}\n"),
    };
    let old: String = fs::read_to_string(&log).unwrap().lines().map(year_2020).collect();
    fs::write(log.with_file_name("20200913-000000-aaaa.jsonl"), old).unwrap();
    let week = figures(&place, &["--since", "7d"]);
    assert_eq!(week["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(week["total"]["steps"], 3);
    let all = figures(&place, &["--since", "2020-01-01"]);
    assert_eq!((all["sessions"].as_array().unwrap().len(), &all["total"]["steps"]), (2, &json!(6)));
    let text = report(&place, &["--since", "2020-01-01"]);
    assert!(text.starts_with("## project since 2020-01-01 00:00\n"), "{text}");
    assert!(text.contains("- Work: 2 sessions, 2 turns, 6 steps\n"), "{text}");
    assert!(text.contains("| 20200913-000000-aaaa | 3 | 6.2k | $0.0011 | write \\| a file |"), "{text}");
    assert!(text.contains("2020-09-13  ██████████████████████████████"), "{text}");
    assert!(report(&place, &["--since", "2099-01-01"]).starts_with("No activity in this period."));
    let wrong = place.command(&["report", "--since", "lunch"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("invalid period 'lunch'"), "{}", stderr(&wrong));
}

#[test]
fn stats_in_the_chat() {
    let server = FakeServer::start(vec![answer().text("Hello there.").usage(4_000, 2_000, 30).into()]);
    let place = Workplace::new();
    let url = server.base_url();
    let mut screen = Screen::start(&place, &["--base-url", &url, "--model", MODEL], 100, 40);
    screen.wait("›");
    screen.keys("/stats\r");
    screen.wait("The session is empty");
    screen.keys("hello\r");
    screen.wait("Hello there.");
    screen.keys("/stats\r");
    let shown = screen.wait("Tokens: 4.0k in (50% from the cache), 30 out");
    assert!(shown.contains("so far:") && shown.contains("1 turn, 1 step"), "{shown}");
}

/// The page about the last run, as text and as JSON.
fn page(place: &Workplace) -> (String, Value) {
    (report(place, &["--last-run"]), figures(place, &["--last-run"]))
}

#[test]
fn the_page_about_a_task() {
    let server = FakeServer::start(vec![
        answer()
            .call("Bash", json!({"command": "cargo test --offline"}))
            .call("Write", json!({"path": "a.txt", "content": "one\n"}))
            .call("Bash", json!({"command": "curl http://example.com/x"}))
            .usage(1_000, 0, 50)
            .into(),
        answer().text("Wrote it; <b>no</b> tests here.").usage(1_000, 0, 50).into(),
    ]);
    let place = Workplace::new();
    let out = place.command(&["report", "--last-run"]).output().unwrap();
    assert!(stderr(&out).contains("no run yet"), "{}", stderr(&out));
    let out = exec(&place, &server, "write | a file").output().unwrap();
    let (text, json) = page(&place);
    assert_eq!((&json["state"], &json["exit_code"]), (&json!("denied (8)"), &json!(8)), "{}", stderr(&out));
    for part in [
        "Asked: write | a file",
        "## Done",
        "Wrote it;",
        "1 file, +1",
        "Cost: $0.00",
        "`cargo test`: failed (",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let needs = json["needs_you"].to_string();
    assert!(needs.contains("1 call denied"), "{needs}");
    let id = json["session"].as_str().unwrap();
    assert!(text.contains(&format!("`mycode export {id}`")), "{text}");

    let file = place.project().join("page.html");
    report(&place, &["--last-run", "--html", "page.html"]);
    let html = fs::read_to_string(file).unwrap();
    assert!(html.contains("<h2>Needs you</h2>") && html.contains("&lt;b&gt;no"), "{html}");
    report(&place, &["--html", "page.html"]);
}

#[test]
fn the_page_about_a_goal_that_was_not_reached() {
    let server = FakeServer::start(vec![
        answer().call("Write", json!({"path": "n.txt", "content": "1"})).into(),
        answer().text("One.").into(),
        answer().text("No idea.").into(),
    ]);
    let place = Workplace::new();
    let url = server.base_url();
    let until = ["exec", "--base-url", &url, "--model", MODEL, "--until", "grep -q 3 n.txt", "make it 3"];
    assert_eq!(place.command(&until).output().unwrap().status.code(), Some(12));
    let (text, json) = page(&place);
    assert_eq!(json["state"], "no progress (12)");
    let checked = json["checked"].to_string();
    assert!(
        checked.contains("`grep -q 3 n.txt`, round 1: check failed (exit code 1); changed n.txt"),
        "{checked}"
    );
    assert!(json["failed"].to_string().contains("changed no file"), "{json}");
    assert!(text.contains("`mycode exec --resume ") && text.contains("## Needs you"), "{text}");
}

#[test]
fn the_page_about_a_batch() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("Wrote it.").usage(1_000, 0, 10));
    let both = json!({"command": "echo x > x.txt && python3 -m unittest"});
    server.on_body("good task", answer().call("Bash", both).usage(1_000, 0, 10));
    server.on_body("bad task", status(400, "{\"error\":{\"message\":\"no such thing\"}}"));
    let place = Workplace::new();
    place.file("a.txt", "a");
    let place = place.repository();
    place.file("tasks.jsonl", "\"good task\"\n\"bad task\"\n");
    let url = server.base_url();
    let each = ["exec", "--base-url", &url, "--model", MODEL, "--each", "tasks.jsonl"];
    assert_eq!(place.command(&each).output().unwrap().status.code(), Some(4));
    let (text, json) = page(&place);
    assert_eq!(json["done"], json!(["1: Wrote it."]), "{text}");
    assert!(json["failed"][0].as_str().unwrap().starts_with("2 (4): "), "{text}");
    assert!(json["checked"][0].as_str().unwrap().starts_with("1: `python3 -m unittest`"), "{text}");
    assert!(json["cost_usd"].as_f64().unwrap() > 0.0, "{text}");
    let merge = text.split('`').find(|words| words.starts_with("mycode work merge")).unwrap();
    let words: Vec<&str> = merge.split(' ').skip(1).collect();
    let out = place.command(&words).output().unwrap();
    assert!(out.status.success(), "{}", stderr(&out));
    assert!(!page(&place).0.contains("mycode work merge"), "what is merged needs nobody");
}
