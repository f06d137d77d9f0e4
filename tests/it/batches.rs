//! `mycode exec --each` through the binary: worktrees and copies, kills and interrupts anywhere, parts, and mistakes that are
//! said before anything runs.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::answer::{Answer, answer, silence, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn batch(place: &Workplace, server: &FakeServer, args: &[&str]) -> Command {
    let url = server.base_url();
    let mut all = vec!["exec", "--base-url", &url, "--model", "gpt-5-mini", "--each", "tasks.jsonl"];
    all.extend(args);
    let mut command = place.command(&all);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(place: &Workplace, server: &FakeServer, args: &[&str]) -> Output {
    batch(place, server, args).output().unwrap()
}

fn writes(file: &str) -> Answer {
    answer().call("Write", json!({"path": file, "content": "text\n"})).usage(1_000, 0, 10)
}

/// Whole lines only.
fn results(place: &Workplace, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.project().join(file)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn ids(results: &[Value]) -> Vec<&str> {
    let mut ids: Vec<&str> = results.iter().map(|line| line["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids
}

fn repository() -> Workplace {
    let place = Workplace::new();
    place.file("README.md", "# Sample\n").file("part/lib.rs", "// x\n");
    place.repository()
}

/// Three tasks, of which each writes a file of its own.
fn three(place: &Workplace) {
    place.file(
        "tasks.jsonl",
        "\"alpha task\"\n\n{\"prompt\": \"beta task\", \"id\": \"b\"}\n{\"prompt\": \"gamma task, password=hunter2Zq\", \"dir\": \"part\"}\n",
    );
}

#[test]
fn each_task_on_a_branch_of_its_own() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("Wrote it.").usage(1_000, 500, 10));
    for (task, file) in [("alpha", "a.txt"), ("beta", "b.txt"), ("gamma", "c.txt")] {
        server.on_body(&format!("{task} task"), writes(file));
    }
    let place = repository();
    three(&place);
    let output = run(&place, &server, &["--jobs", "2"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let lines = results(&place, "tasks.results.jsonl");
    assert_eq!(ids(&lines), ["1", "4", "b"]);
    for line in &lines {
        assert_eq!((&line["exit_code"], &line["answer"]), (&json!(0), &json!("Wrote it.")), "{line}");
        let cost = line["cost_usd"].as_f64().unwrap();
        assert!((cost - (1_500.0 * 0.25 + 500.0 * 0.025 + 20.0 * 2.0) / 1e6).abs() < 1e-9, "{line}");
        let branch = line["branch"].as_str().unwrap();
        let file = place.git(&["diff", "--name-only", "main", branch]);
        assert!(!place.git(&["log", "-1", "--format=%B", branch]).contains("hunter2"), "{branch}");
        let (file, shown) = match line["id"].as_str().unwrap() {
            "1" => (file, "a.txt"),
            "b" => (file, "b.txt"),
            _ => (file.trim_start_matches("part/").to_owned(), "c.txt"),
        };
        assert_eq!((file.trim(), &line["changed"]), (shown, &json!([shown])), "{line}");
    }
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(place.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    assert!(!place.project().join("a.txt").exists());
    assert_eq!(server.requests().len(), 6);
    let again = run(&place, &server, &["--jobs", "2"]);
    assert!(again.status.success() && stderr(&again).contains("3 of 3 tasks have a result already"));
    assert_eq!(server.requests().len(), 6, "what has a result is not run again");
}

#[test]
fn work_that_was_committed_elsewhere_is_on_the_tasks_branch() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("Done."));
    let ident = "git -c user.name=a -c user.email=a@b";
    for (task, command) in [
        (
            "alpha",
            format!("git checkout -qb feature/a && echo a > a.txt && git add -A && {ident} commit -qm a"),
        ),
        ("beta", format!("git checkout -q --detach && echo b > a.txt && git add -A && {ident} commit -qm b")),
        ("gamma", "git checkout -q --detach && echo c > a.txt".to_owned()),
    ] {
        server.on_body(&format!("{task} task"), answer().call("Bash", json!({"command": command})));
    }
    let place = repository();
    three(&place);
    let output = run(&place, &server, &[]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    for line in results(&place, "tasks.results.jsonl") {
        let branch = line["branch"].as_str().unwrap_or_else(|| panic!("{line}"));
        let files = place.git(&["diff", "--name-only", "main", branch]);
        assert!(files.contains("a.txt"), "{line}: {files}");
    }
}

#[test]
fn a_cost_limit_holds_for_the_whole_batch() {
    let server =
        FakeServer::start((0..3).map(|_| answer().text("Done.").usage(1_000, 0, 100_000).into()).collect());
    let place = repository();
    three(&place);
    // Each task costs 20 cents: the second reaches the limit, and the third doesn't begin.
    let output = run(&place, &server, &["--max-cost", "0.3"]);
    let said = stderr(&output);
    assert_eq!((output.status.code(), server.left()), (Some(6), 1), "{said}");
    assert!(said.contains("$0.40 of $0.30 are spent, and 2 of 3 tasks have a result"), "{said}");
    let page = stdout(&place.command(&["report", "--last-run"]).output().unwrap());
    for part in ["cost limit (6)", "3 tasks, at most $0.30 in all", "with a higher --max-cost continues it"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // What was spent before counts.
    let output = run(&place, &server, &["--max-cost", "0.4"]);
    assert_eq!((output.status.code(), server.left()), (Some(6), 1), "{}", stderr(&output));
    let output = run(&place, &server, &["--max-cost", "0.7"]);
    assert_eq!((output.status.code(), server.left()), (Some(0), 0), "{}", stderr(&output));
    assert_eq!(ids(&results(&place, "tasks.results.jsonl")), ["1", "4", "b"]);
}

#[test]
fn a_kill_anywhere_repeats_nothing_that_is_done() {
    for tree in [true, false] {
        let server = FakeServer::start(vec![
            writes("a.txt").into(),
            answer().text("One.").into(),
            writes("b.txt").into(),
            silence(),
        ]);
        let place = if tree { repository() } else { Workplace::new() };
        place.file("part/x", "");
        three(&place);
        let mut child = batch(&place, &server, &[]).spawn().unwrap();
        server.wait_for_requests(4);
        child.kill().unwrap();
        child.wait().unwrap();
        // The task at work is gone with it.
        server.wait_for_hang_ups(1);
        let file = place.project().join("tasks.results.jsonl");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        fs::write(&file, format!("{text}{{\"id\":\"b\",\"exit")).unwrap();
        for text in ["Two.", "Three."] {
            server.push(answer().text(text));
        }
        let output = run(&place, &server, &["--json"]);
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        let requests = server.requests();
        assert_eq!(requests.len(), 6);
        let continued = requests[4].body["messages"].to_string();
        assert!(
            continued.contains("beta task") && continued.contains("The run was interrupted"),
            "{continued}"
        );
        assert_eq!(continued.matches("\"tool_call_id\"").count(), 1, "{continued}");
        let lines = results(&place, "tasks.results.jsonl");
        assert_eq!(ids(&lines), ["1", "4", "b"]);
        let shown: Vec<Value> =
            stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(shown, lines[1..]);
        assert_eq!(lines[1]["changed"], json!(["b.txt"]), "both runs count");
        // Only the last line is missing: the task has ended, and nothing is asked again.
        let text = fs::read_to_string(&file).unwrap();
        let end = text.trim_end().rfind('\n').unwrap() + 1;
        fs::write(&file, &text[..end]).unwrap();
        assert!(run(&place, &server, &[]).status.success());
        assert_eq!(server.requests().len(), 6);
        assert_eq!(results(&place, "tasks.results.jsonl")[2]["answer"], "Three.");
    }
}

#[test]
fn an_interrupt_says_how_to_go_on() {
    let server = FakeServer::start(vec![answer().text("One.").into(), silence()]);
    let place = Workplace::new();
    // Longer than an argument can be.
    let long = "long ".repeat(40_000);
    place.file("tasks.jsonl", format!("\"alpha {long}\"\n\"beta\"\n\"gamma\"\n"));
    let child = batch(&place, &server, &[]).spawn().unwrap();
    server.wait_for_requests(2);
    let second = run(&place, &server, &[]);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("another batch writes its results"), "{}", stderr(&second));
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("1 of 3 tasks have a result") && said.contains("run the same command again"),
        "{said}"
    );
    for text in ["Two.", "Three."] {
        server.push(answer().text(text));
    }
    let output = run(&place, &server, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(ids(&results(&place, "tasks.results.jsonl")), ["1", "2", "3"]);
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn one_failure_hurts_no_other() {
    let server = FakeServer::start(vec![]);
    server.on_body("task two", status(400, "{\"error\":{\"message\":\"no such thing\"}}"));
    server.on_body("task", answer().text("Good."));
    let place = Workplace::new();
    place.file("tasks.jsonl", "\"task one\"\n\"task two\"\n\"task three\"\n");
    let output = run(&place, &server, &["--copy", "--jobs", "3"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 tasks done, 1 failed"), "{}", stderr(&output));
    let lines = results(&place, "tasks.results.jsonl");
    let failed = lines.iter().find(|line| line["id"] == "2").unwrap();
    assert_eq!(failed["exit_code"], 4);
    assert!(failed["error"].as_str().unwrap().contains("no such thing"), "{failed}");
    assert_eq!(run(&place, &server, &["--copy"]).status.code(), Some(4));
    assert_eq!(server.requests().len(), 3, "a failed task has a result, too");
    let mended = FakeServer::start(vec![answer().text("Now.").into()]);
    let output = run(&place, &mended, &["--copy", "--again"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(results(&place, "tasks.results.jsonl").len(), 4);
}

#[test]
fn a_line_that_moved_keeps_its_result() {
    let server = FakeServer::start(vec![]);
    server.on_body("task", answer().text("Good."));
    let place = Workplace::new();
    place.file("tasks.jsonl", "\"task one\"\n\"task two\"\n");
    assert!(run(&place, &server, &["--copy"]).status.success());
    place.file("tasks.jsonl", "\"task zero\"\n\"task one\"\n\"task two\"\n");
    for _ in 0..2 {
        let output = run(&place, &server, &["--copy"]);
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        let requests = server.requests();
        assert_eq!((requests.len(), requests[2].raw.contains("task zero")), (3, true), "{}", stdout(&output));
    }
}

#[test]
fn a_failed_check_is_no_quiet_success() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("All tests pass."));
    server.on_body("task", answer().call("Bash", json!({"command": "python3 -m unittest no_such_test"})));
    let place = Workplace::with_nudges();
    place.file("tasks.jsonl", "\"task one\"\n");
    let output = run(&place, &server, &[]);
    assert!(stdout(&output).contains("1  done  [failed check]"), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(results(&place, "tasks.results.jsonl")[0]["facts"], json!(["failed_check"]));
    let page = stdout(&place.command(&["report", "--last-run"]).output().unwrap());
    assert!(page.contains("- 1 ended with: failed check\n"), "{page}");
}

#[test]
fn an_outage_uses_up_no_task() {
    let away = FakeServer::start(vec![]);
    away.on_body("task", status(503, "{\"error\":{\"message\":\"away\"}}"));
    let place = repository();
    place.file("tasks.jsonl", "\"task one\"\n\"task two\"\n\"task three\"\n");
    let output = run(&place, &away, &["--wait", "1s"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(
        said.contains("Paused: ") && said.contains("; waiting since 20") && said.contains(", until 20"),
        "{said}"
    );
    assert!(said.contains("0 of 3 tasks have a result"), "{said}");
    assert!(results(&place, "tasks.results.jsonl").is_empty());
    assert!(
        away.requests().iter().all(|request| request.raw.contains("task one")),
        "the others were not begun"
    );
    let back = FakeServer::start(vec![]);
    back.on_body("task", answer().text("Good."));
    let output = run(&place, &back, &[]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(results(&place, "tasks.results.jsonl").len(), 3);
}

#[test]
fn tasks_from_a_pipe() {
    let server = FakeServer::start(vec![answer().text("Good.").into()]);
    let place = Workplace::new();
    let url = server.base_url();
    let args = ["exec", "--base-url", &url, "--model", "gpt-5-mini", "--each", "-"];
    let output = place.command(&args).output().unwrap();
    assert!(stderr(&output).contains("needs --results FILE"), "{}", stderr(&output));
    let mut command = place.command(&[&args[..], &["--results", "done.jsonl"]].concat());
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\"the task\"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(ids(&results(&place, "done.jsonl")), ["1"]);
}

#[test]
fn parts_for_schedulers_and_copies() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("Wrote it."));
    server.on_body("task", writes("new.txt"));
    let place = Workplace::new();
    place.file("seed.txt", "seed").file("tasks.jsonl", "\"task 1\"\n\"task 2\"\n\"task 3\"\n");
    for (part, expected) in [("1/2", vec!["1", "3"]), ("2/2", vec!["2"])] {
        let output = run(&place, &server, &["--copy", "--only", part, "--jobs", "2"]);
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        let lines = results(&place, &format!("tasks.results.{}.jsonl", part.replace('/', "-of-")));
        assert_eq!(ids(&lines), expected);
        for line in lines {
            let folder = PathBuf::from(line["folder"].as_str().unwrap());
            assert_eq!(fs::read_to_string(folder.join("new.txt")).unwrap(), "text\n");
            assert_eq!(fs::read_to_string(folder.join("seed.txt")).unwrap(), "seed");
        }
    }
    assert!(!place.project().join("new.txt").exists());
    let wrong = run(&place, &server, &["--only", "3/2"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn mistakes_are_said_before_anything_runs() {
    let server = FakeServer::start(vec![]);
    let refused = |place: &Workplace, tasks: &str, args: &[&str], said: &str, code: i32| {
        place.file("tasks.jsonl", tasks);
        let output = run(place, &server, args);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{said} is not in {}", stderr(&output));
        assert!(results(place, "tasks.results.jsonl").is_empty());
    };
    let place = Workplace::new();
    refused(&place, "\"ok\"\n{\"promt\": \"x\"}\n", &[], "tasks.jsonl:2: unknown field `promt`", 2);
    refused(&place, "{\"prompt\": \"x\", \"id\": \"../x\"}\n", &[], "the id '../x' may only have", 2);
    refused(&place, "{\"prompt\": \"x\", \"dir\": \"../\"}\n", &[], "points outside this folder", 2);
    refused(&place, "{\"prompt\": \"x\", \"dir\": \"none\"}\n", &[], "isn't a folder", 2);
    refused(&place, "{\"prompt\": \"x\", \"id\": \"2\"}\n\"y\"\n", &[], "the id 2 is taken", 2);
    refused(&place, "\"x\"\n\"y\"\n", &["--jobs", "2"], "at the same time", 2);
    let place = Workplace::new();
    place.git(&["init", "-q"]);
    refused(&place, "\"x\"\n", &[], "has no commit yet", 1);
    // Nothing that all tasks lack is a result of one.
    let place = Workplace::new();
    refused(
        &place,
        "\"x\"\n\"y\"\n",
        &["--provider", "scripted", "--script", "none"],
        "task 1 can't start: ",
        3,
    );
    assert!(server.requests().is_empty());
}

#[test]
fn a_worktree_begins_with_what_is_not_committed() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("Done."));
    let both = json!({"command": "cat README.md draft.rs && echo more >> draft.rs"});
    server.on_body("task", answer().call("Bash", both));
    let place = repository();
    place.file("README.md", "changed\n").file("draft.rs", "draft\n").file("tasks.jsonl", "\"the task\"\n");
    let output = run(&place, &server, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(server.requests()[1].raw.contains("changed\\ndraft"), "{}", server.requests()[1].raw);
    let lines = results(&place, "tasks.results.jsonl");
    let branch = lines[0]["branch"].as_str().unwrap();
    let diff = place.command(&["work", "diff", branch]).output().unwrap();
    assert!(stdout(&diff).contains("+more") && !stdout(&diff).contains("changed"), "{}", stdout(&diff));
    assert_eq!(place.git(&["status", "--porcelain"]).lines().count(), 4, "the files are as they were");
}

#[test]
fn a_worktree_has_the_trust_of_its_project() {
    let server = FakeServer::start(vec![answer().text("Done.").into(), answer().text("Done.").into()]);
    let place = repository();
    place.file(".mycode/agents/porter.md", "---\nname: porter\ndescription: carries things\n---\nCarry.\n");
    place.git(&["add", "."]);
    place.git(&["commit", "-qm", "agent"]);
    place.file("tasks.jsonl", "\"one\"\n");
    let knows =
        |request: usize| server.requests()[request].body["tools"].to_string().contains("carries things");
    assert!(run(&place, &server, &[]).status.success());
    assert!(!knows(0), "nobody trusts it");
    assert!(place.command(&["trust"]).output().unwrap().status.success());
    let output = run(&place, &server, &["--results", "again.jsonl"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(knows(1), "the trusted text is the same there");
}

#[test]
fn a_worktree_has_the_rules_of_its_project() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("Done."));
    server.on_body("task", answer().call("Bash", json!({"command": "touch made.txt"})));
    let place = repository();
    place.file("tasks.jsonl", "\"the task\"\n");
    let doctor = stdout(&place.command(&["doctor"]).output().unwrap());
    let state = PathBuf::from(doctor.lines().find_map(|line| line.strip_prefix("state")).unwrap().trim());
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("permissions.toml"), "[permissions]\nallow = [\"Bash(touch made.txt)\"]\n").unwrap();
    let output = run(&place, &server, &["--permission", "ask"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let lines = results(&place, "tasks.results.jsonl");
    assert_eq!(
        place.git(&["diff", "--name-only", "main", lines[0]["branch"].as_str().unwrap()]).trim(),
        "made.txt"
    );
}
