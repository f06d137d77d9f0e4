//! Sessions that were begun in other agents go on here. The fixtures are what Claude Code 2.1.197, Codex CLI 0.169.0, Gemini
//! CLI 0.61.0 and opencode 1.18.33 wrote in a sample project against a fake server, shortened.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use records::import::peers::list::PEERS;
use records::import::write;
use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn fixture(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imports").join(name))
        .unwrap()
}

/// A user's home with the session of each agent in its place, all of this project.
fn place() -> Workplace {
    let place = Workplace::new();
    let project = place.project().to_string_lossy().into_owned();
    let dashes: String = project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let put = |file: &str, name: &str| {
        let path = place.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, fixture(file).replace("/work/project", &project)).unwrap();
    };
    put("claude.jsonl", &format!(".claude/projects/{dashes}/9e21d965.jsonl"));
    put("codex.jsonl", ".codex/sessions/2026/11/22/rollout-2026-11-22T18-45-37-01a20493.jsonl");
    put("gemini.jsonl", ".gemini/tmp/project/chats/session-2026-11-22T18-42-613bcb26.jsonl");
    fs::write(place.home().join(".gemini/tmp/project/.project_root"), &project).unwrap();
    put("opencode.json", "opencode.json");
    place
}

fn command(place: &Workplace, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command.env("HOME", place.home());
    command
}

fn imported(place: &Workplace, args: &[&str]) -> String {
    let output = command(place, args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output).trim().to_owned()
}

/// Puts an exported session into a store such as opencode 1.18.33 makes.
const STORE: &str = "
import json, os, sqlite3, sys
whole = json.load(open(sys.argv[1]))
os.makedirs(sys.argv[2])
store = sqlite3.connect(sys.argv[2] + '/opencode.db')
store.executescript('pragma journal_mode = wal; create table session (id, parent_id, directory, title, revert, time_updated); \
    create table message (id, session_id, data); create table part (id, message_id, session_id, data)')
info = whole['info']
store.execute('insert into session values (?, null, ?, ?, null, 5)', (info['id'], info['directory'], info['title']))
for number, message in enumerate(whole['messages']):
    id = message['info'].pop('id')
    store.execute('insert into message values (?, ?, ?)', (id, info['id'], json.dumps(message['info'])))
    for order, part in enumerate(message['parts']):
        row = (f'prt_{number:04}{order:04}', id, info['id'], json.dumps(part))
        store.execute('insert into part values (?, ?, ?, ?)', row)
store.commit()
";

#[test]
fn opencode_without_its_program() {
    let contents = |args: &[&str]| {
        let place = place();
        let mut store = Command::new("python3");
        store.args(["-c", STORE]).arg(place.home().join("opencode.json"));
        let made = store.arg(place.home().join(".local/share/opencode")).status();
        if !made.is_ok_and(|made| made.success()) {
            return Vec::new();
        }
        let nothing = command(&place, args).env("PATH", place.home()).output().unwrap();
        assert_eq!(stderr(&nothing).contains("database can't be read"), args.contains(&"--last"));
        imported(&place, args);
        let log = fs::read_to_string(place.log()).unwrap();
        let log = log.replace(&*place.project().to_string_lossy(), "/project");
        log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["item"]["item"].take()).collect()
    };
    let of_store = contents(&["import", "opencode", "--last"]);
    assert_eq!(of_store, contents(&["import", "opencode", "../home/opencode.json"]));
    if of_store.is_empty() {
        eprintln!("skipped: no python3 to make a store with");
    }
}

const IMPORTS: [&[&str]; 4] = [
    &["import", "claude", "--last"],
    &["import", "codex", "--last"],
    &["import", "gemini", "--last"],
    &["import", "opencode", "../home/opencode.json"],
];

#[test]
fn a_session_goes_on_in_every_dialect() {
    for import in IMPORTS {
        for dialect in ["chat", "messages", "responses"] {
            let place = place();
            let id = imported(&place, import);
            let server = FakeServer::start(vec![answer().text("Going on.").into()]);
            let url = server.base_url();
            let model = if dialect == "messages" { "claude-opus-5.5" } else { "gpt-6.1-terra" };
            let mut args = vec!["exec", "--resume", &id, "--model", model, "--base-url", &url];
            match dialect {
                "messages" => args.extend(["--provider", "anthropic"]),
                "chat" => args[4] = "test-model",
                _ => {}
            }
            args.push("go on");
            let output = command(&place, &args)
                .env("OPENAI_API_KEY", "k")
                .env("ANTHROPIC_API_KEY", "k")
                .output()
                .unwrap();
            assert!(output.status.success(), "{import:?} {dialect}: {}", stderr(&output));
            assert_eq!(server.refusals(), Vec::<String>::new(), "{import:?} {dialect}");
            let body = server.requests()[0].body.to_string();
            assert!(body.contains("go on"), "{body}");
            for foreign in ["EqFAKESIG", "gAAAAfake"] {
                assert!(!body.contains(foreign), "{import:?} {dialect}");
            }
            let wanted = match import[1] {
                "claude" => "This session is being continued",
                "codex" => "Another language model started",
                _ => "T1: fix the greeting",
            };
            assert!(body.contains(wanted), "{import:?} {dialect}: {body}");
        }
    }
}

/// The records of a fixture.
fn items(peer: &str, name: &str) -> Vec<Value> {
    let place = Workplace::new();
    place.file(name, fixture(name));
    let read = PEERS.iter().find(|known| known.name == peer).unwrap().read;
    let told = read(&place.project().join(name)).unwrap();
    assert_eq!(told.unknown, 0, "{name}");
    write::records(&told, false).iter().map(|record| json!(record)).collect()
}

