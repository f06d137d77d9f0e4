//! A program that leads `claude` through its control protocol, as Claude's SDKs do.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::mcp_server::McpServer;
use crate::support::replies::{call, text};
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

struct Host {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Host {
    fn start(place: &Workplace, server: &FakeServer, args: &[&str]) -> Self {
        let url = server.base_url();
        let stream = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
        let ours = ["--base-url", &url, "--model=m"];
        let mut command = place.command(&[&stream[..], &ours, args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn send(&mut self, line: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn say(&mut self, text: &str) {
        self.send(&json!({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": null}));
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.send(&json!({"type": "control_request", "request_id": "r1", "request": request}));
        self.until(|line| line["type"] == "control_response")["response"].clone()
    }

    fn answer(&mut self, request: &Value, answer: &Value) {
        let response = json!({"subtype": "success", "request_id": request["request_id"], "response": answer});
        self.send(&json!({"type": "control_response", "response": response}));
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the output ended");
            let line: Value = serde_json::from_str(&line).unwrap();
            if wanted(&line) {
                return line;
            }
        }
    }

    fn request(&mut self, subtype: &str) -> Value {
        self.until(|line| line["type"] == "control_request" && line["request"]["subtype"] == subtype)
    }

    fn end(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_program_answers_for_the_user_as_with_claude() {
    let place = Workplace::new();
    place.file("a.txt", "alpha\n").file("c.txt", "see\n");
    let server = FakeServer::start(vec![
        call("Write", json!({"path": "b.txt", "content": "beta\n"})),
        call("Bash", json!({"command": "touch made"})),
        call("Read", json!({"path": "a.txt"})),
        text("Done."),
        answer()
            .call("Edit", json!({"path": "a.txt", "old_string": "alpha", "new_string": "one"}))
            .call("Edit", json!({"path": "c.txt", "old_string": "see", "new_string": "two"}))
            .into(),
        call("Bash", json!({"command": "sleep 100"})),
        text("On."),
    ]);
    let mut host =
        Host::start(&place, &server, &["--permission-prompt-tool", "stdio", "--system-prompt", "Be brief."]);
    let hooks = json!({"PreToolUse": [{"matcher": "Read", "hookCallbackIds": ["hook_0"]}]});
    let initialized = host.ask(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(
        (&initialized["subtype"], &initialized["response"]["hooks_applied"]),
        (&json!("success"), &json!(true))
    );
    host.say("change it");
    let init = host.until(|line| line["subtype"] == "init");
    assert_eq!((&init["permissionMode"], &init["model"]), (&json!("default"), &json!("m")));

    // Claude's names; other arguments are a change.
    let asked = host.request("can_use_tool");
    let input = json!({"file_path": place.project().join("b.txt"), "content": "beta\n"});
    assert_eq!((&asked["request"]["tool_name"], &asked["request"]["input"]), (&json!("Write"), &input));
    let mut changed = input;
    changed["content"] = json!("gamma\n");
    host.answer(&asked, &json!({"behavior": "allow", "updatedInput": changed}));
    let asked = host.request("can_use_tool");
    assert_eq!(asked["request"]["input"], json!({"command": "touch made"}));
    assert_eq!(place.text("b.txt"), "gamma\n");
    host.answer(&asked, &json!({"behavior": "deny", "message": "make nothing"}));
    let refused = host.until(|line| line["type"] == "user");
    assert!(
        refused["message"]["content"][0]["content"].as_str().unwrap().contains("make nothing"),
        "{refused}"
    );
    let hook = host.request("hook_callback");
    assert_eq!(
        (&hook["request"]["callback_id"], &hook["request"]["input"]["tool_name"]),
        (&json!("hook_0"), &json!("Read"))
    );
    let no = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not now"});
    host.answer(&hook, &json!({"hookSpecificOutput": no}));
    let result = host.until(|line| line["type"] == "result");
    assert_eq!(
        (&result["subtype"], &result["result"], &result["num_turns"]),
        (&json!("success"), &json!("Done."), &json!(4))
    );
    let denials: Vec<&Value> =
        result["permission_denials"].as_array().unwrap().iter().map(|one| &one["tool_name"]).collect();
    assert_eq!(denials, ["Bash", "Read"]);
    assert!(
        result["usage"]["input_tokens"].as_u64() > Some(0) && result["total_cost_usd"].is_number(),
        "{result}"
    );
    assert_eq!(host.until(|line| line["type"] == "system")["state"], "idle");

    // An interrupt ends the turn and not the session.
    assert_eq!(
        host.ask(&json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"}))["subtype"],
        "success"
    );
    let modified = fs::metadata(place.project().join("a.txt")).unwrap().modified().unwrap();
    let modified = u64::try_from(modified.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let seed = |path: &str, mtime: u64| json!({"subtype": "seed_read_state", "path": path, "mtime": mtime});
    assert_eq!(host.ask(&seed("a.txt", modified))["subtype"], "success");
    assert_eq!(host.ask(&seed("c.txt", modified - 1))["subtype"], "success");
    host.say("wait");
    host.until(|line| line["message"]["content"][0]["input"]["command"] == "sleep 100");
    assert_eq!(host.ask(&json!({"subtype": "interrupt"}))["subtype"], "success");
    // Seen through the program, but for the file that changed since.
    assert_eq!((place.text("a.txt").as_str(), place.text("c.txt").as_str()), ("one\n", "see\n"));
    let result = host.until(|line| line["type"] == "result");
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_streaming"))
    );
    let usage = &host.ask(&json!({"subtype": "get_context_usage"}))["response"];
    let used: u64 = usage["categories"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["kind"] == "used")
        .map(|row| row["tokens"].as_u64().unwrap())
        .sum();
    assert!(used > 0 && Some(used) == usage["totalTokens"].as_u64(), "{usage}");
    assert_eq!(host.ask(&json!({"subtype": "rename_session", "title": "Named"}))["subtype"], "success");
    for (request, known) in [
        (json!({"subtype": "background_tasks"}), true),
        (json!({"subtype": "stop_task", "task_id": "one"}), false),
        (json!({"subtype": "mcp_reconnect", "serverName": "none"}), false),
        (json!({"subtype": "mcp_toggle", "serverName": "none", "enabled": false}), false),
        (json!({"subtype": "apply_flag_settings", "settings": {"model": "lost", "sandbox": {}}}), false),
    ] {
        assert_eq!(host.ask(&request)["subtype"], if known { "success" } else { "error" }, "{request}");
    }
    for (kind, instead) in [("update_settings", "apply_flag_settings"), ("reload_skills", "a new session")] {
        let refused = host.ask(&json!({"subtype": kind}));
        assert!(refused["error"].as_str().unwrap().contains(instead), "{refused}");
    }
    let cancelled = host.ask(&json!({"subtype": "cancel_async_message", "message_uuid": "none"}));
    assert_eq!(cancelled["response"], json!({"cancelled": false}));
    let usage = host.ask(&json!({"subtype": "get_usage"}));
    assert!(usage["response"]["session"]["model_usage"]["m"]["inputTokens"].as_u64() > Some(0), "{usage}");
    let settings = json!({"model": "new", "permissions": {"defaultMode": "plan"}});
    let applied = host.ask(&json!({"subtype": "apply_flag_settings", "settings": settings}));
    assert_eq!(applied["subtype"], "success", "{applied}");
    host.say("go on");
    let result = host.until(|line| line["type"] == "result");
    assert_eq!(result["result"], "On.");
    let tokens = |model: &str| result["modelUsage"][model]["inputTokens"].as_u64().unwrap();
    let before = &usage["response"]["session"]["model_usage"]["m"]["inputTokens"];
    let after = &result["usage"]["input_tokens"];
    assert_eq!((Some(tokens("m")), Some(tokens("new"))), (before.as_u64(), after.as_u64()), "{result}");
    assert_eq!(host.end(), Some(0));
    assert!(server.requests()[0].raw.contains("Be brief."));
    assert_eq!(server.requests().pop().unwrap().body["model"], "new");
}

#[test]
fn a_server_is_turned_off_and_on() {
    let place = Workplace::new();
    McpServer::with_tools(&["f"])
        .runs("tools/call", r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"called %s"}]}}\n' "$id" $$"#)
        .add(&place, "one");
    let used = || call("MoreTools", json!({"name": "one.f", "args": {}}));
    let server = FakeServer::start(vec![used(), text("1"), used(), text("2"), used(), text("3")]);
    let mut host = Host::start(&place, &server, &["--permission-mode=bypassPermissions"]);
    let opened = host.ask(&json!({"subtype": "initialize", "mcpServers": {"two": {"command": "none"}}}));
    assert_eq!(opened["response"]["mcp_servers_applied"], true);
    let mut answers = Vec::new();
    for (enabled, status, said, after) in [
        (true, "pending", "called", "connected"),
        (false, "disabled", "turned off in this session", "disabled"),
        (true, "pending", "called", "connected"),
    ] {
        let toggle = json!({"subtype": "mcp_toggle", "serverName": "one", "enabled": enabled});
        assert_eq!(host.ask(&toggle)["subtype"], "success");
        let state = |host: &mut Host| {
            host.ask(&json!({"subtype": "mcp_status"}))["response"]["mcpServers"][0]["status"].clone()
        };
        assert_eq!(state(&mut host), status);
        host.say("use it");
        let result = host.until(|line| line["type"] == "user")["message"]["content"][0]["content"].clone();
        assert!(result.as_str().unwrap().contains(said), "{result}");
        answers.push(result);
        host.until(|line| line["type"] == "result");
        assert_eq!(state(&mut host), after);
    }
    assert_ne!(answers[0], answers[2], "its program ended");
    host.end();
}

#[test]
fn files_go_back_to_before_a_message() {
    let place = Workplace::new();
    let write = |text: &str| call("Write", json!({"path": "a.txt", "content": text}));
    let server =
        FakeServer::start(vec![write("one\n"), text("1"), write("two\nlines\n"), text("2"), text("3")]);
    let options = ["--permission-mode=bypassPermissions", "--replay-user-messages"];
    let mut host = Host::start(&place, &server, &options);
    host.ask(&json!({"subtype": "initialize"}));
    let (mut ids, mut results) = (Vec::new(), Vec::new());
    for said in ["first", "second"] {
        host.say(said);
        ids.push(host.until(|line| line["type"] == "user" && line["isReplay"] == true)["uuid"].clone());
        results.push(host.until(|line| line["type"] == "user")["uuid"].clone());
        host.until(|line| line["type"] == "result");
    }
    let rewind = |id: &Value, dry_run: bool| json!({"subtype": "rewind_files", "user_message_id": id, "dry_run": dry_run});
    let there = || std::fs::read_to_string(place.project().join("a.txt")).ok();
    let preview = host.ask(&rewind(&ids[1], true))["response"].clone();
    assert_eq!(
        preview,
        json!({"canRewind": true, "filesChanged": ["a.txt"], "insertions": 1, "deletions": 2})
    );
    assert_eq!(there().as_deref(), Some("two\nlines\n"), "a dry run changes nothing");
    assert_eq!(
        host.ask(&rewind(&results[0], true))["response"],
        preview,
        "after the first turn's last result"
    );
    assert_eq!(host.ask(&rewind(&results[1], true))["response"]["filesChanged"], json!([]));
    assert_eq!(host.ask(&rewind(&ids[1], false))["response"], preview);
    assert_eq!(there().as_deref(), Some("one\n"));
    assert_eq!(host.ask(&rewind(&json!("unknown"), true))["response"]["canRewind"], false);
    assert_eq!(host.ask(&rewind(&json!("unknown"), false))["subtype"], "error");
    host.say("third");
    host.until(|line| line["type"] == "result");
    assert_eq!(host.ask(&rewind(&ids[0], false))["response"]["canRewind"], true);
    assert_eq!((there(), host.end()), (None, Some(0)));
}

#[test]
fn tools_of_the_program_itself() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![call("mcp__calc__add", json!({"a": 2})), text("Done.")]);
    let mut host =
        Host::start(&place, &server, &["--permission-mode=bypassPermissions", "--include-partial-messages"]);
    host.ask(&json!({"subtype": "initialize", "sdkMcpServers": ["calc"]}));
    host.say("add");
    let mut seen = Vec::new();
    loop {
        let line = host.until(|line| line["type"] == "result" || line["request"]["subtype"] == "mcp_message");
        if line["type"] == "result" {
            assert_eq!(line["result"], "Done.");
            break;
        }
        let message = &line["request"]["message"];
        seen.push(message["method"].as_str().unwrap_or_default().to_owned());
        let result = match seen.last().unwrap().as_str() {
            "initialize" => {
                json!({"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "calc", "version": "1"}})
            }
            "tools/list" => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "sum 5"}]}),
            _ => json!({}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        host.answer(&line, &json!({"mcp_response": answer}));
    }
    assert_eq!(seen[..2], ["initialize", "notifications/initialized"], "{seen:?}");
    assert!(server.requests()[1].raw.contains("sum 5"));
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_command_that_needs_no_model_is_a_turn_of_its_own() {
    let (place, server) = (Workplace::new(), FakeServer::start(vec![text("Hello.")]));
    let mut host = Host::start(&place, &server, &[]);
    host.ask(&json!({"subtype": "initialize"}));
    for (said, answered) in [("/cost", "- total: "), ("hello", "Hello."), ("/context", "| system | L1 |")] {
        host.say(said);
        let result = host.until(|line| line["type"] == "result")["result"].to_string();
        assert!(result.contains(answered), "{said}: {result}");
    }
    assert_eq!(host.end(), Some(0));
}

#[test]
fn commands_of_the_chat_are_no_requests() {
    let (place, server) = (Workplace::new(), FakeServer::start(vec![text("Hello."), text("A folder.")]));
    let mut host = Host::start(&place, &server, &[]);
    host.ask(&json!({"subtype": "initialize"}));
    for (said, answered) in [
        ("/nosuch", "there is no command /nosuch here"),
        ("/model x", "there is no command /model here"),
        ("hello", "Hello."),
        ("/compact", "ompact"),
        ("/clear", "\"result\":\"\""),
        ("/usr/bin is what?", "A folder."),
    ] {
        host.say(said);
        let result = host.until(|line| line["type"] == "result").to_string();
        assert!(result.contains(answered), "{said}: {result}");
    }
    assert_eq!(host.end(), Some(0));
    let requests = server.requests();
    assert!(requests.len() == 2 && !requests[1].raw.contains("hello"), "{}", requests.len());
}

#[test]
fn documents_and_search_results_arrive() {
    let (place, server) = (Workplace::new(), FakeServer::start(vec![text("Read.")]));
    let mut host = Host::start(&place, &server, &[]);
    let source = |kind: &str, data: &str| json!({"type": kind, "media_type": "text/plain", "data": data});
    let tell = |host: &mut Host, blocks: Value| {
        host.send(&json!({"type": "user", "message": {"role": "user", "content": blocks}}));
        host.until(|line| line["type"] == "result").to_string()
    };
    let picture = json!([{"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}]);
    let told = tell(&mut host, picture);
    assert!(told.contains("a block of type image with a source of type url"), "{told}");
    let blocks = json!([
        {"type": "text", "text": "Sum up."},
        {"type": "document", "title": "notes", "source": source("text", "PLAIN TEXT")},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "IN PARTS"}]}},
        {"type": "document", "source": source("base64", "JVBERi0xLjcK")},
        {"type": "search_result", "source": "https://a.example", "title": "A", "content": [{"type": "text", "text": "FOUND"}]},
    ]);
    assert!(tell(&mut host, blocks).contains("Read."));
    let sent = &server.requests()[0].raw;
    for part in ["PLAIN TEXT", "IN PARTS", "FOUND", "not shown: it is damaged"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    assert_eq!(host.end(), Some(0));
}

#[test]
fn messages_of_a_reply_share_its_id_and_usage() {
    let place = Workplace::new();
    let calls = answer()
        .text("Two.")
        .call("Bash", json!({"command": "ls"}))
        .call("Write", json!({"path": "b", "content": "b"}));
    let server = FakeServer::start(vec![calls.usage(90, 20, 7).into(), text("Done.")]);
    let mut host = Host::start(&place, &server, &["--permission-mode", "bypassPermissions"]);
    host.say("go");
    let mut next = || host.until(|line| line["type"] == "assistant")["message"].clone();
    let all = [next(), next(), next(), next()];
    assert!(
        all[1]["id"] == all[0]["id"] && all[2]["id"] == all[0]["id"] && all[3]["id"] != all[0]["id"],
        "{all:?}"
    );
    let usage = &all[0]["usage"];
    assert_eq!((&usage["cache_read_input_tokens"], &usage["output_tokens"]), (&json!(20), &json!(7)));
    assert_eq!(host.end(), Some(0));
}

#[test]
fn servers_that_come_and_go_during_a_session() {
    let place = Workplace::new();
    let kept = McpServer::with_tools(&["k"]).add(&place, "kept");
    let page = json!({"contents": [{"uri": "ui://one/page", "mimeType": "text/html", "text": "<p>", "_meta": {"ui": {}}}]});
    let one = McpServer::with_tools(&["f"])
        .answers("tools/call", &json!({"content": [{"type": "text", "text": "called"}]}))
        .answers("resources/read", &page)
        .add(&place, "other");
    let use_it = || call("mcp__one__f", json!({}));
    let server = FakeServer::start(vec![use_it(), text("1"), use_it(), text("2")]);
    let mut host = Host::start(&place, &server, &["--permission-mode=bypassPermissions"]);
    host.ask(&json!({"subtype": "initialize"}));
    let set = |servers: Value| json!({"subtype": "mcp_set_servers", "servers": servers});
    let read =
        |server: &str, uri: &str| json!({"subtype": "mcp_read_resource", "serverName": server, "uri": uri});
    let command = json!({"command": one, "sandbox": false});

    let added =
        host.ask(&set(json!({"one": command, "bad": {"command": "/none"}, "empty": {}})))["response"].clone();
    assert_eq!((&added["added"], &added["removed"]), (&json!(["one", "bad"]), &json!([])), "{added}");
    let errors: Vec<&String> = added["errors"].as_object().unwrap().keys().collect();
    assert_eq!(errors, ["empty", "bad"], "{added}");
    assert_eq!(host.ask(&read("one", "ui://one/page"))["response"], page);
    for (name, uri) in [("one", "file:///etc/passwd"), ("none", "ui://one/page")] {
        assert_eq!(host.ask(&read(name, uri))["subtype"], "error");
    }
    let status = host.ask(&json!({"subtype": "mcp_status"}))["response"].clone();
    let rows = status["mcpServers"].as_array().unwrap().iter();
    let states: Vec<Value> = rows.map(|row| json!([row["name"], row["status"]])).collect();
    assert!(
        states.contains(&json!(["one", "connected"])) && states.contains(&json!(["bad", "failed"])),
        "{status}"
    );

    let said = |host: &mut Host| {
        host.say("use it");
        let result =
            host.until(|line| line["type"] == "user")["message"]["content"][0]["content"].to_string();
        host.until(|line| line["type"] == "result");
        result
    };
    assert!(said(&mut host).contains("called"));
    let again = host.ask(&set(json!({"one": command})))["response"].clone();
    assert_eq!(again, json!({"added": [], "removed": ["bad"], "errors": {}}));
    let gone = host.ask(&set(json!({})))["response"].clone();
    assert_eq!(
        gone,
        json!({"added": [], "removed": ["one"], "errors": {}}),
        "those of the user's files stay"
    );
    assert!(said(&mut host).contains("no tool"));
    assert_eq!(host.end(), Some(0));
    let requests = server.requests();
    assert!(requests[0].raw.contains("one.{f}"), "the model is told");
    assert!(!requests[2].raw.rsplit("are now").next().unwrap().contains("one."), "{kept:?}");
    assert_eq!(requests[0].body["tools"], requests[2].body["tools"]);
}
