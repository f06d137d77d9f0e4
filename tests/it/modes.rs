//! Modes of work: what is gathered, what may be changed, and the plan that the user decides about.

use base::config::mode::Mode;
use base::config::settings::Permission;
use base::protocol::approval::{Answer, Question};
use base::protocol::event::Event;
use base::protocol::op::{Control, Quick};
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const PLAN: &str = "# Rename the flag\n\n- [ ] src/a.rs: `old` becomes `new`\n- [ ] run the tests";

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("src/a.rs", "let old = 1; // TODO: rename\n").file("Cargo.toml", "[package]\n");
    place
}

fn said(body: &Value) -> String {
    body["messages"].to_string()
}

#[test]
fn gathered_by_mode() {
    for (mode, gathered) in [
        ("explore", "2 files in 1 folder. At the top: Cargo.toml"),
        ("analyze", "src/a.rs:1 let old = 1; // TODO: rename"),
        ("plan", "blocker"),
    ] {
        let server = FakeServer::start(vec![answer().text("I see.").into(), answer().text("Again.").into()]);
        let place = place();
        let note = ["notes", "new", "--type", "blocker", "CI is red", "since Monday"];
        assert!(place.command(&note).output().unwrap().status.success());
        let output = place.exec(&server.base_url(), &["--mode", mode, "look around"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let output = place.exec(&server.base_url(), &["-c", "--mode", mode, "and again"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let requests = server.requests();
        let (first, second) = (said(&requests[0].body), said(&requests[1].body));
        assert!(first.contains(gathered), "{first}");
        let title = format!("{}{} mode: ", mode[..1].to_uppercase(), &mode[1..]);
        assert!(first.contains(&title), "{first}");
        for once in ["<project-survey>", title.as_str()] {
            assert_eq!(second.matches(once).count(), 1, "{once} in {second}");
        }
    }
}

#[test]
fn nothing_changes_in_plan_mode() {
    let server = FakeServer::start(vec![
        answer()
            .call("Write", json!({"path": "new.txt", "content": "x"}))
            .call("Bash", json!({"command": "touch made.txt"}))
            .call("Bash", json!({"command": "wc -l src/a.rs"}))
            .call("Note", json!({"action": "create", "title": "Found", "content": "it", "type": "blocker"}))
            .into(),
        answer().text("No plan yet: which flag do you mean?").into(),
    ]);
    let place = place();
    let output = place.exec(&server.base_url(), &["--mode", "plan", "--permission", "full", "rename it"]);
    let seen = said(&server.requests()[1].body);
    assert_eq!(seen.matches("plan mode only reads").count(), 2, "{seen}");
    assert!(seen.contains("1 src/a.rs"), "{seen}");
    let notes: Vec<_> = std::fs::read_dir(place.project().join(".mycode/notes")).unwrap().flatten().collect();
    assert!(notes.iter().any(|file| file.file_name().to_string_lossy().contains("found")), "{notes:?}");
    assert!(!place.project().join("new.txt").exists() && !place.project().join("made.txt").exists());
    assert!(!place.project().join(".mycode/plans").exists(), "an answer without a heading is no plan");
    assert_eq!(stdout(&output).trim(), "No plan yet: which flag do you mean?");
}

#[test]
fn headless_plan() {
    let server = FakeServer::start(vec![
        answer().text(&format!("Here it is.\n\n{PLAN}")).into(),
        answer().text("Carried out.").into(),
    ]);
    let place = place();
    let output = place.exec(&server.base_url(), &["--json", "--mode", "plan", "rename the flag"]);
    let printed = stdout(&output);
    let end: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    let path = end["plan"].as_str().unwrap_or_else(|| panic!("{end}"));
    assert!(path.starts_with(".mycode/plans/2") && path.ends_with("-rename-the-flag.md"), "{path}");
    assert_eq!(place.text(path), format!("{PLAN}\n"));
    assert!(printed.contains("mycode exec -c --mode normal"), "{printed}");
    let output = place.exec(&server.base_url(), &["-c", "carry it out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let requests = server.requests();
    let second = said(&requests[1].body);
    assert!(second.contains("Normal mode: the read-only restriction is lifted"), "{second}");
    assert!(second.starts_with(said(&requests[0].body).trim_end_matches(']')), "only appended");
}

#[test]
fn a_plan_never_leads_outside() {
    let server = FakeServer::start(vec![answer().text(PLAN).into()]);
    let place = place();
    std::os::unix::fs::symlink(place.home(), place.project().join(".mycode")).unwrap();
    let output = place.exec(&server.base_url(), &["--mode", "plan", "rename the flag"]);
    assert!(stderr(&output).contains("Couldn't save the plan"), "{}", stderr(&output));
    assert!(!place.home().join("plans").exists());
}

async fn planned(server: &FakeServer, place: &Workplace) -> (TestAgent, u64, String) {
    let config = format!("base_url = \"{}\"\nmodel = \"m\"\nmode = \"plan\"\n", server.base_url());
    let mut agent = TestAgent::start(place, &config, true);
    agent.turn("rename the flag").await;
    let (id, path) = agent
        .until(|event| match event {
            Event::Ask { id, question: Question::Plan(plan) } => Some((*id, plan.path.clone())),
            _ => None,
        })
        .await;
    (agent, id, path)
}

#[tokio::test]
async fn an_accepted_plan_is_carried_out() {
    let server = FakeServer::start(vec![answer().text(PLAN).into(), answer().text("Done.").into()]);
    let place = place();
    let (mut agent, id, path) = planned(&server, &place).await;
    place.file(&path, format!("{PLAN}\n- [ ] and the docs\n"));
    agent.send(Control::Answer { id, answer: Answer::Accept { permission: Permission::Auto } });
    agent.end().await;
    assert!(agent.seen.contains(&Event::Mode(Mode::Auto)));
    assert!(agent.seen.contains(&Event::Permission(Permission::Auto)));
    let second = said(&server.requests()[1].body);
    assert!(
        second.contains(&format!("Carry out the plan in {path}. I have changed it: read it first.")),
        "{second}"
    );
}

#[tokio::test]
async fn a_refused_plan_is_revised() {
    let server = FakeServer::start(vec![
        answer().text(PLAN).into(),
        answer().text("# Smaller\n\n- [ ] one step").into(),
        answer().text("Hm.").into(),
    ]);
    let place = place();
    let (mut agent, id, _) = planned(&server, &place).await;
    agent.send(Control::Answer { id, answer: Answer::No { note: "smaller steps".to_owned() } });
    agent.end().await;
    assert!(said(&server.requests()[1].body).contains("smaller steps"));
    let id = agent
        .until(|event| match event {
            Event::Ask { id, question: Question::Plan(plan) } if plan.text.starts_with("# Smaller") => {
                Some(*id)
            }
            _ => None,
        })
        .await;
    agent.send(Control::Answer { id, answer: Answer::No { note: String::new() } });
    agent.until(|event| matches!(event, Event::AskClosed { .. }).then_some(())).await;
    agent.send(Quick::SetMode { mode: Mode::Explore });
    agent.turn("what is there?").await;
    assert!(said(&server.requests()[2].body).contains("Explore mode"));
}

#[test]
fn plan_in_the_terminal() {
    let server = FakeServer::start(vec![answer().text(PLAN).into(), answer().text("All done.").into()]);
    let place = place();
    place.file("edit.sh", "#!/bin/sh\nprintf -- '- [ ] by hand\\n' >>\"$1\"\n");
    let editor = format!("sh {}/edit.sh", place.project().display());
    let url = server.base_url();
    let mut screen =
        Screen::start_with(&place, &["--base-url", &url, "--model", "m"], (80, 24), &[("EDITOR", &editor)]);
    screen.wait("· ask");
    screen.keys("\u{1b}[Z\u{1b}[Z");
    screen.wait("plan mode · ask");
    screen.keys("rename the flag\r");
    screen.wait("Carry out .mycode/plans/");
    screen.keys("e\r");
    screen.wait_for("the edit", |_| {
        std::fs::read_dir(place.project().join(".mycode/plans")).is_ok_and(|mut folder| {
            folder.any(|file| std::fs::read_to_string(file.unwrap().path()).unwrap().contains("by hand"))
        })
    });
    // The editor has gone when the chat takes the terminal again.
    while screen.raw().matches("\u{1b}[?2004h").count() < 2 {
        std::thread::yield_now();
    }
    screen.wait("Edit the plan first");
    screen.keys("a\r");
    screen.wait("All done.");
    screen.wait_for("auto", |screen| screen.contains("· auto") && !screen.contains("plan mode"));
    assert!(said(&server.requests()[1].body).contains("I have changed it"));
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
}
