//! Permission rules in files: the user's and the project's `[permissions]`, and Claude Code's settings as they are.

use serde_json::json;

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// Runs one command; returns what the model saw of it, and what the user was told.
fn run(place: &Workplace, flags: &[&str], command: &str) -> (String, String) {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": command})).into(),
        answer().text("Done.").into(),
    ]);
    let out = place.exec(&server.base_url(), &[flags, &["go"]].concat());
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{}", stderr(&out));
    (requests[1].body["messages"].as_array().unwrap().last().unwrap().to_string(), stderr(&out))
}

fn place(rules: &str) -> Workplace {
    let place = Workplace::new();
    place.file("a.txt", "one\n").file(".mycode/config.toml", rules);
    place
}

#[test]
fn a_project_forbids_at_once_and_allows_once_trusted() {
    let rules =
        "[permissions]\nallow = [\"Bash(touch *)\"]\nask = [\"Bash(mkdir *)\"]\ndeny = [\"Edit(a.txt)\"]\n";
    let (seen, _) = run(&place(rules), &["--permission", "full"], "echo two > a.txt");
    assert!(seen.contains("a rule forbids it (deny Edit(a.txt) in .mycode/config.toml)"), "{seen}");
    let (seen, _) = run(&place(rules), &["--permission", "full"], "mkdir d");
    assert!(seen.contains("a rule asks first (ask Bash(mkdir *) in .mycode/config.toml)"), "{seen}");
    let (seen, told) = run(&place(rules), &["--permission", "ask"], "touch b.txt");
    assert!(seen.contains("PERMISSION_DENIED"), "{seen}");
    assert!(told.contains("sets permissions.allow"), "{told}");
    let trusted = place(rules);
    let (seen, _) = run(&trusted, &["--permission", "ask", "--trust"], "touch b.txt");
    assert!(!seen.contains("PERMISSION_DENIED"), "{seen}");
    assert!(trusted.project().join("b.txt").exists());
}

#[test]
fn settings_of_claude_code_are_read_as_they_are() {
    let settings = json!({"permissions": {
        "allow": ["Bash(touch:*)", "Edit(src/**)"],
        "deny": ["Read(./.env)", "Bash(rm:*)", "Frobnicate"],
        "defaultMode": "acceptEdits",
    }});
    let place = Workplace::new();
    place
        .file(".claude/settings.json", settings.to_string())
        .file(".env", "COLOR=mauve\n")
        .file("a.txt", "x");
    let (seen, told) = run(&place, &["--permission", "auto"], "cat .env");
    assert!(!seen.contains("mauve") && seen.contains("deny Read(./.env) in .claude/settings.json"), "{seen}");
    assert!(told.contains("can't be used: deny Frobnicate (there is no such tool)"), "{told}");
    let (seen, _) = run(&place, &["--permission", "full"], "rm a.txt");
    assert!(seen.contains("deny Bash(rm:*)") && place.project().join("a.txt").exists(), "{seen}");
    let (seen, _) = run(&place, &["--permission", "ask"], "touch b.txt");
    assert!(seen.contains("PERMISSION_DENIED"), "{seen}");
    let (_, told) = run(&place, &["--permission", "ask", "--trust"], "touch b.txt");
    assert!(place.project().join("b.txt").exists(), "{told}");
    let check = place.command(&["policy", "check", "--", "rm a.txt"]).output().unwrap();
    assert!(stdout(&check).starts_with("deny: a rule forbids it"), "{}", stdout(&check));
}

#[test]
fn settings_of_opencode_are_read_as_they_are() {
    let settings = r#"{
        // The last rule that fits decides.
        "permission": {
            "bash": {"*": "deny", "cat *": "allow", "touch *": "allow", "touch c*": "deny"},
            "read": {"*.env.*": "deny", "*.env.example": "allow"},
            "external_directory": "deny",
        }
    }"#;
    let place = Workplace::new();
    place.file("opencode.jsonc", settings).file("a.env.local", "mauve\n").file("a.env.example", "teal\n");
    let full = ["--permission", "full"];
    let (seen, told) = run(&place, &full, "cat a.env.example");
    assert!(
        seen.contains("teal") && told.contains("permission.external_directory in opencode.jsonc"),
        "{told}"
    );
    for (command, rule) in [
        ("cat a.env.local", "deny Read(*.env.*) except (*.env.example) in opencode.jsonc"),
        ("cat a.env.example && mkdir d", "deny Bash except (cat *) (touch *) in opencode.jsonc"),
        ("cat a.env.example; $TOOL", "deny Bash except"),
        ("./cat a.env.example", "deny Bash except"),
        ("touch c.txt", "deny Bash(touch c*) in opencode.jsonc"),
    ] {
        let (seen, _) = run(&place, &full, command);
        assert!(seen.contains(rule) && !seen.contains("mauve"), "{seen}");
    }
    assert!(!place.project().join("d").exists());
    let (seen, _) = run(&place, &["--permission", "ask"], "touch b.txt");
    assert!(seen.contains("PERMISSION_DENIED"), "{seen}");
    let (_, told) = run(&place, &["--permission", "ask", "--trust"], "touch b.txt");
    assert!(place.project().join("b.txt").exists(), "{told}");
}

#[test]
fn a_wrong_rule_of_ours_is_an_error_and_an_unknown_key_of_the_project_is_not() {
    let wrong = place("[permissions]\ndeny = [\"Frobnicate\"]\n");
    let out = wrong.exec("http://127.0.0.1:9/v1", &["go"]);
    assert!(
        stderr(&out).contains(".mycode/config.toml: deny Frobnicate: there is no such tool"),
        "{}",
        stderr(&out)
    );
    for (text, said) in [
        ("max_stepz = 3\n", "sets max_stepz, which this version doesn't know. Ignored."),
        ("max_steps = [\n", "it is not a valid configuration"),
        ("[permissions]\ndenny = [\"Bash(true *)\"]\n", "It counts as permissions.deny."),
    ] {
        let (_, told) = run(&place(text), &["--permission", "full"], "true");
        assert!(told.contains(said), "{told}");
        let doctor = place(text).command(&["doctor"]).output().unwrap();
        assert!(stdout(&doctor).contains("sandbox"), "{}", stderr(&doctor));
    }
    let own = place("");
    std::fs::write(own.home().join("config.toml"), "permision = \"auto\"\n").unwrap();
    let refused = stderr(&own.exec("http://127.0.0.1:9/v1", &["go"]));
    assert!(refused.contains("did you mean `permission`?"), "{refused}");
    let doctor = own.command(&["doctor"]).output().unwrap();
    let said = stdout(&doctor);
    assert!(said.contains("did you mean `permission`?") && said.contains("\nsandbox "), "{said}");
    assert_eq!(doctor.status.code(), Some(3), "{said}");
}
