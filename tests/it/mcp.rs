//! MCP servers: our own `mycode mcp serve` is the partner, so that nothing needs to be installed.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_mycode");

/// A project in which `mycode mcp serve` is a server of the user's.
fn place() -> Workplace {
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n").file("src/login.rs", "fn check_password() {}\n");
    let added =
        place.command(&["mcp", "add", "--no-sandbox", "self", BINARY, "mcp", "serve"]).output().unwrap();
    assert!(added.status.success(), "{}", stderr(&added));
    place
}

fn run(place: &Workplace, args: &[&str]) -> (String, String, bool) {
    let out = place.command(args).output().unwrap();
    (stdout(&out), stderr(&out), out.status.success())
}

#[test]
fn added_listed_tested_called_and_removed() {
    let place = place();
    let (listed, _, _) = run(&place, &["mcp", "list"]);
    assert!(listed.starts_with("self  ") && listed.contains("not in the sandbox, from "), "{listed}");
    let (tested, error, good) = run(&place, &["mcp", "test", "self"]);
    assert!(
        good && tested.starts_with("self: mycode ") && tested.contains("    locate  "),
        "{tested}{error}"
    );
    let (listed, _, _) = run(&place, &["mcp", "list", "--json"]);
    let row: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&row["name"], &row["tools"]), (&json!("self"), &json!(3)), "learned by the test: {listed}");
    let args =
        ["mcp", "test", "self", "--call", "locate", "--args", r#"{"query": "where are passwords checked"}"#];
    let (found, error, good) = run(&place, &args);
    assert!(good && found.contains("src/login.rs"), "{found}{error}");
    let (_, error, good) = run(&place, &["mcp", "test", "self", "--call", "lokate"]);
    assert!(!good && error.contains("self has no tool lokate"), "{error}");
    assert!(run(&place, &["mcp", "rm", "self"]).2);
    assert!(run(&place, &["mcp", "rm", "self"]).1.contains("there is no server 'self'"));
}

#[test]
fn a_model_searches_describes_and_calls() {
    let place = place();
    run(&place, &["mcp", "test", "self"]);
    let server = FakeServer::start(vec![
        answer().call("MoreTools", json!({"name": "self.locate"})).into(),
        answer().call("mcp__self__locate", json!({"query": "passwords checked"})).into(),
        answer().call("self.lokate", json!({"query": "x"})).into(),
        answer().text("Done.").into(),
    ]);
    let out = place.exec(&server.base_url(), &["--permission", "full", "find it"]);
    assert!(out.status.success(), "{}", stderr(&out));
    let requests = server.requests();
    let first = &requests[0].raw;
    assert!(first.contains("self.{recall, note, locate}"), "names in the first request: {first}");
    assert!(!first.contains("self.locate: "), "no schema in it");
    assert!(requests[1].raw.contains("args: {"), "{}", requests[1].raw);
    assert!(requests[2].raw.contains("src/login.rs"), "{}", requests[2].raw);
    assert!(requests[3].raw.contains("Did you mean locate?"), "{}", requests[3].raw);
}

#[test]
fn a_project_s_servers_need_trust() {
    let place = Workplace::new();
    let config =
        json!({"mcpServers": {"here": {"command": BINARY, "args": ["mcp", "serve"], "sandbox": false}}});
    place.file("CODE_LAW.md", "Be kind.\n").file(".mcp.json", config.to_string());
    let (listed, _, _) = run(&place, &["mcp", "list"]);
    assert!(listed.starts_with("No MCP servers.") && listed.contains("MCP servers (.mcp.json)"), "{listed}");
    assert!(!run(&place, &["mcp", "test", "here"]).2);
    assert!(run(&place, &["trust"]).2);
    let (tested, error, good) = run(&place, &["mcp", "test", "here"]);
    assert!(good && tested.contains("locate"), "{tested}{error}");
}

#[test]
fn a_server_that_breaks_off_says_why() {
    let place = Workplace::new();
    let broken = ["mcp", "add", "--no-sandbox", "broken", "sh", "-c", "echo no key given >&2; exit 3"];
    assert!(run(&place, &broken).2);
    let (_, error, good) = run(&place, &["mcp", "test", "broken"]);
    assert!(!good && error.contains("it ended with exit code 3; it wrote: no key given"), "{error}");
    assert!(run(&place, &["mcp", "add", "--no-sandbox", "-e", "K=${NO_SUCH_THING}", "unset", "sh"]).2);
    let (_, error, _) = run(&place, &["mcp", "test", "unset"]);
    assert!(error.contains("the variable NO_SUCH_THING, which"), "{error}");
}

#[test]
fn servers_of_another_agent_are_taken_over_once() {
    let place = Workplace::new();
    let file = place.project().join("settings.json");
    std::fs::write(
        &file,
        r#"{"mcpServers": {"a": {"command": "a"}, "b": {"url": "https://b/mcp"}, "c": {}}}"#,
    )
    .unwrap();
    let import = ["mcp", "import", file.to_str().unwrap()];
    let (out, _, good) = run(&place, &import);
    assert!(good && out.contains("Added 2 servers") && out.contains("'c' in"), "{out}");
    assert!(run(&place, &import).0.contains("a: you have it already"));
}

#[test]
fn serves_other_agents() {
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n").file("src/login.rs", "fn check_password() {}\n");
    let mut child =
        place.command(&["mcp", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |message: Value, answered: bool| {
        writeln!(to, "{message}").unwrap();
        let mut line = String::new();
        if answered {
            from.read_line(&mut line).unwrap();
        }
        serde_json::from_str::<Value>(&line).unwrap_or_default()
    };
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}), true);
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), false);
    let tools = ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}), true);
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["recall", "note", "locate"], "no task without a model");
    let note = json!({"name": "note", "arguments": {"action": "create", "title": "Passwords", "content": "are hashed"}});
    let kept = ask(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": note}), true);
    assert_eq!(kept["result"]["isError"], json!(false), "{kept}");
    drop(to);
    assert!(child.wait().unwrap().success(), "it ends with its client");
}
