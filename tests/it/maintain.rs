//! Maintenance: what one day learns the next one knows, each note is shown before it is kept, and a phase that was cut off
//! is gone on with.

use std::process::{Command, Output};

use base::config::mode::Mode;
use base::config::settings::Permission;
use base::protocol::approval::{Answer, Question};
use base::protocol::event::Event;
use base::protocol::maintain::{Maintain, MaintainPhase};
use base::protocol::op::{Control, Work};
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::{Answer as Reply, answer, silence, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const PLAN: &str = "# Retry the upload\n\n- [ ] src/upload.rs: try three times";

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("src/upload.rs", "fn upload() {} // TODO: retry\n").file("README.md", "# Up\n");
    place
}

fn maintain(place: &Workplace, server: &FakeServer, args: &[&str]) -> Command {
    let url = server.base_url();
    let mut all = vec!["maintain", "--base-url", &url, "--model", "m"];
    all.extend(args);
    place.command(&all)
}

fn run(place: &Workplace, server: &FakeServer, args: &[&str]) -> Output {
    maintain(place, server, args).output().unwrap()
}

fn note(kind: &str, title: &str) -> Reply {
    let files = json!(["src/upload.rs"]);
    answer().call(
        "Note",
        json!({"action": "create", "title": title, "content": "Seen.", "type": kind, "files": files}),
    )
}

fn said(body: &Value) -> String {
    body["messages"].to_string()
}

