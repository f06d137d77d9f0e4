//! The vendors' own packages drive the binary, where `MYCODE_SDKS` names a folder for them: `tests/sdk/install` fetches what it
//! lacks. The forms that they read are tested without them in `scripts.rs`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::support::answer::{answer, status};
use crate::support::replies::{call, text};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();

/// What `script` found out; `None` if it can't be run here.
fn drive(program: &str, script: &str, place: &Workplace, server: &FakeServer) -> Option<Value> {
    let Some(folder) = std::env::var_os("MYCODE_SDKS") else {
        eprintln!("skipped: MYCODE_SDKS does not name a folder for the vendors' packages");
        return None;
    };
    let scripts = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk"));
    let install = || Command::new(scripts.join("install")).arg(&folder).output();
    let installed = INSTALLED.get_or_init(|| match install() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(stderr(&output)),
        Err(error) => Err(error.to_string()),
    });
    if let Err(why) = installed {
        eprintln!("skipped: the packages can't be installed: {why}");
        return None;
    }
    let out = Command::new(program)
        .arg(scripts.join(script))
        .arg(folder)
        .args([env!("CARGO_BIN_EXE_mycode"), &server.base_url()])
        .arg(place.project())
        .env("MYCODE_HOME", place.home())
        .env("HOME", place.user_home())
        .output()
        .unwrap();
    let said = stdout(&out);
    Some(
        serde_json::from_str(said.lines().last().unwrap_or_default())
            .unwrap_or_else(|_| panic!("{said}{}", stderr(&out))),
    )
}

#[test]
fn codex_typescript() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![
        call("Write", json!({"path": "b.txt", "content": "x\n"})),
        text("Done."),
        answer().text("{\"a\": 1}").usage(90, 20, 7).into(),
        text("On."),
        status(400, "no"),
    ]);
    let Some(found) = drive("node", "codex.mjs", &place, &server) else { return };
    assert_eq!(
        found["kinds"],
        json!(["thread.started", "turn.started", "file_change", "agent_message", "turn.completed"])
    );
    assert_eq!((&found["json"], &found["resumed"]), (&json!({"a": 1}), &json!("On.")));
    assert_eq!(found["usage"]["cached_input_tokens"], 20);
    assert!(found["failed"].as_str().unwrap().contains("400"), "{found}");
    assert_eq!(server.requests()[0].header("authorization"), "Bearer sk-codex");
}

#[test]
fn claude_typescript() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![
        call("Write", json!({"path": "b.txt", "content": "x\n"})),
        call("Bash", json!({"command": "touch made"})),
        text("Done."),
        text("1"),
        text("2"),
        text("3"),
        text("{\"a\": 1}"),
        call("Bash", json!({"command": "sleep 100"})),
        call("mcp__calc__add", json!({})),
        text("6"),
    ]);
    let Some(found) = drive("node", "claude.mjs", &place, &server) else { return };
    let file = place.project().join("b.txt");
    let asked =
        json!([["Write", {"file_path": file, "content": "x\n"}], ["Bash", {"command": "touch made"}]]);
    assert_eq!((&found["asked"], place.text("b.txt").as_str()), (&asked, "changed\n"));
    assert_eq!(found["hooks"], json!([["PostToolUse", "Write"], ["Stop", null]]));
    let results = found["results"].as_array().unwrap();
    let said: Vec<&Value> = results.iter().map(|result| &result["result"]).collect();
    assert_eq!(said[..5], ["Done.", "1", "2", "3", "{\"a\":1}"]);
    assert_eq!(
        (&results[0]["permission_denials"][0]["tool_name"], &results[4]["structured_output"]),
        (&json!("Bash"), &json!({"a": 1}))
    );
    assert_eq!((&results[3]["session_id"], results[1] == results[2]), (&results[1]["session_id"], false));
    assert_eq!(results[5]["terminal_reason"], "aborted_streaming");
    assert_eq!(
        (&found["set"]["added"], &results[6]["result"]),
        (&json!(["lost", "calc"]), &json!("6")),
        "{found}"
    );
    assert_eq!(found["servers"], json!([["lost", "failed"], ["calc", "connected"]]));
    assert!(server.requests().last().unwrap().raw.contains("sum 5"));
    assert!(found["refused"].as_str().unwrap().contains("no-such-session"), "{found}");
}

#[test]
fn claude_python() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![
        text("Hello."),
        call("Bash", json!({"command": "touch made"})),
        call("mcp__calc__add", json!({"a": 2, "b": 3})),
        text("1"),
        text("2"),
    ]);
    let Some(found) = drive("python3", "claude.py", &place, &server) else { return };
    assert_eq!(found["results"], json!([["success", "Hello.", 1], ["success", "1", 3], ["success", "2", 1]]));
    assert_eq!(
        found["asked"],
        json!([["Bash", {"command": "touch made"}], ["mcp__calc__add", {"a": 2, "b": 3}]])
    );
    assert_eq!(found["hooks"], json!([["PreToolUse", "mcp__calc__add"]]));
    let requests = server.requests();
    assert!(requests[1].raw.contains("Be brief.") && requests[3].raw.contains("sum 5"));
}
