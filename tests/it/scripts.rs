//! Command lines and event lines written for other agents: what `claude -p` and `codex exec` take and print. `sdks.rs`
//! tries the vendors' packages themselves.

use std::fs::File;

use serde_json::{Value, json};

use crate::support::answer::{Reply, answer, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn call(name: &str, args: Value) -> Reply {
    answer().call(name, args).into()
}

fn text(text: &str) -> Reply {
    answer().text(text).into()
}

fn lines(printed: &str) -> Vec<Value> {
    printed.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// As the SDK starts it, with the prompt on standard input.
fn codex(place: &Workplace, server: &FakeServer, args: &[&str], prompt: &str) -> std::process::Output {
    place.file("../prompt", prompt);
    let address = format!("openai_base_url={:?}", server.base_url());
    let mut all = vec!["exec", "--experimental-json", "--config", &address, "--model", "m"];
    all.extend(args);
    let prompt = File::open(place.project().join("../prompt")).unwrap();
    place.command(&all).env("CODEX_API_KEY", "sk-codex").stdin(prompt).output().unwrap()
}

#[test]
fn a_codex_thread() {
    let place = Workplace::new();
    let todos = json!({"todos": [{"content": "look", "status": "completed"}]});
    let server = FakeServer::start(vec![
        call("Bash", json!({"command": "echo out; exit 3"})),
        call("Write", json!({"path": "b.txt", "content": "x\n"})),
        answer().call("TodoWrite", todos).call("Read", json!({"path": "none"})).into(),
        answer().reasoning("Hm.").text("Done.").usage(90, 20, 7).into(),
        text("```json\n{\"a\": 1}\n```"),
        text("Again."),
    ]);
    let settings = [
        "--sandbox",
        "workspace-write",
        "--cd",
        ".",
        "--skip-git-repo-check",
        "--config",
        "approval_policy=\"never\"",
        "--config",
        "sandbox_workspace_write.network_access=true",
        "--thread-source",
        "x",
    ];
    let out = codex(&place, &server, &settings, "do it");
    assert!(out.status.success(), "{}", stderr(&out));
    assert!(stderr(&out).contains("network only with --sandbox danger-full-access"), "{}", stderr(&out));
    let all = lines(&stdout(&out));
    let kinds: Vec<String> = all
        .iter()
        .map(|line| {
            [&line["type"], &line["item"]["type"]].map(|kind| kind.as_str().unwrap_or_default()).join(" ")
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "thread.started ",
            "turn.started ",
            "item.started command_execution",
            "item.completed command_execution",
            "item.completed file_change",
            "item.started todo_list",
            "item.started command_execution",
            "item.completed command_execution",
            "item.completed reasoning",
            "item.completed agent_message",
            "item.completed todo_list",
            "turn.completed ",
        ]
    );
    let ran = &all[3]["item"];
    assert_eq!(ran["command"], "echo out; exit 3");
    assert_eq!((&ran["exit_code"], &ran["status"]), (&json!(3), &json!("failed")));
    assert!(ran["aggregated_output"].as_str().unwrap().contains("out"), "{ran}");
    assert_eq!(all[4]["item"]["changes"], json!([{"path": "b.txt", "kind": "add"}]));
    assert_eq!(all[7]["item"]["exit_code"], 1);
    assert!(all[11]["usage"]["cached_input_tokens"].as_u64() >= Some(20), "{}", all[11]);
    assert_eq!(server.requests()[0].header("authorization"), "Bearer sk-codex");

    // The thread goes on; its answer is the JSON alone.
    let thread = all[0]["thread_id"].as_str().unwrap();
    place.file("schema.json", json!({"type": "object", "required": ["a"]}).to_string());
    let out = codex(&place, &server, &["--output-schema", "schema.json", "resume", thread], "as JSON");
    let all = lines(&stdout(&out));
    assert_eq!(
        (&all[0]["thread_id"], &all[all.len() - 2]["item"]["text"]),
        (&json!(thread), &json!("{\"a\":1}"))
    );
    assert!(server.requests()[4].raw.contains("do it"));
    let out = codex(&place, &server, &["resume", "--last", "go on"], "");
    assert!(server.requests()[5].raw.contains("as JSON") && server.requests()[5].raw.contains("go on"));
    assert!(out.status.success(), "{}", stderr(&out));
}

#[test]
fn a_codex_turn_that_fails() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![status(400, "no")]);
    let out = codex(&place, &server, &[], "do it");
    let last = lines(&stdout(&out)).pop().unwrap();
    assert_eq!((out.status.code(), &last["type"]), (Some(1), &json!("turn.failed")));
    assert!(last["error"]["message"].as_str().is_some_and(|message| message.contains("400")), "{last}");
}

#[test]
fn codex_options_are_ours_or_say_what_is() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![text("1"), text("2"), text("3"), text("4")]);
    let run = |args: &[&str]| {
        let url = server.base_url();
        let out =
            place.command(&[&["exec", "--base-url", &url, "--model", "m"], args].concat()).output().unwrap();
        (out.status.code(), stdout(&out), stderr(&out))
    };
    for (args, code, said) in [
        (&["-s", "none", "x"][..], 2, "read-only, workspace-write or danger-full-access"),
        (&["--oss", "x"], 2, "--base-url http://localhost:11434/v1"),
        (&["-p", "fast", "x"], 2, "there are no profiles"),
        (&["-i", "none.png", "x"], 2, "none.png"),
        (&["resume", "20200101-000000-none", "x"], 2, "20200101-000000-none"),
        (&["-c", "model_verbosity=low", "--ephemeral", "--full-auto", "first task"], 0, "model_verbosity"),
        // A task, not the command.
        (&["resume the download code"], 0, ""),
        // Ours.
        (&["-c", "and on"], 0, ""),
        (&["resume", "--json"], 2, "the task is empty"),
    ] {
        let (got, out, err) = run(args);
        assert!(got == Some(code) && err.contains(said), "{args:?}: {got:?} {out}\n{err}");
    }
    let last = &server.requests()[2].raw;
    assert!(last.contains("resume the download code") && last.contains("and on"), "{last}");
}
