//! Command lines and event lines written for other agents: what `claude -p` and `codex exec` take and print. `sdks.rs`
//! tries the vendors' packages themselves.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;

use serde_json::{Value, json};

use crate::support::answer::{answer, status};
use crate::support::replies::{call, text};
use crate::support::server::{FakeServer, Recorded};
use crate::support::workplace::{Workplace, stderr, stdout};

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
    let patch = json!({"input": "*** Begin Patch\n*** Add File: c.txt\n+x\n*** End Patch"});
    let server = FakeServer::start(vec![
        call("Bash", json!({"command": "echo out; exit 3"})),
        answer()
            .call("Write", json!({"file_path": "b.txt", "content": "x\n"}))
            .call("apply_patch", patch)
            .into(),
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
    assert_eq!(all[5]["item"]["changes"], json!([{"path": "c.txt", "kind": "add"}]));
    assert_eq!(all[8]["item"]["exit_code"], 1);
    assert!(all[12]["usage"]["cached_input_tokens"].as_u64() >= Some(20), "{}", all[12]);
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
fn a_codex_answer_in_json_comes_once() {
    let place = Workplace::new();
    place.file("schema.json", json!({"type": "object", "required": ["a"]}).to_string());
    let server = FakeServer::start(vec![text("{\"a\": 1}")]);
    let out = codex(&place, &server, &["--output-schema", "schema.json"], "as JSON");
    let all = lines(&stdout(&out));
    let texts: Vec<&Value> =
        all.iter().map(|line| &line["item"]["text"]).filter(|text| text.is_string()).collect();
    assert_eq!(texts, [&json!("{\"a\": 1}")]);
}

#[test]
fn a_codex_turn_that_fails() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![status(400, "no")]);
    place.file("last.txt", "of an earlier run");
    let out = codex(&place, &server, &["-o", "last.txt"], "do it");
    assert_eq!(place.text("last.txt"), "");
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
        text("Both."),
        write(),
        text("Not done."),
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
    place.file("extra/commands/hi.md", "Say hi.").file(".claude/commands/hi.md", "Warns.");
    let streamed = ["-p", "stream", "--output-format", "stream-json", "--fallback-model", "x"];
    let (code, out, _) =
        run(&[&streamed[..], &["--yolo", "--tools", "Read,Grep", "--plugin-dir", "extra"]].concat());
    let (init, warning) = (lines(&out).remove(0), lines(&out).remove(1));
    assert_eq!((&init["subtype"], &warning["subtype"]), (&json!("init"), &json!("informational")), "{out}");
    assert_eq!((&init["tools"], &init["plugins"][0]["name"]), (&json!(["Read", "Grep"]), &json!("extra")));
    let last = lines(&out).pop().unwrap();
    assert_eq!((code, &last["is_error"], &last["subtype"]), (Some(1), &json!(true), &json!("success")));
    assert!(last["result"].as_str().is_some_and(|result| result.contains("400")), "{last}");
    // Notes about options don't come between.
    let both = File::create(place.project().join("both")).unwrap();
    let url = server.base_url();
    let all = [&json_out[..], &["--fallback-model", "x", "--model", "m", "--base-url", &url]].concat();
    place.command(&all).stdout(both.try_clone().unwrap()).stderr(both).status().unwrap();
    assert_eq!(lines(&place.text("both")).len(), 1, "{}", place.text("both"));
    // As text: the answer alone, and 0 after a refusal.
    let (code, out, err) = run(&["-p", "do it", "--restricted", "--allowedTools", "Read"]);
    assert_eq!((code, out.as_str()), (Some(0), "Not done.\n"), "{err}");
    assert!(!err.contains("steps") && err.contains("denied"), "{err}");
    for (args, said) in [
        (&["-p", "x", "--output-format", "xml"][..], "text, json or stream-json"),
        (&["-p", "x", "--input-format", "stream-json"], "needs --output-format stream-json"),
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

/// Scripts look for it with patterns such as `session id: [0-9a-f-]{36}`.
#[test]
fn a_new_session_is_a_uuid_where_the_other_agents_is() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![text("One."), text("Two."), text("Three.")]);
    let url = server.base_url();
    let run = |name: &str, args: &[&str]| {
        let args = [args, &["--base-url", &url, "--model", "m", "go on"]].concat();
        place.command(&args).arg0(name).output().unwrap()
    };
    let is_uuid = |id: &str| id.len() == 36 && id.matches('-').count() == 4;
    let out = run("codex", &["exec", "--skip-git-repo-check"]);
    let told = stderr(&out);
    let id = told.split("session id: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    assert!(is_uuid(id), "{told}");
    let resumed = run("codex", &["exec", "resume", id, "--json"]);
    assert_eq!(lines(&stdout(&resumed))[0]["thread_id"], *id, "{}", stderr(&resumed));
    let result = run("mycode", &["-p", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&stdout(&result)).unwrap();
    assert!(result["session_id"].as_str().is_some_and(is_uuid), "{result}");
}

#[test]
fn a_server_named_by_settings_is_used_or_refused() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![text("One."), text("Two."), status(400, "no")]);
    let url = server.base_url();
    let own = format!("base_url={url}");
    let codex = format!("model_providers.local.base_url={url:?}");
    for (settings, code, said) in [
        (&["provider = chat", &own, "context_window=64000"][..], 0, ""),
        (&["model_provider=local", &codex, "model_providers.local.env_key=\"MY_KEY\""], 0, ""),
        (&["model_provider=azure", &codex], 2, "address isn't given"),
    ] {
        let mut args = vec!["exec", "-m", "m"];
        args.extend(settings.iter().flat_map(|setting| ["-c", *setting]));
        args.push("do it");
        let out = place.command(&args).env("MY_KEY", "sk-local").output().unwrap();
        assert!(out.status.code() == Some(code) && stderr(&out).contains(said), "{args:?}: {}", stderr(&out));
    }
    let claude = json!({"env": {"ANTHROPIC_BASE_URL": url.trim_end_matches("/v1")}}).to_string();
    let args = ["-p", "do it", "--settings", &claude, "--model", "m"];
    place.command(&args).env("ANTHROPIC_API_KEY", "k").output().unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[2].path, "/v1/messages");
    assert_eq!(requests[1].header("authorization"), "Bearer sk-local");
}
