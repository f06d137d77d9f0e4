//! Skills: what the model and users are told of them, what a call brings, and what it opens.

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const REPORT: &str = "---\nname: quarterly-report\ndescription: Builds the quarterly report from the ledgers of all departments. \
                      Use when a quarterly report is wanted.\nargument-hint: [quarter]\nallowed-tools: Bash(git tag:*) Bash(python:*)\n\
                      model: opus\n---\n# Report\nRun ${CLAUDE_SKILL_DIR}/scripts/sum.sh for $ARGUMENTS. See reference.md.\n";

/// A skill of the user's, with a script and a reference, and one of the project's.
fn place() -> Workplace {
    let place = Workplace::new();
    let folder = place.home().join("skills/quarterly-report");
    std::fs::create_dir_all(folder.join("scripts")).unwrap();
    std::fs::write(folder.join("SKILL.md"), REPORT).unwrap();
    std::fs::write(folder.join("reference.md"), "All sums are in euros.\n").unwrap();
    std::fs::write(folder.join("scripts/sum.sh"), "echo \"sum of $1 is 42\"\n").unwrap();
    place.file("CODE_LAW.md", "Be kind.\n").file(
        ".claude/skills/deploy/SKILL.md",
        "---\ndescription: Ships it to production\ndisable-model-invocation: true\n---\nShip $0 now.\n",
    );
    place
}

fn tool<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    let mut tools = body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]);
    tools.find(|tool| tool["name"] == name)
}

fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect()
}

#[test]
fn a_skill_is_loaded_with_its_folder_whose_files_need_no_question() {
    let place = place();
    let folder = place.home().join("skills/quarterly-report");
    let script = format!("sh {}/scripts/sum.sh Q3", folder.display());
    let server = FakeServer::start(vec![
        answer().call("Skill", json!({"skill": "/Quarterly report", "args": "Q3"})).into(),
        answer()
            .call("Read", json!({"path": folder.join("reference.md")}))
            .call("Bash", json!({"command": script}))
            .into(),
        answer().call("Skill", json!({"name": "ledgers of departments"})).into(),
        answer().call("Skill", json!({"name": "deploy"})).into(),
        answer().text("Done.").into(),
    ]);
    let out = place.exec(&server.base_url(), &["--trust", "Make the quarterly report for Q3"]);
    let requests = server.requests();
    let told = tool(&requests[0].body, "Skill").unwrap()["description"].to_string();
    assert!(told.contains("quarterly-report (Builds the quarterly") && !told.contains("deploy"), "{told}");
    assert!(requests[0].raw.contains("- quarterly-report: Builds the quarterly report from the ledgers"));
    let results = results(&requests[4].body);
    let folder = folder.display().to_string();
    assert!(results[0].contains(&format!("Run {folder}/scripts/sum.sh for Q3.")), "{}", results[0]);
    assert!(results[0].contains(&format!("Skill folder: {folder};")), "{}", results[0]);
    assert!(results[0].contains("reference.md, scripts/sum.sh"), "{}", results[0]);
    assert!(results[1].contains("All sums are in euros."), "{}", results[1]);
    assert!(results[2].contains("sum of Q3 is 42"), "{}", results[2]);
    assert!(
        results[3].contains("no skill is named") && results[3].contains("quarterly-report: Builds"),
        "{}",
        results[3]
    );
    assert!(results[4].contains("only the user may start the skill deploy"), "{}", results[4]);
    let said = stderr(&out);
    assert!(said.contains("without asking this turn: commands that begin with `git tag`"), "{said}");
    assert!(said.contains("Bash(python:*)"), "{said}");
}

#[test]
fn no_skills_no_tool() {
    let server = FakeServer::start(vec![answer().text("Done.").into()]);
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n").exec(&server.base_url(), &["hello"]);
    assert!(tool(&server.requests()[0].body, "Skill").is_none());
}

