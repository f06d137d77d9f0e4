//! The sessions of `mycode acp`: stopped, loaded again, side by side, and what becomes of them when the editor misbehaves.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::answer::{answer, status};
use crate::support::editor::Editor;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn place(session: &str, folder: &Path) -> Value {
    json!({"sessionId": session, "cwd": folder, "mcpServers": []})
}

#[test]
fn stop_reasons() {
    let loops = || answer().call("LS", json!({})).into();
    let server = FakeServer::start(vec![
        answer().text("The first").finish("length").into(),
        answer().text(" quarter").finish("length").into(),
        answer().text(" of the").finish("length").into(),
        answer().text(" whole").finish("length").into(),
        answer().text("I can't").finish("content_filter").into(),
        loops(),
        loops(),
        loops(),
        loops(),
        status(401, r#"{"error":{"message":"wrong key"}}"#),
    ]);
    let place = Workplace::new();
    let base = server.base_url();
    let mut editor =
        Editor::start(&place, &["--base-url", &base, "--model", "test-model", "--max-steps", "4"]);
    editor.ask("initialize", json!({"protocolVersion": 1}));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "one"), "max_tokens");
    assert_eq!(editor.prompt(&session, "two"), "refusal");
    assert_eq!(editor.prompt(&session, "three"), "max_turn_requests");
    let number = editor.begin(&session, json!([{"type": "text", "text": "four"}]));
    let error = editor.answer_to(number)["error"].clone();
    assert_eq!(error["code"], -32603);
    assert!(error["message"].as_str().unwrap().contains("wrong key"), "{error}");
}

#[test]
fn the_editors_servers_and_folders_are_offered() {
    let more = tempfile::tempdir().unwrap();
    let more = more.path().canonicalize().unwrap();
    std::fs::write(more.join("shared.txt"), "of both\n").unwrap();
    let edit = json!({"path": more.join("shared.txt"), "old_string": "both", "new_string": "all"});
    let read = || answer().call("Read", json!({"path": more.join("shared.txt")}));
    let server = FakeServer::start(vec![
        read().into(),
        answer().call("Edit", edit).into(),
        answer().text("I see.").into(),
        read().into(),
        answer().text("Still.").into(),
    ]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let servers = json!([
        {"name": "tickets", "command": "/no/such", "args": ["-x"], "env": [{"name": "A", "value": "b"}]},
        {"type": "http", "name": "pages", "url": "http://127.0.0.1:9/mcp", "headers": []}
    ]);
    let mut wanted = json!({"cwd": place.project(), "mcpServers": servers, "additionalDirectories": ["lib"]});
    let refused = editor.ask("session/new", wanted.clone())["error"].clone();
    assert_eq!(refused["message"], "the path is not absolute: lib");
    wanted["additionalDirectories"] = json!([more]);
    let opened = editor.ask("session/new", wanted.clone());
    let session = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "accept-edits"}));
    assert_eq!(editor.prompt(&session, "what is there?"), "end_turn");
    let told = &server.requests()[0].raw;
    assert!(told.contains("tickets.* (MCP); pages.* (MCP)"), "{told}");
    assert!(told.contains(&more.display().to_string()), "{told}");
    assert_eq!(std::fs::read_to_string(more.join("shared.txt")).unwrap(), "of all\n");
    wanted["sessionId"] = json!(session);
    let forked = editor.ask("session/fork", wanted)["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(editor.prompt(&forked, "and now?"), "end_turn");
    assert!(server.requests()[4].raw.contains("of all"), "{}", server.requests()[4].raw);
}

