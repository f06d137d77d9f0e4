//! The redaction boundary seen from outside: a secret never reaches the model server, the session log or a program that
//! reads our output, and an edit around one keeps the real bytes.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;
use crate::support::workplace::Workplace;
use crate::support::workplace::stdout;

const KEY: &str = "sk-proj-9aZ8bY7cX6dW5eV4fU3g";

fn mark(text: &str) -> String {
    let from = text.find("<REDACTED").expect("a placeholder");
    text[from..from + text[from..].find('>').unwrap() + 1].to_owned()
}

#[tokio::test]
async fn edits_keep_real_secrets() {
    let bench = Bench::new();
    let text = format!("host = \"a\"\napi_key = \"{KEY}\"\nport = 1\n");
    bench.put("settings.toml", &text);
    let shown = bench.read("settings.toml").await.body;
    assert!(!shown.contains(KEY), "{shown}");
    let mark = mark(&shown);
    let old = format!("host = \"a\"\napi_key = \"{mark}\"");
    let new = format!("host = \"b\"\napi_key = \"{mark}\" # mine");
    let edit =
        bench.call("Edit", json!({"path": "settings.toml", "old_string": old, "new_string": new})).await;
    assert_ok(&edit);
    assert_eq!(bench.text("settings.toml"), format!("host = \"b\"\napi_key = \"{KEY}\" # mine\nport = 1\n"));
    let whole = format!("api_key = \"{mark}\"\n");
    assert_ok(&bench.call("Write", json!({"path": "settings.toml", "content": whole})).await);
    assert_eq!(bench.text("settings.toml"), format!("api_key = \"{KEY}\"\n"));
}

#[tokio::test]
async fn placeholders_are_never_written() {
    let bench = Bench::new();
    bench.put(".env", format!("TOKEN={KEY}\n"));
    bench.put("b.txt", "nothing\n");
    bench.put("literal.rs", "const MARK: &str = \"<REDACTED>\";\n");
    let mark = mark(&bench.read(".env").await.body);
    let elsewhere = bench.edit("b.txt", "nothing", &mark, false).await;
    assert_error(&elsewhere, "INVALID_PARAM", "not in this file");
    for unknown in ["<REDACTED:api-key-77>", "<REDACTED>"] {
        let error = bench.edit("b.txt", "nothing", unknown, false).await;
        assert_error(&error, "INVALID_PARAM", "no known secret");
        let error = bench.call("Write", json!({"path": "new.txt", "content": unknown})).await;
        assert_error(&error, "INVALID_PARAM", "no known secret");
    }
    assert_eq!(bench.text("b.txt"), "nothing\n");
    assert!(!bench.path("new.txt").exists());
    let literal = bench.edit("literal.rs", "\"<REDACTED>\"", "\"<REDACTED>!\"", false).await;
    assert_ok(&literal);
    let command = bench.bash(&format!("echo '{mark}'")).await;
    assert_error(&command, "INVALID_PARAM", "is a placeholder for a secret");
}

/// Code that is split up takes its secrets along.
#[tokio::test]
async fn a_secret_moves_between_files_of_the_workspace() {
    let bench = Bench::new();
    bench.put("config.py", format!("api_key = \"{KEY}\"\n"));
    let mark = mark(&bench.read("config.py").await.body);
    let moved = json!({"path": "keys.py", "content": format!("api_key = \"{mark}\"\n")});
    assert_ok(&bench.call("Write", moved).await);
    assert_eq!(bench.text("keys.py"), format!("api_key = \"{KEY}\"\n"));
}

#[tokio::test]
async fn line_numbers_behind_a_private_key() {
    let bench = Bench::new();
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}Z\n-----END PRIVATE KEY-----");
    bench.put("key.pem", format!("first\n{key}\nlast\n"));
    let read = bench.read("key.pem").await;
    assert_eq!(read.body, "1\tfirst\n2\t<REDACTED:private-key-1>\n6\tlast");
    // A part of the key without its frame is known by then.
    let part = bench.bash("sed -n 3p key.pem").await;
    assert!(!part.body.contains(line), "{}", part.body);
    assert_ok(
        &bench
            .edit("key.pem", "<REDACTED:private-key-1>\nlast", "<REDACTED:private-key-1>\nend", false)
            .await,
    );
    assert_eq!(bench.text("key.pem"), format!("first\n{key}\nend\n"));
}

#[test]
fn exec_leaks_no_secret() {
    let place = Workplace::new();
    place.file("conf/app.yaml", format!("name: x\npassword: {KEY}\n"));
    place.file(".env", "SHORT=Abc-77\nDB_PASSWORD=tiger-lily\n");
    place.file("CODE_LAW.md", "# Law\nThe token is ghp_0123456789abcdefghijABCDEFGHIJ012345.\n");
    place.file("color.txt", format!("\u{1b}[31m{}\u{1b}[0m{}\n", &KEY[..9], &KEY[9..]));
    place.file(&format!("a_{KEY}.txt"), "x\n");
    place.file(
        ".mycode/skills/s/SKILL.md",
        format!("---\nname: s\ndescription: with {KEY}\n---\nUse {KEY}.\n"),
    );
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "color.txt"})).into(),
        answer().call("Read", json!({"path": "conf/app.yaml"})).into(),
        answer().call("Bash", json!({"command": "cat .env; cat conf/app.yaml >&2; exit 3"})).into(),
        answer().call("Grep", json!({"pattern": "password"})).into(),
        answer().call("Read", json!({"path": format!("{KEY}.txt")})).into(),
        answer().call("Write", json!({"path": "made.env", "content": "PASSWORD=Zx81-spectrum\n"})).into(),
        answer().call("TodoWrite", json!({"todos": [{"content": KEY, "status": "in_progress"}]})).into(),
        answer().text("Done.").into(),
    ]);
    let prompt = format!("deploy @a_{KEY}.txt with password=pr0mpt-S3cret and key {KEY}");
    let part = format!("Your key is {KEY}.");
    let args = ["--json", "--trust", "--append-system-prompt", &part, &prompt];
    let output = place.exec(&server.base_url(), &args);
    let sent: String = server.requests().iter().map(|request| request.raw.clone()).collect();
    let log = std::fs::read_to_string(place.log()).unwrap();
    let secrets = [
        KEY,
        "Abc-77",
        "tiger-lily",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "pr0mpt-S3cret",
        "Zx81-spectrum",
    ];
    for (name, text) in [("request", &sent), ("log", &log), ("exec --json", &stdout(&output))] {
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} in {name}: {text}");
        }
        assert!(text.contains("<REDACTED:"), "{name}");
    }
    assert_eq!(place.text("made.env"), "PASSWORD=Zx81-spectrum\n", "the file gets what was meant");
}

