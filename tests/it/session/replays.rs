//! Accountability through the real binary: stored sessions are replayed byte for byte, explained item by item, and go on
//! with what the user chose; `/context` in a real terminal.

use std::fs;

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

const DOWN: &str = "\u{1b}[B";
const ENTER: &str = "\r";
const ESC: &str = "\u{1b}";

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("a.txt", "alpha\nbeta\n".repeat(300)).file("CODE_LAW.md", "Be brief.\n");
    place
}

fn todo(status: &str) -> Value {
    json!({"summary": "s", "todos": [{"content": "look around", "status": status}]})
}

/// Two turns, in two processes, with todos and a rules file that goes in between.
fn session(place: &Workplace) -> FakeServer {
    let server = FakeServer::start(vec![
        answer().call("TodoWrite", todo("in_progress")).into(),
        answer().text("I look.").call("Read", json!({"path": "a.txt"})).into(),
        answer().call("TodoWrite", todo("completed")).into(),
        answer().text("It says alpha.").into(),
        answer().text("Still alpha.").into(),
    ]);
    assert!(place.exec(&server.base_url(), &["what does @a.txt say?"]).status.success());
    fs::remove_file(place.project().join("CODE_LAW.md")).unwrap();
    let again = place.exec(&server.base_url(), &["-c", "and now?", "--context-window", "48000"]);
    assert!(again.status.success(), "{}", stderr(&again));
    server
}

#[test]
fn replay_is_byte_exact() {
    let place = place();
    let server = session(&place);
    let log = place.log();
    assert!(fs::read_to_string(&log).unwrap().contains("\"law\":\""), "the format's own name of the rules");
    // Somewhere else, with nothing of the project.
    let elsewhere = Workplace::new();
    let copy = elsewhere.project().join("copy.jsonl");
    fs::copy(&log, &copy).unwrap();
    let dump = elsewhere.project().join("dump.jsonl");
    let args = ["replay", copy.to_str().unwrap(), "--dump", dump.to_str().unwrap()];
    let output = elsewhere.command(&args).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let table = stdout(&output);
    assert!(table.contains("5 of 5 requests match what was sent byte for byte"), "{table}");
    assert!(table.contains("new epochs: 0"), "news is appended: {table}");
    let sent: Vec<Value> = server.requests().iter().map(|request| request.body["messages"].clone()).collect();
    let made: Vec<Value> = fs::read_to_string(&dump)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["messages"].clone())
        .collect();
    assert_eq!(made, sent);
    let last = server.requests().pop().unwrap();
    assert!(last.raw.contains("no longer apply"), "{}", last.raw);
    for args in [&["replay"][..], &["replay", "-c"]] {
        assert_eq!(
            stdout(&place.command(args).output().unwrap()),
            table,
            "the last session where none is named"
        );
    }
}

#[test]
fn replay_of_changed_and_old_logs() {
    let place = place();
    drop(session(&place));
    let text = fs::read_to_string(place.log()).unwrap();
    let run = |text: &str, more: &[&str]| {
        let file = place.project().join("changed.jsonl");
        fs::write(&file, text).unwrap();
        place.command(&[&["replay", file.to_str().unwrap()], more].concat()).output().unwrap()
    };
    let forged = run(&text.replace("I look.", "I lied."), &[]);
    assert_eq!(forged.status.code(), Some(1), "{}", stdout(&forged));
    assert!(stderr(&forged).contains("request 3") && stderr(&forged).contains("#5"), "{}", stderr(&forged));
    let version = format!("\"app\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let older = run(&text.replace("I look.", "I lied.").replace(&version, "\"app\":\"0.0.0\""), &[]);
    assert!(stderr(&older).contains("was written by mycode 0.0.0"), "{}", stderr(&older));
    let other_prompt = run(&text.replacen("coding agent", "sleeping agent", 1), &[]);
    assert_eq!(other_prompt.status.code(), Some(1));
    let row = stdout(&other_prompt).lines().nth(1).unwrap().to_owned();
    assert!(row.contains("differs") && row.contains("system prompt"), "{row}");
    assert_eq!(run(&text, &["--json"]).status.code(), Some(2), "only policies are compared in JSON");
    // As an earlier version wrote it.
    let old: String = text
        .lines()
        .filter(|line| !line.starts_with("{\"sent\"") && !line.starts_with("{\"frame\""))
        .map(|line| format!("{line}\n"))
        .collect();
    let old_run = run(&old, &[]);
    assert!(old_run.status.success(), "{}", stderr(&old_run));
    assert_eq!(stdout(&old_run).matches("no hash recorded").count(), 5, "{}", stdout(&old_run));
    let policies = run(&old, &["--policy", "raw,default"]);
    assert!(policies.status.success() && stdout(&policies).contains("verbatim"), "{}", stderr(&policies));
    let requests: Vec<String> = stdout(&policies)
        .lines()
        .skip(1)
        .map_while(|line| line.split_whitespace().nth(1).map(str::to_owned))
        .collect();
    assert_eq!(requests, ["5", "5"]);
}

