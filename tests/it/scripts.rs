//! Command lines and event lines written for other agents: what `claude -p` and `codex exec` take and print. `sdks.rs`
//! tries the vendors' packages themselves.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::answer::{Reply, answer, status};
use crate::support::mcp_server::McpServer;
use crate::support::server::{FakeServer, Recorded};
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
        text("Forked."),
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
    assert!(stderr(&out).contains("network only with danger-full-access"), "{}", stderr(&out));
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
    let out = codex(&place, &server, &["fork", thread, "another way"], "");
    assert_ne!(lines(&stdout(&out))[0]["thread_id"], thread);
    assert!(server.requests()[6].raw.contains("go on") && server.requests()[6].raw.contains("another way"));
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
    let profile = "model = \"theirs\"\npersonality = \"terse\"\nsandbox_mode = \"danger-full-access\"\n";
    fs::create_dir(place.user_home().join(".codex")).unwrap();
    fs::write(place.user_home().join(".codex/fast.config.toml"), profile).unwrap();
    let server = FakeServer::start(["1", "2", "3", "4", "5", "6", "7", "8"].map(text).into());
    let run = |args: &[&str]| {
        let url = server.base_url();
        let out =
            place.command(&[&["exec", "--base-url", &url, "--model", "m"], args].concat()).output().unwrap();
        (out.status.code(), stdout(&out), stderr(&out))
    };
    for (args, code, said) in [
        (&["-s", "none", "x"][..], 2, "read-only, workspace-write or danger-full-access"),
        (&["--oss", "x"], 2, "--base-url http://localhost:11434/v1"),
        (&["-p", "none", "x"], 2, "no such .config.toml"),
        (&["-p", "fast", "-s", "read-only", "zeroth"], 0, "profile fast: personality"),
        (&["-i", "none.png", "x"], 2, "none.png"),
        (&["resume", "20200101-000000-none", "x"], 2, "20200101-000000-none"),
        (
            &["-c", "model=theirs", "-c", "model_verbosity=low", "--ephemeral", "--full-auto", "first task"],
            0,
            "model_verbosity",
        ),
        // A task, not the command.
        (&["resume the download code"], 0, ""),
        // Ours.
        (&["-c", "and on"], 0, ""),
        (&["resume", "--json"], 2, "the task is empty"),
        (&["--json", "--color", "never", "y"], 0, "Codex's come with --experimental-json"),
    ] {
        let (got, out, err) = run(args);
        assert!(got == Some(code) && err.contains(said), "{args:?}: {got:?} {out}\n{err}");
    }
    let base = server.base_url();
    let mut called = place.command(&["exec", "--base-url", &base, "--model", "m", "--json", "z"]);
    assert_eq!(lines(&stdout(&called.arg0("codex").output().unwrap()))[0]["type"], "thread.started");
    let wins = |request: &Recorded| request.body["model"] == "m";
    assert!(server.requests()[..2].iter().all(wins), "the option wins");
    let last = &server.requests()[3].raw;
    assert!(last.contains("resume the download code") && last.contains("and on"), "{last}");
    // Options before the command, and a review without `exec`.
    let url = format!("openai_base_url={:?}", server.base_url());
    for (args, code) in [
        (&["-a", "never", "--yolo", "-c", &url, "--search", "exec", "--model", "m", "do"][..], 0),
        (&["review", "--uncommitted", "-c", &url, "--model", "m"], 2),
        (&["review", "--base", "none", "-c", &url, "--model", "m"], 2),
    ] {
        let out = place.command(args).output().unwrap();
        let err = stderr(&out);
        assert!(out.status.code() == Some(code) && !err.contains("unexpected argument"), "{args:?}: {err}");
    }
}

