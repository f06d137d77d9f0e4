//! `mycode policy check` and `mycode trust`, through the real binary.

use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;
use serde_json::Value;

fn check(place: &Workplace, args: &[&str]) -> Value {
    let mut all = vec!["policy", "check", "--json"];
    all.extend(args);
    let output = place.command(&all).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn the_verdict_names_every_segment() {
    let place = Workplace::new();
    let found = check(
        &place,
        &[
            "--permission",
            "auto",
            "--confined",
            "yes",
            "--",
            "cargo test && curl https://x.example > a | tail",
        ],
    );
    assert_eq!(found["verdict"], "ask");
    let segments = found["segments"].as_array().unwrap();
    let programs: Vec<&str> = segments.iter().map(|s| s["argv"][0].as_str().unwrap()).collect();
    assert_eq!(programs, ["cargo", "curl", "tail"]);
    assert_eq!(segments[0]["verdict"], "allow");
    assert_eq!(segments[1]["verdict"], "ask");
    assert!(segments[1]["effects"].to_string().contains("net x.example"), "{}", segments[1]);
    assert!(segments[1]["effects"].to_string().contains("write a"), "{}", segments[1]);
    assert!(found["reason"].as_str().unwrap().contains("network"));
}

#[test]
fn levels_and_confinement_decide() {
    let place = Workplace::new();
    let verdict = |args: &[&str]| check(&place, args)["verdict"].as_str().unwrap().to_owned();
    assert_eq!(verdict(&["--permission", "read-only", "--", "ls", "-la"]), "allow");
    assert_eq!(verdict(&["--permission", "read-only", "--", "touch x"]), "deny");
    assert_eq!(verdict(&["--permission", "ask", "--", "touch x"]), "ask");
    assert_eq!(verdict(&["--permission", "auto", "--confined", "no", "--", "touch x"]), "allow");
    assert_eq!(verdict(&["--permission", "auto", "--confined", "no", "--", "some-tool"]), "ask");
    assert_eq!(verdict(&["--permission", "auto", "--confined", "yes", "--", "some-tool"]), "allow");
    assert_eq!(verdict(&["--permission", "full", "--", "sudo x"]), "allow");
    assert_eq!(verdict(&["--permission", "full", "--", "rm -rf /"]), "deny");
    assert_eq!(verdict(&["--permission", "auto", "--", "echo 'open"]), "ask");
}

#[test]
fn what_is_shown_to_people_cannot_steer_the_terminal() {
    let place = Workplace::new();
    let output =
        place.command(&["policy", "check", "--", "echo \u{1b}]0;x\u{7} \u{202e}a"]).output().unwrap();
    assert!(!stdout(&output).contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", stdout(&output));
    assert!(stdout(&output).contains("<U+202E>"));
}

#[test]
fn a_project_sets_nothing_personal_until_it_is_trusted_as_it_is() {
    let place = Workplace::new();
    let level = || check(&place, &["--", "cat ~/.ssh/id_rsa"])["verdict"].as_str().unwrap().to_owned();
    assert_eq!(level(), "ask");
    place.file(".mycode/config.toml", "permission = \"full\"\n");
    assert_eq!(level(), "ask", "an untrusted folder loosens nothing");
    let output = place.command(&["trust"]).output().unwrap();
    assert!(stdout(&output).contains("permission = \"full\""), "{}", stdout(&output));
    assert_eq!(level(), "allow");
    // Other text, other trust.
    place.file(".mycode/config.toml", "permission = \"full\" # changed\n");
    assert_eq!(level(), "ask");
    place.command(&["trust"]).output().unwrap();
    assert_eq!(level(), "allow");
    place.command(&["trust", "--revoke"]).output().unwrap();
    assert_eq!(level(), "ask");
    assert_eq!(check(&place, &["--trust", "--", "cat ~/.ssh/id_rsa"])["verdict"], "allow", "this once");
    assert_eq!(level(), "ask");
    // The trust itself is the user's, not the folder's.
    let names: Vec<_> = std::fs::read_dir(place.project().join(".mycode")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1);
}

#[test]
fn a_key_under_any_name_stays_from_children() {
    let place = Workplace::new();
    std::fs::write(
        place.home().join("config.toml"),
        "api_key_env = \"MY_PASS_TO_AI\"\nbase_url = \"http://localhost:9/v1\"\nmodel = \"m\"\n",
    )
    .unwrap();
    let mut command =
        place.command(&["--permission", "full", "tool", "Bash", "--args", r#"{"command": "env"}"#]);
    let output = command.env("MY_PASS_TO_AI", "quite-secret").env("OTHER", "is-seen").output().unwrap();
    assert!(stdout(&output).contains("is-seen"), "{}{}", stdout(&output), stderr(&output));
    assert!(!stdout(&output).contains("quite-secret"));
}

#[test]
fn an_error_cannot_steer_the_terminal() {
    let place = Workplace::new();
    let output = place.command(&["-C", "no\u{1b}]0;x\u{7}\u{202e}where", "sessions"]).output().unwrap();
    assert!(!output.status.success());
    assert!(!stderr(&output).contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", stderr(&output));
}
