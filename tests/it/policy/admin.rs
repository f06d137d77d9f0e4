//! What the administrator of a machine locks, nobody loosens; `doctor` and `policy check` say where a setting stands.

use std::fs;
use std::process::Output;

use serde_json::json;

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn place(admin: &str) -> Workplace {
    let place = Workplace::new();
    fs::write(place.user_home().join("admin.toml"), admin).unwrap();
    place
}

fn run(place: &Workplace, args: &[&str], vars: &[(&str, &str)]) -> Output {
    let mut command = place.command(args);
    command.env("MYCODE_ADMIN_CONFIG", place.user_home().join("admin.toml"));
    command.envs(vars.iter().copied()).output().unwrap()
}

/// What the model saw of a command that it ran.
fn seen(place: &Workplace, args: &[&str], command: &str) -> (String, String) {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": command})).into(),
        answer().text("Done.").into(),
    ]);
    let url = server.base_url();
    let out = run(place, &[&["exec", "--base-url", &url, "--model", "m"], args, &["go"]].concat(), &[]);
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{}", stderr(&out));
    let messages = requests[1].body["messages"].as_array().unwrap().clone();
    (messages.last().unwrap().to_string(), stderr(&out))
}

#[test]
fn a_locked_level_is_loosened_by_nothing() {
    let place = place("permission = \"read-only\"\nlocked = [\"permission\", \"sandbox\"]\n");
    fs::write(place.home().join("config.toml"), "permission = \"full\"\nsandbox = false\n").unwrap();
    place.file(".mycode/config.toml", "permission = \"full\"\n");
    for args in [&["--permission", "full"][..], &["--trust"], &[]] {
        let (told, said) = seen(&place, args, "touch made.txt");
        assert!(!place.project().join("made.txt").exists(), "{told}");
        assert!(told.contains("read-only"), "{told}");
        assert!(said.contains("admin.toml locks this setting"), "{said}");
    }
    let variables = [("MYCODE_PERMISSION", "full"), ("MYCODE_SANDBOX", "false")];
    let checked = stdout(&run(&place, &["policy", "check", "--", "touch", "made.txt"], &variables));
    assert!(checked.starts_with("deny: the permission level is read-only"), "{checked}");
    assert!(checked.contains("admin.toml)"), "{checked}");
    let doctor = stdout(&run(&place, &["doctor"], &variables));
    assert!(
        doctor.contains("permission = \"read-only\" (") && doctor.contains("admin.toml, locked)"),
        "{doctor}"
    );
    assert!(!doctor.contains("off (sandbox = false)"), "{doctor}");
    // A program that drives us is a user, too.
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "touch made.txt"})).into(),
        answer().text("Done.").into(),
    ]);
    let lines = [
        json!({"type": "control_request", "request_id": "1",
            "request": {"subtype": "set_permission_mode", "mode": "bypassPermissions"}}),
        json!({"type": "user", "message": {"role": "user", "content": "go"}}),
    ];
    let input = lines.map(|line| format!("{line}\n")).concat();
    fs::write(place.user_home().join("input"), input).unwrap();
    let mut command = place.command(&[
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--verbose",
        "--base-url",
        &server.base_url(),
        "--model",
        "m",
    ]);
    command.env("MYCODE_ADMIN_CONFIG", place.user_home().join("admin.toml"));
    command.stdin(fs::File::open(place.user_home().join("input")).unwrap());
    let out = command.output().unwrap();
    assert!(!place.project().join("made.txt").exists(), "{}", stdout(&out));
    assert_eq!(server.requests().len(), 2, "{}", stderr(&out));
}

#[test]
fn a_stricter_level_may_be_set() {
    let place = place("permission = \"auto\"\nlocked = [\"permission\"]\n");
    let (_, said) = seen(&place, &["--permission", "read-only"], "touch made.txt");
    assert!(!place.project().join("made.txt").exists() && !said.contains("locks"), "{said}");
    seen(&place, &["--permission", "full"], "touch made.txt");
    assert!(place.project().join("made.txt").exists());
}

#[test]
fn rules_of_the_administrator_come_first() {
    let place = place(
        "locked = [\"permissions\"]\n[permissions]\ndeny = [\"Bash(touch *)\"]\nask = [\"Bash(git push *)\"]\n\
         allow = [\"Bash(curl *)\"]\n",
    );
    fs::write(
        place.home().join("config.toml"),
        "nudges = false\n[permissions]\nallow = [\"Bash(touch *)\", \"Bash(wget *)\"]\n",
    )
    .unwrap();
    let check = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        stdout(&run(&place, &[&["policy", "check", "--permission", "full", "--"], &words[..]].concat(), &[]))
    };
    let denied = check("touch made.txt");
    assert!(denied.starts_with("deny: a rule forbids it (deny Bash(touch *) in "), "{denied}");
    assert!(check("git push origin main").starts_with("ask: a rule asks first (ask Bash(git push *) in "));
    let told = stdout(&run(&place, &["policy", "check", "--permission", "ask", "--", "git", "push"], &[]));
    assert!(told.contains("(ask Bash(git push *) in ") && told.contains("needs the network"), "{told}");
    let of_auto = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        stdout(&run(&place, &[&["policy", "check", "--permission", "auto", "--"], &words[..]].concat(), &[]))
    };
    let theirs = of_auto("curl https://example.org");
    assert!(theirs.starts_with("allow:") && theirs.contains("allow Bash(curl *) in "), "{theirs}");
    assert!(of_auto("wget https://example.org").starts_with("ask:"));
    let (_, said) = seen(&place, &["--allow", "Bash(wget *)"], "touch made.txt");
    assert!(!place.project().join("made.txt").exists());
    assert!(said.contains("config.toml, --allow: allow rules are ignored"), "{said}");
}

#[test]
fn a_locked_server_gets_all_requests() {
    let (theirs, other) = (FakeServer::start(vec![answer().text("Hi.").into()]), FakeServer::start(vec![]));
    let place = place(&format!(
        "base_url = \"{}\"\nmodel = \"ours\"\nlocked = [\"base_url\", \"model\"]\n",
        theirs.base_url()
    ));
    let url = other.base_url();
    let variables = [("OPENAI_BASE_URL", &*url), ("MYCODE_BASE_URL", &url), ("DEEPSEEK_API_KEY", "k")];
    let args = ["exec", "--base-url", &url, "--model", "deepseek/x", "--provider", "anthropic", "go"];
    let out = run(&place, &args, &variables);
    assert!(other.requests().is_empty(), "{}", stderr(&out));
    let requests = theirs.requests();
    assert_eq!((requests.len(), &requests[0].body["model"]), (1, &json!("ours")), "{}", stderr(&out));
}

#[test]
fn a_mistake_in_that_file_stops_everything_with_its_reason() {
    for (text, why) in [
        (
            "locked = [\"permision\"]\n",
            "`locked` names 'permision', but there is no such setting; did you mean 'permission'?",
        ),
        ("permision = \"auto\"\n", "permision"),
        ("locked = true\n", "`locked` is a list of keys"),
    ] {
        let out = run(&place(text), &["exec", "go"], &[]);
        assert_eq!(out.status.code(), Some(3));
        assert!(stderr(&out).contains(why), "{}", stderr(&out));
    }
    // Only the administrator locks.
    let user = Workplace::new();
    fs::write(user.home().join("config.toml"), "locked = [\"permission\"]\n").unwrap();
    assert_eq!(user.command(&["exec", "go"]).output().unwrap().status.code(), Some(3));
}
