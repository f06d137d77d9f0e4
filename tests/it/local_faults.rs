//! What may stand in a folder: FIFOs and devices where a file is expected, names that are no text, a workspace or a log
//! that is gone or something else. Nothing waits for ever, nothing is made up, nothing steers the terminal. And what a
//! rewind owes when time has passed since.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use agent::session::conversation::Conversation;
use agent::session::reopen;
use agent::session::rewind as going;
use base::model::item::{Item, Summary, UserMessage};
use base::process::timeout;
use base::protocol::rewind::{PointId, RewindScope};
use context::rules::project_rules::ProjectRules;
use context::session::journal::recorder::Journal;
use context::session::record::CauseKind;
use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

/// Far more than anything here takes, and the end of what hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The answers of some calls in one process; none when it hangs or fails.
fn tools(place: &Workplace, calls: &[(&str, Value)]) -> Option<Vec<Value>> {
    let input: String =
        calls.iter().map(|(tool, args)| format!("{}\n", json!({"tool": tool, "args": args}))).collect();
    let output =
        timeout::ask(&mut place.command(&["tool", "-", "--permission", "full"]), input.as_bytes(), PATIENCE)?;
    Some(String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn walks_past_fifos() {
    let bad: [(&str, Option<&str>, bool); 9] = [
        (".gitignore", None, false),
        (".gitignore", Some("/dev/zero"), false),
        (".ignore", None, false),
        (".git/info/exclude", None, false),
        (".git", None, false),
        (".git/index", None, false),
        (".git/HEAD", None, false),
        ("deep/.gitignore", None, true),
        ("deep/.ignore", Some("/dev/zero"), true),
    ];
    for (name, device, closes) in bad {
        let place = Workplace::new();
        place.file("a.txt", "hello\n").file("deep/b.txt", "hello\n");
        match device {
            Some(device) => symlink(device, place.project().join(name)).unwrap(),
            None => fifo(&place.project().join(name)),
        }
        let calls = [
            ("Grep", json!({"pattern": "hello"})),
            ("Glob", json!({"pattern": "*.txt"})),
            ("LS", json!({})),
            ("Bash", json!({"command": "echo made > c.txt"})),
        ];
        let answers = tools(&place, &calls).unwrap_or_else(|| panic!("{name} is waited for"));
        let want = if closes { 1 } else { 2 };
        for (answer, total) in answers.iter().zip(["total_matches", "total"]) {
            assert_eq!(answer["data"][total], want, "{name}: {answer}");
            let told = answer["text"].as_str().unwrap().contains("1 folder could not be entered");
            assert_eq!(told, closes, "{name}: {answer}");
        }
        let script = place.home().join("script.jsonl");
        let call = json!({"calls": [{"name": "Bash", "args": {"command": "echo more > d.txt"}}]});
        fs::write(&script, format!("{call}\n{}\n", json!({"text": "done"}))).unwrap();
        let mut args = vec!["exec", "--provider", "scripted", "--permission", "full"];
        args.extend(["--script", script.to_str().unwrap(), "go"]);
        assert!(timeout::ask(&mut place.command(&args), b"", PATIENCE).is_some(), "{name} holds the journal");
        let points = stdout(&place.command(&["rewind", "--json"]).output().unwrap());
        let point: Value = serde_json::from_str(points.trim()).unwrap();
        assert_eq!(point["files"], 1, "{name}: {point}");
    }
}

#[test]
fn odd_names_round_trip() {
    let place = Workplace::new();
    let names: [&[u8]; 5] = [b"two\nlines", b"red\x1b[31m", b"not\xff\xfeutf8", b"csi\xc2\x9bm", b"plain"];
    for name in names {
        fs::write(place.project().join(OsStr::from_bytes(name)), "needle\n").unwrap();
    }
    let listings =
        [("Glob", json!({"pattern": "*"})), ("Grep", json!({"pattern": "needle"})), ("LS", json!({}))];
    let answers = tools(&place, &listings).unwrap();
    let listed = |index: usize, field: &str| answers[index]["data"][field].as_str().unwrap().to_owned();
    let mut shown: Vec<String> = listed(0, "paths").lines().map(str::to_owned).collect();
    shown.sort();
    assert_eq!(shown, ["csi\\u{9b}m", "not\u{fffd}\u{fffd}utf8", "plain", "red\\u{1b}[31m", "two\\nlines"]);
    assert_eq!(listed(1, "matches").lines().count(), 10, "{}", listed(1, "matches"));
    assert_eq!(listed(2, "entries").lines().count(), 5);
    let mut calls = Vec::new();
    for name in &shown {
        calls.push(("Read", json!({"path": name})));
        calls.push(("Edit", json!({"path": name, "old_string": "needle", "new_string": "thread"})));
    }
    tools(&place, &calls).expect("every listed name can be used");
    for name in names {
        assert_eq!(fs::read(place.project().join(OsStr::from_bytes(name))).unwrap(), b"thread\n");
    }
    assert_eq!(fs::read_dir(place.project()).unwrap().count(), names.len());
    let output = place.command(&["locate", "thread"]).output().unwrap();
    let text = stdout(&output);
    assert!(text.contains("thread") && !text.contains(['\u{1b}', '\u{9b}']), "{text:?}");
}

#[tokio::test]
async fn special_and_missing_files() {
    let bench = Bench::new();
    fifo(&bench.path("pipe"));
    for (tool, args) in [
        ("Grep", json!({"pattern": "x", "path": "pipe"})),
        ("Read", json!({"path": "pipe"})),
        ("Edit", json!({"path": "pipe", "old_string": "a", "new_string": "b"})),
        ("Write", json!({"path": "pipe", "content": "b"})),
        ("LS", json!({"path": "pipe"})),
        ("Grep", json!({"pattern": "x", "path": "/dev/zero"})),
    ] {
        let part = if args["path"] == "pipe" { "named pipe" } else { "character device" };
        assert_error(&bench.call(tool, args).await, "INVALID_PARAM", part);
    }
    // A name that only looks like an escape is a name.
    assert_ok(&bench.call("Write", json!({"path": "a\\nb", "content": "x"})).await);
    assert!(bench.path("a\\nb").is_file());
    // Two files that a list shows alike: none of them is meant.
    for name in [&b"\xff"[..], b"\xfe"] {
        fs::write(bench.root.join(OsStr::from_bytes(name)), "x").unwrap();
    }
    assert_error(&bench.read("\u{fffd}").await, "NOT_FOUND", "does not exist");
    fs::remove_dir_all(&bench.root).unwrap();
    for (tool, args) in [
        ("Write", json!({"path": "sub/new", "content": "x"})),
        ("Read", json!({"path": "pipe"})),
        ("Grep", json!({"pattern": "x"})),
        ("Glob", json!({"pattern": "*"})),
        ("LS", json!({})),
    ] {
        assert_error(&bench.call(tool, args).await, "NOT_FOUND", "no longer exists");
    }
    assert!(!bench.root.exists(), "a workspace that was deleted is not made anew");
}

#[test]
fn log_not_a_file() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![answer().text("one").into()]);
    assert!(place.exec(&server.base_url(), &["task"]).status.success());
    let log = place.log();
    let id = log.file_stem().unwrap().to_str().unwrap().to_owned();
    fs::remove_file(&log).unwrap();
    fifo(&log);
    let list = timeout::ask(&mut place.command(&["sessions"]), b"", PATIENCE).expect("sessions hangs");
    assert!(String::from_utf8(list).unwrap().contains("No sessions in this project"));
    for args in [&["context", &id][..], &["replay", &id], &["rewind", &id]] {
        let output = Command::new("timeout")
            .arg("60")
            .arg(env!("CARGO_BIN_EXE_mycode"))
            .args(args)
            .current_dir(place.project())
            .env("MYCODE_HOME", place.home())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn current_folder_is_gone() {
    let place = Workplace::new();
    let line = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" sessions";
    let output = Command::new("bash")
        .args(["-c", line, env!("CARGO_BIN_EXE_mycode")])
        .current_dir(place.project())
        .env("MYCODE_HOME", place.home())
        .output()
        .unwrap();
    let says = stderr(&output);
    assert!(says.contains("can't open the current folder") && says.contains("change to a folder"), "{says}");
    assert_eq!(output.status.code(), Some(2), "{says}");
}

#[test]
fn unreadable_rules() {
    let place = Workplace::new();
    let root = place.project();
    let text = || {
        let mut rules = ProjectRules::default();
        rules.refresh(&root);
        rules.part().map(|part| part.content.to_string()).unwrap_or_default()
    };
    fs::create_dir(root.join("code_law.md")).unwrap();
    place.file("AGENTS.md", "a real rule");
    assert!(text().contains("a real rule"), "a folder of that name is no rules file");
    fs::remove_file(root.join("AGENTS.md")).unwrap();
    fifo(&root.join("AGENTS.md"));
    assert_eq!(text(), "");
    fs::remove_file(root.join("AGENTS.md")).unwrap();
    // A link out of the project, to what opens and cannot be read.
    symlink("/proc/self/mem", root.join("AGENTS.md")).unwrap();
    if Path::new("/proc/self/mem").exists() {
        assert!(text().contains("left out") && text().contains("The user has been notified"), "{}", text());
    } else {
        eprintln!("skipped: no /proc here");
    }
}

#[test]
fn points_and_restored_files() {
    let place = Workplace::new();
    place.file("a", "one\n");
    let server = FakeServer::start(vec![
        answer().text("only words").into(),
        answer().call("Bash", json!({"command": "echo two > a"})).into(),
        answer().text("changed").into(),
        answer().text("good").into(),
        answer().text("again").into(),
    ]);
    let url = server.base_url();
    assert!(place.exec(&url, &["just talk"]).status.success());
    assert!(place.exec(&url, &["-c", "--permission", "full", "change a"]).status.success());
    let points: Vec<Value> = stdout(&place.command(&["rewind", "--json"]).output().unwrap())
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(points.len(), 2);
    assert!(points.iter().all(|point| point["ms"].as_u64().unwrap() > 0), "{points:?}");
    let name = points[0]["name"].as_str().unwrap();
    let done = place.command(&["rewind", "--to", name, "--files", "--yes"]).output().unwrap();
    assert!(done.status.success() && place.text("a") == "one\n", "{}", stderr(&done));
    assert!(place.exec(&url, &["-c", "go on"]).status.success());
    assert!(place.exec(&url, &["-c", "and on"]).status.success());
    let told: Vec<usize> = server
        .requests()
        .iter()
        .map(|request| request.body.to_string().matches("to an earlier state: a.").count())
        .collect();
    // Once, and from then on as a part of the history.
    assert_eq!(told[told.len() - 2..], [1, 1], "{told:?}");
}

fn rewind(conversation: &mut Conversation, journal: &Journal, to: PointId, scope: RewindScope) {
    let task = going::RewindTask::new(conversation, &journal.lines(), to, scope, false).unwrap();
    let files = task.restore_files(journal).unwrap();
    task.finish(conversation, files).unwrap();
}

#[test]
fn archived_turns_after_rewind() {
    let folder = tempfile::tempdir().unwrap();
    let (state, root) = (folder.path().join("state"), folder.path().join("work"));
    fs::create_dir(&root).unwrap();
    let root = root.canonicalize().unwrap();
    let mut conversation = Conversation::new(&state, &root);
    let journal = Journal::new(&state, &root);
    journal.open(&conversation.id);
    let mut rounds = Vec::new();
    for number in 0..4 {
        let message = UserMessage::new(&format!("task {number}"));
        let id = conversation.record(Item::User(message)).unwrap().0;
        conversation.state.history.end_turn();
        journal.begin_turn(id.0, &format!("task {number}"));
        let path = root.join(format!("f{number}"));
        journal.before_write("Write", &path, &[], None, Some(b"x\n"));
        fs::write(&path, "x\n").unwrap();
        rounds.push(id);
    }
    conversation
        .archive(
            rounds[2],
            Summary { text: Arc::from("the first two"), state: Value::Null },
            CauseKind::Compaction,
        )
        .unwrap();
    let names = |conversation: &Conversation| -> Vec<PointId> {
        going::points(conversation, &journal.lines()).into_iter().map(|point| point.id).collect()
    };
    let turn = |number: usize| PointId::Turn(rounds[number]);
    assert_eq!(names(&conversation), [turn(3), turn(2), turn(1), turn(0)]);
    rewind(&mut conversation, &journal, turn(3), RewindScope::Both);
    assert_eq!(names(&conversation), [PointId::Rewind(1), turn(2), turn(1), turn(0)]);
    // What was taken out is no point, even when everything that is left lies in a summary.
    let message = UserMessage::new("task 4");
    let last = conversation.record(Item::User(message)).unwrap().0;
    conversation
        .archive(last, Summary { text: Arc::from("all"), state: Value::Null }, CauseKind::Compaction)
        .unwrap();
    let points = names(&conversation);
    assert!(
        points.contains(&turn(0)) && points.contains(&turn(2)) && !points.contains(&turn(3)),
        "{points:?}"
    );
    // From the log the same comes out.
    let log = conversation.log_path();
    drop(conversation);
    let again = reopen::restore(&state, &root, &log).unwrap().conversation;
    assert_eq!(names(&again), points);
    rewind(&mut { again }, &journal, turn(0), RewindScope::Files);
    assert!(!root.join("f0").exists() && !root.join("f2").exists());
}