#[test]
fn untrusted_and_malformed_ones() {
    let server = FakeServer::start(vec![answer().text("Done.").into()]);
    let place = place();
    place.file(".opencode/skills/broken/SKILL.md", "---\nname: broken\n");
    let said = stderr(&place.exec(&server.base_url(), &["/deploy x"]));
    assert!(said.contains("no command /deploy") && said.contains("`mycode trust`"), "{said}");
    assert!(server.requests().is_empty());
    let said = stdout(&place.command(&["trust"]).output().unwrap());
    assert!(said.contains("Trusted the project's skills"), "{said}");
    let said = stderr(&place.exec(&server.base_url(), &["/deploy x"]));
    assert!(said.contains("broken/SKILL.md isn't a skill: no `---` line ends its front matter"), "{said}");
    let said = stderr(&place.exec(&server.base_url(), &["/nosuch x"]));
    assert!(said.contains("no command /nosuch") && !said.contains("`mycode trust`"), "{said}");
    let sent = &server.requests()[0].raw;
    assert!(sent.contains("Ship x now.") && sent.contains("Skill folder: "), "{sent}");
    let listed = stdout(&place.command(&["skills"]).output().unwrap());
    assert!(listed.contains("deploy\n  Ships it to production (the project's; /deploy only)"), "{listed}");
    assert!(listed.contains("(yours; /quarterly-report; not used: model)"), "{listed}");
    let shown = stdout(&place.command(&["skills", "quarterly-report"]).output().unwrap());
    assert!(shown.contains("See reference.md") && shown.contains("scripts/sum.sh"), "{shown}");
    place.file("GEMINI.md", "Other rules.\n");
    let doctor = stdout(
        &place.command(&["doctor", "--model", "m", "--base-url", "http://127.0.0.1:9"]).output().unwrap(),
    );
    assert!(doctor.contains("skills          2 (deploy, quarterly-report)"), "{doctor}");
    assert!(
        doctor.contains("rules files     CODE_LAW.md") && doctor.contains("GEMINI.md (not read"),
        "{doctor}"
    );
}

#[test]
fn the_chat_lists_and_completes_them() {
    let server = FakeServer::start(vec![answer().text("Reported.").into()]);
    let place = place();
    let url = server.base_url();
    let mut screen = Screen::start(&place, &["--base-url", &url, "--model", "test-model", "--trust"], 80, 24);
    screen.wait("test-model");
    screen.keys("/quart");
    screen.wait("Builds the quarterly");
    screen.keys("\t");
    screen.wait("› /quarterly-report");
    screen.keys("Q4\r");
    screen.wait("Reported.");
    assert!(server.requests()[0].raw.contains("scripts/sum.sh for Q4."));
    screen.keys("/skills\r");
    screen.wait("/deploy only");
    screen.keys("\u{4}");
    screen.end();
    let mut screen = Screen::start(&place, &["--base-url", &url, "--model", "test-model"], 80, 24);
    screen.wait("[y] yes");
    screen.keys("\r");
    screen.wait("test-model");
    screen.keys("/skills\r");
    screen.wait("Untrusted skills aren't used");
}

#[test]
fn a_skill_for_a_sub_agent_is_done_by_one() {
    let place = place();
    place.file(
        ".mycode/skills/look/SKILL.md",
        "---\ndescription: Looks around\ncontext: fork\nagent: Explore\n---\nLook for $ARGUMENTS and say where it is.\n",
    );
    let server = FakeServer::start(vec![
        answer().call("Skill", json!({"name": "look", "args": "the parser"})).into(),
        answer().text("It is in src/parse.rs.").into(),
        answer().text("Done.").into(),
    ]);
    place.exec(&server.base_url(), &["--trust", "where is it?"]);
    let requests = server.requests();
    assert!(requests[1].raw.contains("Look for the parser and say where it is."), "{}", requests[1].raw);
    assert!(tool(&requests[1].body, "Skill").is_some() && tool(&requests[1].body, "Edit").is_none());
    let result = &results(&requests[2].body)[0];
    assert!(result.contains("It is in src/parse.rs.") && result.contains("explore agent"), "{result}");
}

/// What a skill says is followed for the rest of the session, so it stays when older rounds are summarized.
#[test]
fn a_loaded_skill_survives_compaction() {
    let place = place();
    let mut replies = vec![
        answer().call("Skill", json!({"name": "quarterly-report", "args": "Q1"})).into(),
        answer().text("Ready.").into(),
    ];
    replies.extend((0..20).map(|_| answer().text(&"Yes. ".repeat(400)).into()));
    let server = FakeServer::start(replies);
    let exec = |args: &[&str]| {
        let mut all = vec!["--context-window", "16000"];
        all.extend(args);
        let out = place.exec(&server.base_url(), &all);
        assert!(out.status.success(), "{}", stderr(&out));
    };
    exec(&["Report on Q1, please"]);
    for _ in 0..14 {
        exec(&["-c", &"And then what follows from that? ".repeat(150)]);
    }
    let requests = server.requests();
    let compacted: Vec<_> =
        requests.iter().filter(|request| request.raw.contains("Archived History Summary")).collect();
    let last = &compacted.last().expect("something was compacted").raw;
    assert!(last.contains("scripts/sum.sh for Q1."), "{last}");
}
