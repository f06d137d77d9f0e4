//! MCP servers and calls that fail: what the model is told, and that the next call may work.

use serde_json::json;

use crate::mcp::run;
use crate::support::answer::answer;
use crate::support::mcp_server::McpServer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};

#[test]
fn names_are_found_as_they_are_resent_and_each_tool_fails_on_its_own() {
    let place = Workplace::new();
    let failed = json!({"content": [{"type": "text", "text": "not today"}], "isError": true});
    McpServer::with_tools(&["t.one", "x"]).answers("tools/call", &failed).add(&place, "raw");
    let server = FakeServer::start(vec![
        answer().call("mcp__raw__t_one", json!({})).into(),
        answer().call("mcp__raw__x", json!({})).into(),
        answer().text("Done.").into(),
    ]);
    let out = place.exec(&server.base_url(), &["--permission", "full", "go"]);
    let told = server.requests()[2].raw.clone();
    assert_eq!(told.matches("not today").count(), 2, "{}{told}", stderr(&out));
    assert!(!told.contains("has failed 2 times"), "{told}");
}

#[test]
fn a_server_that_is_down_complains_once_an_attempt() {
    let place = Workplace::new();
    assert!(
        run(&place, &["mcp", "add", "--no-sandbox", "bad", "--", "sh", "-c", "echo no license >&2; exit 4"])
            .2
    );
    let args = |tool: &str| json!({"name": tool, "args": {}});
    let calls = answer().call("MoreTools", args("bad.x")).call("MoreTools", args("bad.y"));
    let calls = calls.call("MoreTools", args("bad.z"));
    let server = FakeServer::start(vec![calls.into(), answer().text("Done.").into()]);
    place.exec(&server.base_url(), &["--permission", "full", "go"]);
    let told = server.requests()[1].raw.clone();
    assert!(told.contains("tried again in") && told.matches("no license").count() == 2, "{told}");
}

#[test]
fn a_search_names_the_server_that_is_down() {
    let place = Workplace::new();
    assert!(run(&place, &["mcp", "add", "--no-sandbox", "bad", "false"]).2);
    let call = answer().call("MoreTools", json!({"query": "zzqx"}));
    let server = FakeServer::start(vec![call.into(), answer().text("Done.").into()]);
    let out = place.exec(&server.base_url(), &["--permission", "full", "look"]);
    assert!(out.status.success(), "{}", stderr(&out));
    let told = &server.requests()[1].raw;
    assert!(told.split("no tool matches").nth(1).is_some_and(|rest| rest.contains("bad")), "{told}");
}

/// What the protocol crate would skip ends the call at once, and says why.
#[test]
fn answers_without_measure_end_the_call() {
    for (answer_of_server, why) in [
        (
            "printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":' \"$id\"; printf '[%.0s' $(seq 200); echo",
            "nested more than 127",
        ),
        (
            "yes '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}'",
            "more than 10,000 messages",
        ),
        ("printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\\n' \"$id\"", "not valid JSON: {\"jsonrpc\""),
        ("echo no license; exit 4", "outside the protocol: no license"),
    ] {
        let place = Workplace::new();
        McpServer::with_tools(&["f"]).runs("tools/call", answer_of_server).add(&place, "wild");
        let (said, error, _) = run(&place, &["mcp", "test", "wild", "--call", "f"]);
        assert!(format!("{said}{error}").contains(why), "{why}: {said}{error}");
    }
}

#[test]
fn a_hung_server_is_ended_and_started_again() {
    let place = Workplace::new();
    let once = place.user_home().join("hung");
    let hang = format!(
        "if [ -e '{0}' ]; then printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"well again\"}}]}}}}\\n' \"$id\"; else echo $$ > '{0}'; sleep 1000; fi",
        once.display()
    );
    let program = McpServer::with_tools(&["f"]).runs("tools/call", &hang).add(&place, "slow");
    let config = json!({"mcpServers": {"slow": {"command": program, "timeout": 300, "sandbox": false}}});
    std::fs::write(place.home().join("mcp_servers.json"), config.to_string()).unwrap();
    let server = FakeServer::start(vec![
        answer().call("mcp__slow__f", json!({})).into(),
        answer().call("mcp__slow__f", json!({})).into(),
        answer().text("Done.").into(),
    ]);
    let out = place.exec(&server.base_url(), &["--permission", "full", "go"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 3, "{}", stderr(&out));
    assert!(
        requests[1].raw.contains("so it was stopped; the next call starts it again"),
        "{}",
        requests[1].raw
    );
    assert!(requests[2].raw.contains("well again"), "{}", requests[2].raw);
    let pid = std::fs::read_to_string(once).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "it still runs");
}