#[test]
fn cancelled_in_a_stream_and_while_asked() {
    let server = FakeServer::start(vec![
        answer().text("one two three four").gated().into(),
        answer().call("Write", json!({"path": "a", "content": "x"})).into(),
        answer().text("Still here.").into(),
    ]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    let cancel = json!({"sessionId": session});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let running = editor.begin(&session, text("tell"));
    let waiting = editor.send("session/prompt", json!({"sessionId": session, "prompt": text("later")}));
    server.wait_for_requests(1);
    server.release(3);
    editor.until(|message| message["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    editor.notify("session/cancel", cancel.clone());
    assert_eq!(editor.answer_to(waiting)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.answer_to(running)["result"]["stopReason"], "cancelled");
    server.release(100);

    let running = editor.begin(&session, text("write"));
    let asked = editor.until(|message| message["method"] == "session/request_permission");
    editor.notify("session/cancel", cancel);
    editor.answer(&asked, json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(editor.answer_to(running)["result"]["stopReason"], "cancelled");
    assert!(!place.project().join("a").exists());
    assert_eq!(editor.prompt(&session, "and now?"), "end_turn");
    let seen = server.requests()[2].body["messages"].to_string();
    assert!(seen.contains("tell") && seen.contains("and now?"), "a cancelled prompt stays: {seen}");
}

#[test]
fn loaded_in_another_process() {
    let server = FakeServer::start(vec![
        answer().reasoning("Hm.").call("Read", json!({"path": "a.rs"})).into(),
        answer().text("It says x.").into(),
        answer().text("Again.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", "x\n");
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "what does it say?"), "end_turn");
    editor.kill();

    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let loaded = editor.ask("session/load", self::place(&session, &place.project()));
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "ask");
    let kinds: Vec<&str> = editor
        .seen
        .iter()
        .filter_map(|message| message["params"]["update"]["sessionUpdate"].as_str())
        .collect();
    assert_eq!(
        kinds,
        ["user_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
    );
    assert_eq!(editor.updates("user_message_chunk")[0]["content"]["text"], "what does it say?");
    assert_eq!(editor.updates("tool_call")[0]["title"], "Read a.rs");
    assert_eq!(editor.updates("tool_call_update")[0]["status"], "completed");
    assert_eq!(editor.prompt(&session, "again"), "end_turn");
    assert!(server.requests()[2].body["messages"].to_string().contains("It says x."));

    // Loaded twice, it begins anew; resumed, nothing is shown again.
    editor.seen.clear();
    let resumed = editor.ask("session/resume", self::place(&session, &place.project()));
    assert!(resumed["result"]["configOptions"].is_array());
    assert_eq!(editor.updates("user_message_chunk"), [] as [Value; 0]);
    let missing = editor.ask("session/load", self::place("20200101-000000-none", &place.project()));
    assert_eq!(missing["error"]["code"], -32002);
}

#[test]
fn opened_again_before_its_first_prompt() {
    let server = FakeServer::start(vec![answer().text("Hello.").into()]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    let asked = self::place(&session, &place.project());
    assert!(editor.ask("session/resume", asked.clone())["result"]["modes"].is_object());
    editor.kill();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let forked = editor.ask("session/fork", asked.clone());
    assert!(forked["result"]["sessionId"].as_str().is_some_and(|id| id != session), "{forked}");
    assert!(editor.ask("session/load", asked.clone())["result"]["modes"].is_object());
    assert_eq!(editor.prompt(&session, "say hello"), "end_turn");
    let listed = editor.ask("session/list", json!({}))["result"]["sessions"].clone();
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["sessionId"]), (Some(1), &json!(session)));
    assert_eq!(editor.ask("session/delete", json!({"sessionId": session}))["result"], json!({}));
    assert_eq!(editor.ask("session/load", asked)["error"]["code"], -32002);
}

#[test]
fn listed_forked_closed_and_deleted() {
    let server = FakeServer::start(vec![answer().text("Hello.").into()]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "say hello"), "end_turn");
    for filter in [json!({"cwd": place.project()}), json!({})] {
        let listed = editor.ask("session/list", filter)["result"]["sessions"].clone();
        assert_eq!((&listed[0]["sessionId"], &listed[0]["title"]), (&json!(session), &json!("say hello")));
        assert_eq!(listed[0]["cwd"], json!(place.project()));
        assert!(listed[0]["updatedAt"].as_str().unwrap().ends_with('Z'));
    }
    let forked = editor.ask("session/fork", self::place(&session, &place.project()));
    let copy = forked["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(copy, session);
    assert_eq!(editor.ask("session/close", json!({"sessionId": copy}))["result"], json!({}));
    let prompt = json!({"sessionId": copy, "prompt": [{"type": "text", "text": "x"}]});
    assert_eq!(editor.ask("session/prompt", prompt)["error"]["code"], -32002);
    for id in [copy, session, "../../etc".to_owned()] {
        assert_eq!(editor.ask("session/delete", json!({"sessionId": id}))["result"], json!({}));
    }
    assert_eq!(editor.ask("session/list", json!({}))["result"]["sessions"], json!([]));
}

#[test]
fn side_by_side() {
    let server = FakeServer::start(vec![]);
    server.on_body("first task", answer().text("To the first."));
    server.on_body("second task", answer().text("To the second."));
    let (one, two) = (Workplace::new(), Workplace::new());
    let mut editor = Editor::open(&one, &server.base_url(), json!({}));
    let (first, second) = (editor.session(&one), editor.session(&two));
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let asked = editor.begin(&first, text("first task"));
    let other = editor.send("session/prompt", json!({"sessionId": second, "prompt": text("second task")}));
    let mut left = vec![asked, other];
    while !left.is_empty() {
        let message = editor.next();
        left.retain(|number| message["id"] != *number);
    }
    let said = |session: &str| -> String {
        let of = editor.seen.iter().filter(|message| message["params"]["sessionId"] == session);
        of.filter_map(|message| {
            let update = &message["params"]["update"];
            let chunk = update["sessionUpdate"] == "agent_message_chunk";
            update["content"]["text"].as_str().filter(|_| chunk)
        })
        .collect()
    };
    assert_eq!((said(&first), said(&second)), ("To the first.".to_owned(), "To the second.".to_owned()));
}

#[test]
fn models_are_chosen() {
    let server = FakeServer::start(vec![answer().text("Hello.").into()]);
    let models = json!({"data": [{"id": "test-model"}, {"id": "other-model"}]});
    server.on_get("/v1/models", &models);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    let update = editor.until(|message| message["params"]["update"].to_string().contains("other-model"));
    assert_eq!(update["params"]["update"]["sessionUpdate"], "config_option_update");
    let set = |id: &str, value: Value| json!({"sessionId": session, "configId": id, "value": value});
    let chosen = editor.ask("session/set_config_option", set("model", json!("other-model")));
    assert_eq!(chosen["result"]["configOptions"][1]["currentValue"], "other-model");
    let chosen = editor.ask("session/set_config_option", set("mode", json!("auto")));
    assert_eq!(chosen["result"]["configOptions"][0]["currentValue"], "auto");
    for (id, value) in [("mode", json!("none")), ("color", json!("red")), ("mode", json!(true))] {
        assert_eq!(editor.ask("session/set_config_option", set(id, value))["error"]["code"], -32602);
    }
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    assert_eq!(server.requests()[0].body["model"], "other-model");
}

#[test]
fn garbage_is_answered() {
    let server = FakeServer::start(vec![answer().text("Still here.").into()]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    for (line, code) in [
        ("nonsense", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":70,"method":"no/such"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":71,"method":"session/prompt","params":{"sessionId":1}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":72,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}"#,
            -32002,
        ),
    ] {
        editor.line(line);
        let error = editor.until(|message| message.get("error").is_some());
        assert_eq!(error["error"]["code"], code, "{line}");
    }
    editor.line(r#"{"jsonrpc":"2.0","method":"no/such"}"#);
    editor.line(r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
}

#[test]
fn an_editor_that_goes_away_ends_everything() {
    let server = FakeServer::start(vec![answer().text("one two three four").gated().into()]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    editor.begin(&session, json!([{"type": "text", "text": "tell"}]));
    server.wait_for_requests(1);
    let (rest, code) = editor.close();
    assert_eq!(code, Some(0));
    let last: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(last["result"]["stopReason"], "cancelled");
    server.release(100);
    let log = std::fs::read_to_string(place.log()).unwrap();
    assert!(log.contains("tell"), "{log}");
}