/// The id of the note with this title.
fn id_of(place: &Workplace, title: &str) -> String {
    let listed = stdout(&place.command(&["notes", "list"]).output().unwrap());
    let row = listed.lines().find(|line| line.contains(title)).unwrap_or_else(|| panic!("{listed}"));
    row.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn what_still_fails_at_the_end_is_in_the_report() {
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("All tests pass."));
    server.on_body("mend it", answer().call("Bash", json!({"command": "python3 -m unittest no_such_test"})));
    let output = run(&Workplace::with_nudges(), &server, &["--phase", "do", "mend it"]);
    assert!(
        stdout(&output).contains("Needs you: do: failed check"),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
}

#[test]
fn three_days() {
    let place = place();
    // Day one explores.
    let server = FakeServer::start(vec![
        note("blocker", "Uploads are tried once").usage(1_000, 0, 50).into(),
        answer().text("The upload has no retry.").usage(1_200, 1_000, 20).into(),
    ]);
    let output = run(&place, &server, &["--phase", "explore", "make uploads reliable"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = stdout(&output);
    for part in
        ["No open notes", "The upload has no retry.", "explore done", "New notes:", "Uploads are tried once"]
    {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    let file = printed.split("The report is in ").nth(1).unwrap().trim_end().trim_end_matches('.');
    let report = place.text(file);
    for part in ["# make uploads reliable", "explore done", "## explore\n\nThe upload has no retry."] {
        assert!(report.contains(part), "{part} is not in {report}");
    }
    let first = said(&server.requests()[0].body);
    for part in
        ["Maintain (explore): make uploads reliable", "2 files in 1 folder", "phase explore", "Explore mode"]
    {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    // Day two analyzes, in another process and session: its first request has what day one left.
    let server = FakeServer::start(vec![
        note("blocker", "A cut upload leaves half a file").into(),
        answer().text("Two findings.").into(),
    ]);
    let output = run(&place, &server, &["--phase", "analyze", "make uploads reliable"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let first = said(&server.requests()[0].body);
    assert!(first.contains("Uploads are tried once") && !first.contains("no retry."), "{first}");
    assert!(first.contains("TODO: retry"), "{first}");
    let printed = stdout(&output);
    assert!(printed.contains("Open notes:\n") && printed.contains("Uploads are tried once"), "{printed}");
    // Day three plans from both.
    let server =
        FakeServer::start(vec![note("action", "Try three times").into(), answer().text(PLAN).into()]);
    let output = run(&place, &server, &["--phase", "plan", "make uploads reliable"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let first = said(&server.requests()[0].body);
    for part in ["Uploads are tried once", "A cut upload leaves half a file"] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    assert_eq!(first.matches("Open notes").count(), 1, "{first}");
    let plans: Vec<_> = std::fs::read_dir(place.project().join(".mycode/plans")).unwrap().flatten().collect();
    assert_eq!(plans.len(), 1);
    let sessions = stdout(&place.command(&["sessions", "--json"]).output().unwrap());
    assert_eq!(sessions.lines().count(), 3, "{sessions}");
}

#[test]
fn the_second_time_knows_what_the_first_found_out() {
    let place = place();
    let new = ["notes", "new", "--type", "conclusion", "The server drops idle uploads", "measured"];
    assert!(place.command(&new).output().unwrap().status.success());
    let server =
        FakeServer::start(vec![answer().text("Explored.").into(), answer().text("Analyzed.").into()]);
    for (phase, knows) in [("explore", true), ("analyze", false)] {
        let output = run(&place, &server, &["--phase", phase, "the whole"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let first = said(&server.requests().last().unwrap().body);
        assert_eq!(first.contains("Learned by earlier maintenance"), knows, "{first}");
        assert_eq!(first.contains("The server drops idle uploads"), knows, "{first}");
    }
}

#[test]
fn all_phases_in_one_session() {
    let place = place();
    let new = ["notes", "new", "--type", "blocker", "Uploads are tried once", "seen"];
    assert!(place.command(&new).output().unwrap().status.success());
    let blocker = id_of(&place, "Uploads are tried once");
    let server = FakeServer::start(vec![
        answer().call("Write", json!({"path": "x.txt", "content": "x"})).text("Trying.").into(),
        answer().text("Explored.").usage(900, 0, 10).into(),
        answer().text("Analyzed.").usage(900, 800, 10).into(),
        answer().text(PLAN).usage(900, 800, 10).into(),
        answer().call("Write", json!({"path": "src/retry.rs", "content": "// three times"})).into(),
        answer()
            .call(
                "Note",
                json!({"action": "update", "id": blocker, "type": "conclusion", "content": "Retried."}),
            )
            .into(),
        answer().text("Done.").usage(900, 800, 10).into(),
    ]);
    let output = run(&place, &server, &["--json", "make uploads reliable"]);
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["type"], "open_notes");
    assert!(events[0]["notes"][0].as_str().unwrap().contains("Uploads are tried once"));
    let report = events.last().unwrap();
    assert_eq!(report["phases"], json!(["explore", "analyze", "plan", "do"]), "{report}");
    assert_eq!(
        report["files"],
        json!(["src/retry.rs"]),
        "nothing is written before the last phase: {report}"
    );
    assert!(report["resolved"][0].as_str().unwrap().contains("conclusion"), "{report}");
    assert_eq!(report["new"], json!([]));
    let spent = events
        .iter()
        .filter(|event| event["type"] == "turn_ended")
        .map(|event| event["usage"]["input"].as_u64().unwrap() + event["usage"]["output"].as_u64().unwrap());
    assert_eq!(report["tokens"].as_u64(), Some(spent.sum()), "{report}");
    // As with exec, a denied call shows in the exit code.
    assert_eq!((report["exit_code"].as_u64(), output.status.code()), (Some(8), Some(8)));
    let sessions: Vec<&Value> = events.iter().filter(|event| event["type"] == "session").collect();
    assert_eq!(sessions.len(), 4);
    assert!(sessions.iter().all(|session| session["id"] == sessions[0]["id"]));
    let requests = server.requests();
    let last = said(&requests[6].body);
    for part in
        ["Explored.", "Retry the upload", "phase do", "Normal mode: the read-only restriction is lifted"]
    {
        assert!(last.contains(part), "{part} is not in {last}");
    }
    for at in [2, 3, 4] {
        let before = said(&requests[at - 1].body);
        assert!(said(&requests[at].body).starts_with(before.trim_end_matches(']')), "{at}: only appended");
    }
}

#[test]
fn what_was_cut_off_is_gone_on_with() {
    let place = place();
    let server = FakeServer::start(vec![answer().text("Explored.").into(), silence()]);
    let mut child = maintain(&place, &server, &["make uploads reliable"]).spawn().unwrap();
    server.wait_for_requests(2);
    child.kill().unwrap();
    child.wait().unwrap();
    for text in ["Analyzed.", PLAN, "Done."] {
        server.push(answer().text(text));
    }
    let output = run(&place, &server, &["-c"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("analyze, plan, do done"), "{}", stdout(&output));
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    let again = said(&requests[2].body);
    let (before, after) = again.split_once("[interrupted]").unwrap_or_else(|| panic!("{again}"));
    assert!(before.contains("Explored.") && after.contains("phase analyze"), "{again}");
    let output = run(&place, &server, &["-c"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("run is finished"), "{}", stderr(&output));
    // A turn that fails ends it; the rest is kept for later.
    let place = self::place();
    let server = FakeServer::start(vec![answer().text("Explored.").into(), status(400, "{}")]);
    let output = run(&place, &server, &[]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stdout(&output).contains("`mycode maintain -c` continues"), "{}", stdout(&output));
    assert!(said(&server.requests()[0].body).contains("the project as a whole"));
}

#[tokio::test]
async fn in_the_chat_each_note_is_shown_and_the_plan_is_asked_about() {
    let server = FakeServer::start(vec![
        note("blocker", "Uploads are tried once").into(),
        answer().text("Explored.").into(),
        answer().text("Analyzed.").into(),
        answer().text(PLAN).into(),
        answer().text("Carried out.").into(),
        answer().text("Notes are up to date.").into(),
    ]);
    let place = place();
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.send(Work::Maintain(Maintain::parse("make uploads reliable").unwrap()));
    let (id, request) = agent
        .until(|event| match event {
            Event::Ask { id, question: Question::Approval(request) } => Some((*id, request.clone())),
            _ => None,
        })
        .await;
    assert!(request.detail.contains("type: blocker\ntitle: Uploads are tried once\n"), "{request:?}");
    assert!(request.detail.contains("Seen.") && !place.project().join(".mycode/notes").exists());
    agent.send(Control::Answer { id, answer: Answer::Once });
    let id = agent
        .until(|event| match event {
            Event::Ask { id, question: Question::Plan(_) } => Some(*id),
            _ => None,
        })
        .await;
    agent.send(Control::Answer { id, answer: Answer::Accept { permission: Permission::Auto } });
    let report = agent
        .until(|event| match event {
            Event::Notice { text, .. } if text.starts_with("Maintenance:") => Some(text.clone()),
            _ => None,
        })
        .await;
    assert!(report.contains("explore, analyze, plan, do done") && report.contains("tried once"), "{report}");
    let file = report.split("The report is in ").nth(1).unwrap().trim_end_matches('.');
    assert!(place.text(file).contains("## analyze\n\nAnalyzed."), "{}", place.text(file));
    let texts: Vec<String> = server.requests().iter().map(|request| said(&request.body)).collect();
    assert!(texts[4].contains("Carry out the plan in .mycode/plans/"), "{}", texts[4]);
    assert!(texts[5].contains("Maintain (do): make uploads reliable"), "{}", texts[5]);
}

#[tokio::test]
async fn a_refused_plan_or_an_interrupt_ends_it() {
    let server = FakeServer::start(vec![answer().text(PLAN).into(), silence()]);
    let place = place();
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\nmode = \"analyze\"\n", server.base_url());
    let mut agent = TestAgent::start(&place, &config, true);
    agent.send(Work::Maintain(Maintain::new("", vec![MaintainPhase::Plan, MaintainPhase::Do])));
    let id = agent
        .until(|event| match event {
            Event::Ask { id, question: Question::Plan(_) } => Some(*id),
            _ => None,
        })
        .await;
    agent.send(Control::Answer { id, answer: Answer::No { note: String::new() } });
    let stopped = |event: &Event| match event {
        Event::Notice { text, .. } if text.starts_with("Maintenance:") => Some(text.clone()),
        _ => None,
    };
    let report = agent.until(stopped).await;
    assert!(report.starts_with("Maintenance: plan done"), "{report}");
    let told =
        |event: &Event| matches!(event, Event::Notice { text, .. } if text.contains("plan was not accepted"));
    assert!(agent.seen.iter().any(told));
    let modes = agent.seen.iter().rev().find_map(|event| match event {
        Event::Mode(mode) => Some(*mode),
        _ => None,
    });
    assert_eq!(modes, Some(Mode::Analyze), "the user's own mode is back");
    agent.send(Work::Maintain(Maintain::parse("").unwrap()));
    agent.until(|event| matches!(event, Event::TurnStarted { .. }).then_some(())).await;
    agent.send(Control::Interrupt);
    assert!(agent.until(stopped).await.starts_with("Maintenance: no phase done"));
    assert!(server.requests().len() <= 2, "no other phase begins");
}