/// A program that leads `claude` through its control protocol.
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
    place.file("a.txt", "alpha\n");
    let server = FakeServer::start(vec![
        call("Write", json!({"path": "b.txt", "content": "beta\n"})),
        call("Bash", json!({"command": "touch made"})),
        call("Read", json!({"path": "a.txt"})),
        text("Done."),
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
    host.say("wait");
    host.until(|line| line["message"]["content"][0]["input"]["command"] == "sleep 100");
    assert_eq!(host.ask(&json!({"subtype": "interrupt"}))["subtype"], "success");
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
        (json!({"subtype": "reload_skills"}), false),
    ] {
        assert_eq!(host.ask(&request)["subtype"], if known { "success" } else { "error" }, "{request}");
    }
    let refused = host.ask(&json!({"subtype": "mcp_set_servers"}));
    assert!(refused["error"].as_str().unwrap().contains("mcp_set_servers"), "{refused}");
    let usage = host.ask(&json!({"subtype": "get_usage"}));
    assert!(usage["response"]["session"]["model_usage"]["m"]["inputTokens"].as_u64() > Some(0), "{usage}");
    host.say("go on");
    assert_eq!(host.until(|line| line["type"] == "result")["result"], "On.");
    assert_eq!(host.end(), Some(0));
    assert!(server.requests()[0].raw.contains("Be brief."));
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
    for (enabled, status, said) in [
        (true, "pending", "called"),
        (false, "disabled", "turned off in this session"),
        (true, "pending", "called"),
    ] {
        let toggle = json!({"subtype": "mcp_toggle", "serverName": "one", "enabled": enabled});
        assert_eq!(host.ask(&toggle)["subtype"], "success");
        let servers = host.ask(&json!({"subtype": "mcp_status"}));
        assert_eq!(servers["response"]["mcpServers"][0]["status"], status);
        host.say("use it");
        let result = host.until(|line| line["type"] == "user")["message"]["content"][0]["content"].clone();
        assert!(result.as_str().unwrap().contains(said), "{result}");
        answers.push(result);
        host.until(|line| line["type"] == "result");
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
fn claude_options_are_ours_or_say_what_is() {
    let place = Workplace::new();
    place.file("a.txt", "alpha\n");
    let write = || call("Write", json!({"path": "b.txt", "content": "beta\n"}));
    let server = FakeServer::start(vec![
        write(),
        text("No."),
        write(),
        text("Yes."),
        text("{\"a\": 1}"),
        call("Read", json!({"path": "a.txt"})),
        status(400, "no"),
    ]);
    let run = |args: &[&str]| {
        let url = server.base_url();
        let out = place.command(&[args, &["--base-url", &url, "--model", "m"]].concat()).output().unwrap();
        (out.status.code(), stdout(&out), stderr(&out))
    };
    let result = |(code, out, err): (Option<i32>, String, String)| -> (Option<i32>, Value) {
        (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}\n{err}")))
    };
    // What isn't allowed is denied, as there; without a mode, a plain -p is our exec.
    let json_out = ["-p", "do it", "--output-format", "json"];
    let (code, said) =
        result(run(&[&json_out[..], &["--allowedTools", "Read", "Bash(ls:*)", "NotebookRead"]].concat()));
    assert_eq!((code, &said["permission_denials"][0]["tool_name"]), (Some(0), &json!("Write")), "{said}");
    let id = "0a1b2c3d-0000-4000-8000-00000000000a";
    let (_, said) =
        result(run(&[&json_out[..], &["--permission-mode=acceptEdits", "--session-id", id]].concat()));
    assert_eq!((&said["result"], &said["session_id"]), (&json!("Yes."), &json!(id)));
    assert_eq!(place.text("b.txt"), "beta\n");
    let schema = json!({"type": "object", "required": ["a"]}).to_string();
    let (_, said) = result(run(&[&json_out[..], &["--json-schema", &schema, "--resume", id]].concat()));
    assert_eq!((&said["structured_output"], &said["session_id"]), (&json!({"a": 1}), &json!(id)));
    let (code, said) = result(run(&[&json_out[..], &["--max-turns", "1"]].concat()));
    assert_eq!((code, &said["subtype"]), (Some(1), &json!("error_max_turns")));
    let (code, out, _) = run(&["-p", "stream", "--output-format", "stream-json", "--fallback-model", "x"]);
    let last = lines(&out).pop().unwrap();
    assert_eq!(
        (code, &last["is_error"], &last["subtype"]),
        (Some(1), &json!(true), &json!("error_during_execution"))
    );
    for (args, said) in [
        (&["-p", "x", "--output-format", "xml"][..], "text, json or stream-json"),
        (&["-p", "x", "--permission-mode", "none"], "bypassPermissions"),
        (&["-p", "x", "--permission-prompt-tool", "mcp__a__b"], "only stdio"),
        (&["-p", "x", "--agent", "a"], "there is no such sub-agent"),
        (&["-p", "x", "--mcp-config", "{\"a\""], "isn't valid JSON"),
        (&["-p", "x", "--session-id", "1"], "isn't a UUID"),
        (&["-p", "x", "--session-id", id], "--resume"),
        (&["-p", "x", "--plugin-dir", "none"], "no plugin"),
        (&["-p", "x", "--from-pr", "1"], "sessions stay on this machine"),
        (&["-p", "x", "--nonsense"], "--nonsense"),
    ] {
        let (code, out, err) = run(args);
        assert!(code == Some(2) && err.contains(said), "{args:?}: {code:?} {out}\n{err}");
    }
}

/// A script finds us where it looks for the other agent.
#[test]
fn under_another_programs_name_the_sandbox_works_too() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = Workplace::new();
    let mut codes = Vec::new();
    for name in ["mycode", "claude", "codex"] {
        std::fs::hard_link(env!("CARGO_BIN_EXE_mycode"), folder.path().join(name)).unwrap();
        let ours = place.command(&["sandbox", "--", "true"]);
        let mut other = std::process::Command::new(folder.path().join(name));
        other.args(ours.get_args()).current_dir(place.project()).env_clear();
        other.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        codes.push(other.output().unwrap().status.code());
    }
    assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
}
