//! Slash commands of the user's own.

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};
use serde_json::json;

fn place() -> Workplace {
    let place = Workplace::new();
    place
        .file("CODE_LAW.md", "Be kind.\n")
        .file("src/a.txt", "alpha\n")
        .file(
            ".claude/commands/git/review.md",
            "---\ndescription: Look at it\n---\nReview @src/a.txt for $1.\n",
        )
        .file(".mycode/commands/help.md", "Not this one.\n");
    std::fs::create_dir_all(place.home().join("commands")).unwrap();
    std::fs::write(place.home().join("commands/mine.md"), "All of: $ARGUMENTS!\n").unwrap();
    place
}

#[test]
fn commands_complete_and_fill_in_their_prompt() {
    let server = FakeServer::start(vec![answer().text("Reviewed.").into()]);
    let place = place();
    let url = server.base_url();
    let mut screen = Screen::start(&place, &["--trust", "--base-url", &url, "--model", "test-model"], 80, 24);
    screen.wait("test-model");
    screen.keys("/git");
    screen.wait("Look at it");
    screen.keys("\t");
    screen.wait("› /git:review");
    screen.keys("speed\r");
    screen.wait("Reviewed.");
    let sent = server.requests()[0].raw.clone();
    assert!(sent.contains("Review @src/a.txt for speed.") && sent.contains("/git:review speed"), "{sent}");
    assert!(sent.contains("The user mentioned"), "@file works as in the composer: {sent}");
    screen.keys("/help\r");
    screen.wait("q close");
    screen.keys("/git:review\r");
    screen.wait("  /git:review");
    screen.keys("q");
    screen.wait("Type a task");
    screen.keys("/git:reviw\r");
    screen.wait("Did you mean /git:review?");
    assert_eq!(server.requests().len(), 1, "a name of ours wins: /help went nowhere");
}

#[test]
fn headless_and_untrusted() {
    let server = FakeServer::start((0..4).map(|_| answer().text("Done.").into()).collect());
    let place = place();
    let out = place.exec(&server.base_url(), &["/mine one two"]);
    assert!(server.requests()[0].raw.contains("All of: one two!"), "{}", server.requests()[0].raw);
    let said = stderr(&out);
    assert!(said.contains("This project defines commands (.mycode/commands/help.md"), "{said}");
    let out = place.exec(&server.base_url(), &["/git:review x"]);
    assert_eq!(
        (out.status.code(), server.requests().len()),
        (Some(2), 1),
        "an untrusted project commands nothing"
    );
    assert!(stderr(&out).contains("`mycode trust`"), "{}", stderr(&out));
    let said = stderr(&place.exec(&server.base_url(), &["/mien x"]));
    assert!(said.contains("did you mean /mine?"), "{said}");
    place.exec(&server.base_url(), &[" /mien is no command"]);
    assert!(server.requests()[1].raw.contains("/mien is no command"));
    // Those of other agents.
    let prompts = place.user_home().join(".codex/prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    std::fs::write(prompts.join("ship.md"), "Ship $1.\n").unwrap();
    place.file(".gemini/commands/git/plan.toml", "prompt = \"Plan {{args}}.\"\n");
    place.exec(&server.base_url(), &["--trust", "/prompts:ship it"]);
    place.exec(&server.base_url(), &["--trust", "/git:plan that"]);
    let [shipped, planned] = [2, 3].map(|at| server.requests()[at].raw.clone());
    assert!(shipped.contains("Ship it.") && planned.contains("Plan that."), "{shipped}\n{planned}");
}

/// The message that was sent for `prompt`, and what was said.
fn sent(place: &Workplace, args: &[&str]) -> (serde_json::Value, String) {
    let server = FakeServer::start(vec![answer().text("Done.").into()]);
    let out = place.exec(&server.base_url(), args);
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{}", stderr(&out));
    (requests[0].body.clone(), stderr(&out))
}

#[test]
fn output_of_commands_stands_in_the_prompt() {
    let place = Workplace::new();
    place.file("src/a.txt", "alpha\n");
    let text = "---\nallowed-tools: Bash(touch made), Read\n---\nSeen: !`cat src/a.txt` and !`printf '<%s>' $1`, !`touch made`!`exit 3`.\n";
    place.file(".claude/commands/look.md", text);
    place.file(".gemini/commands/log.toml", "prompt = \"Of !{printf '[%s]' {{args}}} in @{src/a.txt}\"\n");
    place.file(".opencode/command/plain.md", "It is !`echo here` for $ARGUMENTS");
    let (body, said) = sent(&place, &["--trust", "/look 'x; touch evil'"]);
    let message = body["messages"].to_string();
    assert!(message.contains("Seen: alpha and <x; touch evil>, "), "{message} {said}");
    assert!(message.contains("[exit code 3]."), "{message}");
    assert!(place.project().join("made").exists() && !place.project().join("evil").exists());
    let (body, _) = sent(&place, &["--trust", "/log one"]);
    let message = body["messages"].to_string();
    assert!(
        message.contains("Of [one] in @src/a.txt") && message.contains("The user mentioned"),
        "{message}"
    );
    assert!(
        sent(&place, &["--trust", "/plain !`touch evil`"]).0["messages"]
            .to_string()
            .contains("It is here for")
    );
    assert!(!place.project().join("evil").exists(), "what the user types is no command");
    // They are judged as the model's are.
    std::fs::remove_file(place.project().join("made")).unwrap();
    place.file(".claude/commands/send.md", "Got !`curl http://127.0.0.1:9/` and !`touch made`.\n");
    let (body, said) = sent(&place, &["--trust", "--permission", "ask", "/send"]);
    assert!(body["messages"].to_string().contains("did not run"), "{body}");
    assert!(said.contains("whose output belongs in the prompt, did not run"), "{said}");
    assert!(!place.project().join("made").exists());
    let (body, _) = sent(&place, &["--trust", "--permission", "ask", "/look a"]);
    assert!(place.project().join("made").exists(), "its allowed-tools: {body}");
}

#[test]
fn a_command_runs_with_its_model() {
    let place = Workplace::new();
    place.file(".claude/commands/deep.md", "---\nmodel: other-model\n---\nThink.\n");
    place.file(".claude/commands/usual.md", "---\nmodel: opus\n---\nThink.\n");
    let (body, _) = sent(&place, &["--trust", "/deep"]);
    assert_eq!(body["model"], json!("other-model"));
    let (body, said) = sent(&place, &["--trust", "/usual"]);
    assert_eq!(body["model"], json!("test-model"));
    assert!(said.contains("/usual asks for the model opus, which isn't available here"), "{said}");
}