#[test]
fn context_command_output() {
    let place = place();
    drop(session(&place));
    let ledger = place.command(&["context", "--json"]).output().unwrap();
    let ledger: Value = serde_json::from_str(&stdout(&ledger)).unwrap();
    let rows = ledger["rows"].as_array().unwrap();
    let sum: u64 = rows.iter().map(|row| row["tokens"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), ledger["total_tokens"].as_u64());
    assert!(ledger["error_percent"].as_f64().unwrap() > 0.0);
    assert_eq!(ledger["epochs"]["requests"], 5);
    assert_eq!(ledger["window_tokens"], 48_000, "the window that the session ran with");
    let read = rows.iter().find(|row| row["origin"].as_str().unwrap().starts_with("Read a.txt")).unwrap();
    let story = place.command(&["context", "--why", read["id"].as_str().unwrap()]).output().unwrap();
    assert!(stdout(&story).contains("Read a.txt") && stdout(&story).contains("Recall"), "{}", stdout(&story));
    for nothing in ["rules", "999"] {
        let nothing = place.command(&["context", "--why", nothing]).output().unwrap();
        assert_eq!(nothing.status.code(), Some(2));
    }
}

#[test]
fn resume_keeps_the_chosen_model() {
    let place = place();
    let server = FakeServer::start((0..3).map(|n| answer().text(&format!("Answer {n}.")).into()).collect());
    let config = format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"first\"\n", server.base_url());
    fs::write(place.home().join("config.toml"), config).unwrap();
    let mut screen = Screen::start(&place, &["say hello"], 80, 24);
    screen.wait("Answer 0.");
    screen.keys("/model second\r");
    screen.wait("Model: second.");
    screen.keys("\u{4}");
    screen.end();
    let output = place.command(&["exec", "-c", "go on"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("Using second, as chosen in this session"), "{}", stderr(&output));
    // A model that is named for the run wins.
    place.command(&["exec", "-c", "--model", "third", "go on"]).output().unwrap();
    let models: Vec<Value> = server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, ["first", "second", "third"]);
    let replay = place.command(&["replay", place.log().to_str().unwrap()]).output().unwrap();
    assert!(stdout(&replay).contains("model switch [from first to second]"), "{}", stdout(&replay));
}

/// `/context` from the first look to a dropped, explained and restored item.
fn context_on_a_screen(columns: u16, rows: u16) {
    let place = place();
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().text("It says alpha.").into(),
        answer().text("I see less.").into(),
        answer().text("I see all.").into(),
    ]);
    let args = ["--base-url", &server.base_url(), "--model", "m", "read it"];
    let mut screen = Screen::start(&place, &args, columns, rows);
    screen.wait("It says alpha.");
    screen.wait("Done");
    screen.keys("/context\r");
    let shown = screen.wait_for("the list", |now| now.contains("p pin") && now.contains("Read a.txt"));
    for words in ["Context", "±", "System & tools", "Project rules", "History", "epochs", "p pin"] {
        assert!(shown.contains(words), "{words} is missing:\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= usize::from(columns)), "{shown}");
    // Down to the file: the largest items come first.
    let at = |screen: &str| screen.lines().position(|line| line.contains("▸"));
    let wanted =
        |screen: &str| screen.lines().position(|line| line.contains("#3 ") && line.contains("Read a.txt"));
    let mut shown = shown;
    for _ in 0..12 {
        if at(&shown) == wanted(&shown) {
            break;
        }
        screen.keys(DOWN);
        let before = at(&shown);
        shown = screen.wait_for("the mark moves", |now| at(now) != before);
    }
    screen.keys("d");
    screen.wait("Dropped #3: replaced by one line");
    screen.wait_for("a pointer in the list", |now| {
        now.lines().any(|line| line.contains("pointer") && line.contains("Read a.txt"))
    });
    screen.keys(ENTER);
    let story = screen.wait("drop: by the user");
    assert!(story.contains("Recall"), "{story}");
    screen.keys(ESC);
    screen.wait("p pin");
    screen.keys(ESC);
    screen.wait("Type a task");
    screen.keys("look again\r");
    screen.wait("I see less.");
    screen.keys("/context restore 3\r");
    screen.wait("Restored and pinned #3");
    screen.keys("/context why 3\r");
    screen.wait("restore: by the user");
    screen.keys("once more\r");
    screen.wait("I see all.");
    let requests = server.requests();
    let has = |number: usize| requests[number].raw.matches("beta").count() > 100;
    assert_eq!((has(1), has(2), has(3)), (true, false, true));
    screen.keys("\u{4}");
    screen.end();
    let replay = place.command(&["replay", place.log().to_str().unwrap()]).output().unwrap();
    let table = stdout(&replay);
    assert!(table.contains("4 of 4 requests match what was sent byte for byte"), "{table}");
    assert_eq!(table.matches("user drop/restore").count(), 2, "{table}");
}

#[test]
fn context_at_80_by_24() {
    context_on_a_screen(80, 24);
}

#[test]
fn context_at_200_by_50() {
    context_on_a_screen(200, 50);
}
