//! `mycode build` through the binary: the stages and their files, pauses, a kill between any two of them, reviews that find
//! something.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::answer::{Answer, answer, silence};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

pub const SPEC: &str = "# A greeting\n1. `hello.txt` greets.";
pub const PLAN: &str =
    "Simple.\n\n- [ ] 1. write hello.txt (files: hello.txt) (after: none)\n- [ ] 2. write bye.txt (after: 1)";

pub fn build(place: &Workplace, server: &FakeServer, args: &[&str]) -> Command {
    let url = server.base_url();
    let mut all = vec!["build", "--base-url", &url, "--model", "m"];
    all.extend(args);
    place.command(&all)
}

pub fn run(place: &Workplace, server: &FakeServer, args: &[&str]) -> Output {
    build(place, server, args).output().unwrap()
}

pub fn writes(file: &str, text: &str) -> Answer {
    answer().call("Write", json!({"path": file, "content": text}))
}

pub fn runs(command: &str) -> Answer {
    answer().call("Bash", json!({"command": command}))
}

pub fn passes(summary: &str) -> Answer {
    answer().text(&json!({"verdict": "pass", "summary": summary, "findings": []}).to_string())
}

fn fails(path: &str, line: usize, problem: &str) -> Answer {
    let findings = json!([{"path": path, "line": line, "problem": problem}]);
    answer().text(&json!({"verdict": "fail", "findings": findings}).to_string())
}

/// The build's folder.
pub fn folder(place: &Workplace) -> PathBuf {
    let builds = fs::read_dir(place.project().join(".mycode/builds")).unwrap();
    let mut folders: Vec<PathBuf> =
        builds.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.pop().unwrap()
}

pub fn text(place: &Workplace, file: &str) -> String {
    fs::read_to_string(folder(place).join(file)).unwrap_or_default()
}

pub fn said(body: &Value) -> String {
    body["messages"].to_string()
}

pub fn coding() -> Vec<crate::support::answer::Reply> {
    vec![
        writes("hello.txt", "hello").into(),
        answer().text("Wrote `hello.txt:1`.").into(),
        writes("bye.txt", "bye").into(),
        answer().text("Wrote `bye.txt:1`.").into(),
    ]
}

pub fn whole() -> Vec<crate::support::answer::Reply> {
    let mut replies = vec![answer().text(SPEC).into(), answer().text(PLAN).into()];
    replies.extend(coding());
    replies.push(passes("All holds.").into());
    replies
}