/// The calls with the data of their results.
fn calls(peer: &str, name: &str) -> Vec<(String, Value)> {
    let records = items(peer, name);
    let results = records.iter().map(|record| &record["item"]["item"]["tool_result"]);
    results
        .filter(|result| result.is_object())
        .map(|result| (result["tool"].as_str().unwrap().to_owned(), result["envelope"]["data"].clone()))
        .collect()
}

#[test]
fn calls_at_the_same_time_are_kept_and_said_in_our_words() {
    for (peer, name) in [
        ("claude", "claude.jsonl"),
        ("codex", "codex.jsonl"),
        ("gemini", "gemini.jsonl"),
        ("opencode", "opencode.json"),
    ] {
        let calls = calls(peer, name);
        let of = |tool: &str| calls.iter().find(|(name, _)| name == tool).map(|(_, data)| data);
        if peer == "codex" {
            assert!(of("Edit").is_some(), "{calls:?}");
            assert_eq!(of("Bash").unwrap()["exit_code"], 0);
            assert!(calls.iter().any(|(_, data)| data["exit_code"] == 1), "{calls:?}");
        } else {
            let path = of("Read").unwrap()["path"].as_str().unwrap();
            assert_eq!(path, "hello.txt", "{peer}");
            assert!(of("Grep").is_some() && of("Write").is_some(), "{peer}: {calls:?}");
        }
    }
}

#[test]
fn what_was_summarized_stays_in_the_log() {
    let records = items("claude", "claude.jsonl");
    let archive = records.iter().find(|record| record["archive"].is_object()).unwrap();
    assert!(archive["archive"]["summary"]["text"].as_str().unwrap().contains("being continued"));
    // The message that the compaction kept word for word is behind the cut.
    let before = archive["archive"]["before"].as_u64().unwrap();
    let kept = records.iter().find(|record| record["item"]["id"] == before).unwrap();
    assert_eq!(kept["item"]["item"]["assistant"]["text"], "A helper looked around; notes.txt written.");
    assert!(records.iter().any(|record| record["item"]["item"]["image"]["width"] == 16));
}

#[test]
fn a_list_is_printed_and_secrets_and_torn_lines_stay_out() {
    let place = place();
    let project = place.project().to_string_lossy().into_owned();
    let listed = imported(&place, &["import", "codex"]);
    assert!(listed.contains("T1: fix the greeting"), "{listed}");
    let key = "sk-ant-api03-aVeryLongKeyThatNobodyShouldEverSee0123456789abcdefghijkl";
    let text = format!(
        "{}{{\"type\":\"brand-new\",\"x\":1}}\n{}\n{{\"type\":\"user\",\"uu",
        fixture("claude.jsonl").replace("/work/project", &project),
        json!({"type": "user", "uuid": "u9", "parentUuid": null, "message": {"role": "user", "content": format!("use {key}")}})
    );
    place.file("session.jsonl", text);
    let output = command(&place, &["import", "claude", "session.jsonl"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 lines could not be read and were left out"), "{}", stderr(&output));
    let log = fs::read_to_string(place.log()).unwrap();
    assert!(log.contains(r#""origin":{"agent":"claude""#) && !log.contains(key), "{log}");
    for (args, wanted) in [
        (vec!["import", "aider"], "claude, codex, gemini, opencode"),
        (vec!["import", "codex", "nope"], "has no session nope"),
        (vec!["import", "claude", "--last", "--cd", "/"], "has no sessions in /"),
    ] {
        let output = command(&place, &args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
    }
}

#[test]
fn past_sessions_are_priced() {
    let place = place();
    let table = imported(&place, &["replay", "--from", "codex"]);
    assert!(
        table.starts_with("gpt-5.5: 1 session, ") && !table.contains("without recorded usage"),
        "{table}"
    );
    for row in ["in Codex CLI", "mycode, high"] {
        let row = table.lines().find(|line| line.starts_with(row)).unwrap();
        assert_eq!(row.matches('$').count(), 2, "{row}");
        assert!(!row.contains(" $0.00"), "{row}");
    }
    let table = imported(&place, &["replay", "--from", "claude"]);
    for wanted in ["in Claude Code", "mycode, eco", "Assumes that", "#"] {
        assert!(table.contains(wanted), "{table}");
    }
    fs::remove_dir_all(place.home().join(".codex")).unwrap();
    let none = imported(&place, &["replay", "--from", "codex", "--since", "30d"]);
    assert_eq!(none, "No Codex CLI sessions with an answer were found since 30d.");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Lines cut, repeated, and mixed among the agents: whatever stands there, it is read to the end.
    #[test]
    fn arbitrary_lines_do_no_harm(picks in prop::collection::vec((0usize..4, 0usize..400, 0usize..2000, any::<bool>()), 0..60)) {
        let files: Vec<Vec<String>> = ["claude.jsonl", "codex.jsonl", "codex-exec.jsonl", "gemini.jsonl"]
            .iter().map(|name| fixture(name).lines().map(str::to_owned).collect()).collect();
        let mut text = String::new();
        for (file, line, cut, whole) in picks {
            let line = &files[file][line % files[file].len()];
            let end = if whole { line.len() } else { (0..=cut.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap() };
            text.push_str(&line[..end]);
            text.push('\n');
        }
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("x.jsonl");
        fs::write(&path, text).unwrap();
        for peer in PEERS {
            if let Ok(told) = (peer.read)(&path) {
                write::records(&told, true);
                write::records(&told, false);
            }
        }
    }
}