#[tokio::test]
async fn placeholders_after_a_resume() {
    let place = Workplace::new();
    place.file("a.txt", format!("one {KEY}\ntwo\n"));
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer().text("Seen.").into(),
    ]);
    let output = place.exec(&server.base_url(), &["look"]);
    assert!(output.status.success());
    let edit = |mark: &str| {
        answer().call(
            "Edit",
            json!({"path": "a.txt", "old_string": format!("one {mark}"), "new_string": format!("1 {mark}")}),
        )
    };
    server.push(edit("<REDACTED:api-key-1>"));
    server.push(answer().call("Read", json!({"path": "a.txt"})));
    server.push(edit("<REDACTED:api-key-2>"));
    server.push(answer().text("Done."));
    let again = ["exec", "--base-url", &server.base_url(), "--model", "test-model", "-c", "go on"];
    let output = place.command(&again).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let last = server.requests().pop().unwrap().raw;
    assert!(last.contains("no known secret"), "{last}");
    assert_eq!(place.text("a.txt"), format!("1 {KEY}\ntwo\n"));
}

/// Secrets of many kinds, each with the text that gives it away, built from random letters.
fn secret() -> impl Strategy<Value = (String, String)> {
    ("[a-z0-9]{24}[0-9][a-z][A-Z0-9]{10}", 0usize..7).prop_map(|(random, kind)| match kind {
        0 => (format!("sk-{random}"), "{}".to_owned()),
        1 => (format!("ghp_{random}"), "{}".to_owned()),
        2 => (random, "password = \"{}\"".to_owned()),
        3 => (random, "API_TOKEN={}".to_owned()),
        4 => (random, "https://user:{}@host/x".to_owned()),
        5 => (random, "Authorization: Bearer {}".to_owned()),
        _ => (format!("glpat-{}", &random[..20]), "{}".to_owned()),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn planted_secrets_are_redacted((value, frame) in secret(), before in 0usize..3_000, behind in 0usize..3_000, way in 0usize..4) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let place = Workplace::new();
        let filler = |count: usize| "plain words of a line here\n".repeat(count);
        let line = frame.replace("{}", &value);
        let text = format!("{}{line}\n{}", filler(before), filler(behind));
        place.file("deep/data.txt", &text);
        let call: Value = json!({"path": "deep/data.txt", "start_line": before.saturating_sub(3) + 1, "limit": 10});
        let first = match way {
            0 => answer().call("Read", call),
            1 => answer().call("Bash", json!({"command": "cat deep/data.txt"})),
            2 => answer().call("Grep", json!({"pattern": "."})),
            _ => answer().call("Bash", json!({"command": format!("printf '%s\n' '{line}' >&2; false")})),
        };
        let server = FakeServer::start(vec![first.into(), answer().text("Done.").into()]);
        let config = format!("provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"\n", server.base_url());
        let _inside = runtime.enter();
        let mut agent = TestAgent::start(&place, &config, false);
        runtime.block_on(agent.turn(&format!("look at {line}")));
        for request in server.requests() {
            prop_assert!(!request.raw.contains(&value), "{}", request.raw);
        }
        prop_assert!(!std::fs::read_to_string(place.log()).unwrap().contains(&value));
        for event in &agent.seen {
            prop_assert!(!format!("{event:?}").contains(&value), "{event:?}");
        }
    }
}

#[test]
fn what_the_index_keeps_is_private_and_holds_no_secrets() {
    use std::os::unix::fs::PermissionsExt;
    let place = Workplace::new();
    let word = "tiger9lily7quartz";
    place.file("settings.toml", format!("mango_color = \"red\"\napi_key = \"{word}\"\n"));
    place.file("prod.env", "GREETING=Xylophone Zebra\n");
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", &format!("password={word}")]] {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=T", "-c", "user.email=t@x.example", "-c", "commit.gpgsign=false"]);
        assert!(git.args(args).current_dir(place.project()).status().unwrap().success());
    }
    let state = place.home().join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(place.command(&["locate", "mango color"]).output().unwrap().status.success());
    let mut kept = Vec::new();
    for entry in walkdir::WalkDir::new(&state).into_iter().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{mode:o} {}", entry.path().display());
        if entry.file_type().is_file() {
            kept.extend(std::fs::read(entry.path()).unwrap());
        }
    }
    // Words share their beginnings with the word before.
    let kept = String::from_utf8_lossy(&kept);
    for (word, wanted) in [("ango", true), ("quartz", false), ("ophone", false)] {
        assert_eq!(kept.contains(word), wanted, "{word}");
    }
}