#[test]
fn a_build_from_task_to_report() {
    let server = FakeServer::start(whole());
    let place = Workplace::new();
    place.file("README.md", "# Sample\n");
    let output = run(&place, &server, &["greet the user"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(text(&place, "task.md"), "greet the user\n");
    assert_eq!(text(&place, "spec.md").trim(), SPEC);
    assert_eq!(text(&place, "plan.md").matches("- [x]").count(), 2);
    assert_eq!(text(&place, "subtasks/2.md"), "Wrote `bye.txt:1`.\n");
    assert_eq!((place.text("hello.txt"), place.text("bye.txt")), ("hello".to_owned(), "bye".to_owned()));
    let report = stdout(&output);
    for part in
        [": passed\n", "2 of 2 done", "- bye.txt\n- hello.txt\n", "Verdict: pass\n\nAll holds.", "tokens ("]
    {
        assert!(report.contains(part), "{part} is not in {report}");
    }
    assert_eq!(report, text(&place, "report.md"));
    // Each knows its part only.
    let requests = server.requests();
    let told: Vec<String> = requests.iter().map(|request| said(&request.body)).collect();
    assert!(told[0].contains("greet the user") && told[0].contains("1 file in 0 folders"), "{}", told[0]);
    assert!(told[1].contains("hello.txt` greets") && told[1].contains("greet the user"), "{}", told[1]);
    assert!(told[4].contains("write bye.txt") && told[4].contains("1: Wrote `hello.txt:1`."), "{}", told[4]);
    assert!(
        told[6].contains("bye.txt\\nhello.txt")
            && told[6].contains("+hello")
            && !told[6].contains("The whole plan"),
        "{}",
        told[6]
    );
    // A subtask can be taken back.
    let id = folder(&place).file_name().unwrap().to_str().unwrap().to_owned();
    let points = stdout(&place.command(&["rewind", &id]).output().unwrap());
    let point = points.lines().find(|line| line.contains("subtask 2")).unwrap_or_else(|| panic!("{points}"));
    let point = point.split_whitespace().next().unwrap().to_owned();
    let output = place.command(&["rewind", &id, "--to", &point, "--files", "--yes"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(place.project().join("hello.txt").exists() && !place.project().join("bye.txt").exists());
    let report = stdout(&place.command(&["report", &id]).output().unwrap());
    assert!(report.contains("7 steps"), "{report}");
    let listed = stdout(&place.command(&["build", "--list"]).output().unwrap());
    assert!(
        listed.contains(&id) && listed.contains("passed") && listed.contains("greet the user"),
        "{listed}"
    );
}

#[test]
fn each_reader_hears_its_own_instruction_only() {
    let server = FakeServer::start(whole());
    let place = Workplace::new();
    place.file("task.txt", "greet the user\n");
    let task = fs::File::open(place.project().join("task.txt")).unwrap();
    let output = build(&place, &server, &["-"]).stdin(task).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(text(&place, "task.md"), "greet the user\n");
    let requests = server.requests();
    for (at, own) in [(0, "## Task"), (1, "## Specification"), (6, "## Specification")] {
        let messages = requests[at].body["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages[1]["content"].as_str().unwrap().starts_with(own), "{messages:?}");
        let system = messages[0]["content"].as_str().unwrap();
        for part in ["smallest change", "Never commit", "You change their", "Check by running", "End with"] {
            assert!(!system.contains(part), "{part} is in {system}");
        }
    }
    assert!(said(&requests[2].body).contains("smallest change"));
}

#[test]
fn what_a_person_edits_between_stages_counts() {
    let server = FakeServer::start(vec![answer().text(SPEC).into(), answer().text(PLAN).into()]);
    let place = Workplace::new();
    let output = run(&place, &server, &["--json", "--pause-after", "plan", "greet"]);
    let last: Value = serde_json::from_str(stdout(&output).lines().last().unwrap()).unwrap();
    assert_eq!((last["outcome"].as_str(), last["exit_code"].as_u64()), (Some("paused"), Some(0)), "{last}");
    fs::write(folder(&place).join("plan.md"), "- [x] 1. done by hand\n- [ ] 2. only this\n").unwrap();
    for reply in [writes("b.txt", "b"), answer().text("Wrote it."), passes("")] {
        server.push(reply);
    }
    let output = run(&place, &server, &["--last"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    assert!(said(&requests[2].body).contains("2. only this"));
    assert_eq!(text(&place, "plan.md"), "- [x] 1. done by hand\n- [x] 2. only this\n");
}

#[test]
fn a_promise_is_no_specification() {
    let server = FakeServer::start([vec![answer().text("I'll look at it first.").into()], whole()].concat());
    let place = Workplace::new();
    let output = run(&place, &server, &["greet the user"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(text(&place, "spec.md").trim(), SPEC);
    let requests = server.requests();
    assert!(said(&requests[1].body).contains("Your answer has no title"), "{}", said(&requests[1].body));
    for reader in [&requests[2], requests.last().unwrap()] {
        assert!(said(&reader.body).contains("greet the user"), "{}", said(&reader.body));
    }
}

#[test]
fn a_plan_without_subtasks_fails_until_someone_mends_it() {
    let server = FakeServer::start(vec![
        answer().text(SPEC).into(),
        answer().text("I see.").into(),
        answer().text("No.").into(),
    ]);
    let place = Workplace::new();
    for args in [&["greet with password=hunter2Zq"][..], &["--last"]] {
        let output = run(&place, &server, args);
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).contains("The plan has no subtasks"), "{}", stdout(&output));
        assert!(!stdout(&output).contains("hunter2"), "{}", stdout(&output));
    }
    fs::write(folder(&place).join("plan.md"), "- [ ] 1. only this\n").unwrap();
    for reply in [writes("b.txt", "b"), answer().text("Wrote it."), passes("")] {
        server.push(reply);
    }
    let output = run(&place, &server, &["--last"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_kill_anywhere_repeats_nothing_that_is_done() {
    let replies = whole();
    for cut in 0..replies.len() {
        let mut first = replies[..cut].to_vec();
        first.push(silence());
        let server = FakeServer::start(first);
        let place = Workplace::new();
        let mut child = build(&place, &server, &["greet"]).spawn().unwrap();
        server.wait_for_requests(cut + 1);
        child.kill().unwrap();
        child.wait().unwrap();
        replies[cut..].iter().for_each(|reply| server.push(reply.clone()));
        let output = run(&place, &server, &["--last"]);
        assert!(output.status.success(), "cut {cut}: {}", stderr(&output));
        assert_eq!(server.requests().len(), replies.len() + 1, "cut {cut}");
        assert_eq!(text(&place, "plan.md").matches("- [x]").count(), 2, "cut {cut}");
        assert_eq!(place.text("bye.txt"), "bye");
        let sessions = stdout(&place.command(&["sessions", "--json"]).output().unwrap());
        assert_eq!(sessions.lines().count(), 1, "{sessions}");
    }
}

#[test]
fn a_review_that_fails_is_mended_and_repeated() {
    let mut replies = whole();
    replies.pop();
    replies.push(fails("hello.txt", 1, "greets nobody, see 1").into());
    replies.push(writes("other.txt", "x").into());
    replies.push(answer().text("Mended.").into());
    replies.push(passes("").into());
    let server = FakeServer::start(replies);
    let place = Workplace::new();
    let output = run(&place, &server, &["greet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let requests = server.requests();
    let fixer = said(&requests[7].body);
    assert!(fixer.contains("greets nobody") && fixer.contains("Files that it names\\nhello.txt"), "{fixer}");
    assert!(said(&requests[9].body).contains("other.txt"), "the second review sees the fix");
    assert_eq!(text(&place, "fix.md"), "Mended.\n");
    assert!(text(&place, "report.md").contains("review-2.md"));

    let mut replies = whole();
    replies.pop();
    for round in 1..=3 {
        replies.push(fails("a.rs", round, "wrong").into());
        if round < 3 {
            replies.push(answer().text("I can't.").into());
        }
    }
    let server = FakeServer::start(replies);
    let place = Workplace::new();
    let output = run(&place, &server, &["greet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("a.rs:3 wrong"));
}

const DOUBTFUL: &str =
    "Passing tests were my first question. They do not pass.\n- [ ] hello.txt:1 greets nobody\n\nFAIL";

#[test]
fn a_verdict_that_cannot_be_read_is_asked_for_once_more() {
    let mut replies = whole();
    replies.pop();
    replies.extend([answer().text("## Findings\nNone.\n\nPASS").into(), passes("All holds.").into()]);
    let server = FakeServer::start(replies);
    let place = Workplace::new();
    let output = run(&place, &server, &["greet"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("All holds."), "{}", stdout(&output));
    let again = &server.requests()[7].body;
    let last = again["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(last.contains("verdict can't be read") && said(again).contains("## Findings"), "{again}");

    let mut replies = whole();
    replies.pop();
    replies.extend([answer().text(DOUBTFUL).into(), answer().text(DOUBTFUL).into()]);
    let server = FakeServer::start(replies);
    let place = Workplace::new();
    let output = run(&place, &server, &["greet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let report = stdout(&output);
    assert!(report.contains("verdict couldn't be read") && report.contains("They do not pass."), "{report}");
}

#[test]
fn a_resumed_build_reviews_what_is_there_now() {
    let mut replies = whole();
    replies.pop();
    for round in 1..=3 {
        replies.push(fails("a.rs", round, "wrong").into());
        replies.extend((round < 3).then(|| answer().text("I can't.").into()));
    }
    replies.push(passes("Mended by hand.").into());
    let server = FakeServer::start(replies);
    let place = Workplace::new();
    assert_eq!(run(&place, &server, &["greet"]).status.code(), Some(1));
    let before = server.requests().len();
    let output = run(&place, &server, &["--last"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(server.requests().len(), before + 1);
    assert!(stdout(&output).contains("review-4.md") && stdout(&output).contains("Mended by hand."));
    let fresh = said(&server.requests()[before].body);
    assert!(!fresh.contains("You were interrupted") && !fresh.contains("I can't"), "{fresh}");
}

#[test]
fn what_cannot_begin_says_why() {
    let server = FakeServer::start(vec![]);
    let place = Workplace::new();
    let blank = build(&place, &server, &["-"]).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(stderr(&blank).contains("the task is empty"), "{}", stderr(&blank));
    let empty = run(&place, &server, &[]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(stderr(&empty).contains("the task is empty"));
    let stage = run(&place, &server, &["--pause-after", "lunch", "greet"]);
    assert!(stderr(&stage).contains("possible values: spec, plan, code, review"), "{}", stderr(&stage));
    let last = run(&place, &server, &["--last"]);
    assert!(stderr(&last).contains("no builds yet"), "{}", stderr(&last));
}

#[test]
fn the_demo_plays_a_build_and_leaves_nothing() {
    let place = Workplace::new();
    let folder = place.home().join("tmp");
    fs::create_dir_all(&folder).unwrap();
    let output = place.command(&["demo", "--story", "build"]).env("TMPDIR", &folder).output().unwrap();
    let printed = stdout(&output);
    assert!(output.status.success(), "{printed}\n{}", stderr(&output));
    for part in [
        ": passed\n",
        "2 of 2 done",
        "- src/discount.rs\n- tests/basket.rs\n",
        "sample project has been removed",
    ] {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_path_of_the_plan_that_is_slightly_wrong_is_named() {
    let plan = "- [ ] 1. greet (files: auth/handler.py, auth/new_one.py)";
    let server = FakeServer::start(vec![
        answer().text(SPEC).into(),
        answer().text(plan).into(),
        writes("auth/new_one.py", "x = 1\n").into(),
        answer().text("Wrote it.").into(),
        passes("All holds.").into(),
    ]);
    let place = Workplace::new();
    place.file("auth/handlers.py", "x = 2\n");
    let output = run(&place, &server, &["greet the user"]);
    let doubt = "The plan says auth/handler.py, which doesn't exist; it may mean `auth/handlers.py`.";
    let coder = said(&server.requests()[2].body);
    assert!(coder.contains(doubt) && !coder.contains("says auth/new_one.py"), "{coder}");
    assert!(stderr(&output).contains(doubt), "{}", stderr(&output));
}
