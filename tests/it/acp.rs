//! `mycode acp` behind an editor: what a prompt becomes, and what the editor is told and asked.

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::editor::{Editor, chosen};
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

const PERMISSION: &str = "session/request_permission";

fn asked(editor: &Editor) -> Value {
    let mut requests = editor.seen.iter().filter(|message| message["method"] == PERMISSION);
    requests.next().unwrap()["params"].clone()
}

#[test]
fn handshake_and_session() {
    let (server, place) = (FakeServer::start(vec![]), Workplace::new());
    let mut editor = Editor::start(&place, &["--base-url", &server.base_url(), "--model", "test-model"]);
    let early = editor.ask("session/new", json!({"cwd": place.project(), "mcpServers": []}));
    assert_eq!(early["error"]["code"], -32600);
    let hello = editor.ask("initialize", json!({"protocolVersion": 9, "clientCapabilities": {}}));
    let mut result = hello["result"].clone();
    assert!(result["authMethods"][0]["description"].take().as_str().unwrap().contains("OPENAI_API_KEY"));
    assert_eq!(
        result,
        json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {
                    "list": {}, "delete": {}, "additionalDirectories": {}, "fork": {}, "resume": {}, "close": {}
                },
                "auth": {}
            },
            "authMethods": [{"id": "configured", "name": "A configured model", "description": null}],
            "agentInfo": {"name": "mycode", "title": "MyCodeAgent", "version": env!("CARGO_PKG_VERSION")}
        })
    );
    assert_eq!(editor.ask("authenticate", json!({"methodId": "configured"}))["result"], json!({}));
    let opened = editor.ask("session/new", json!({"cwd": place.project(), "mcpServers": []}));
    let opened = &opened["result"];
    assert_eq!(opened["modes"]["currentModeId"], "ask");
    let option =
        |at: usize| (&opened["configOptions"][at]["id"], &opened["configOptions"][at]["currentValue"]);
    assert_eq!(
        (option(0), option(1)),
        ((&json!("mode"), &json!("ask")), (&json!("model"), &json!("test-model")))
    );
    let ways = opened["modes"]["availableModes"].as_array().unwrap();
    let ids: Vec<&str> = ways.iter().map(|way| way["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["ask", "accept-edits", "auto", "read-only", "full", "plan", "explore", "analyze"]);
    editor.until(|message| message["params"]["update"]["sessionUpdate"] == "available_commands_update");
    let relative = editor.ask("session/new", json!({"cwd": "src", "mcpServers": []}));
    assert_eq!(relative["error"]["code"], -32602);
}

#[test]
fn without_a_model() {
    let place = Workplace::new();
    let mut editor = Editor::start(&place, &[]);
    editor.ask("initialize", json!({"protocolVersion": 1}));
    for (method, params) in [
        ("session/new", json!({"cwd": place.project(), "mcpServers": []})),
        ("authenticate", json!({"methodId": "configured"})),
    ] {
        let error = editor.ask(method, params)["error"].clone();
        assert_eq!(error["code"], -32000);
        assert!(error["message"].as_str().unwrap().contains("no model is configured"));
    }
}

#[test]
fn messages_thoughts_and_usage() {
    let server = FakeServer::start(vec![
        answer().reasoning("Let me see.").text("All is well.").usage(2_100, 0, 12).into(),
    ]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "how is it?"), "end_turn");
    assert_eq!(editor.said(), "All is well.");
    let thoughts = editor.updates("agent_thought_chunk");
    let thought: String = thoughts.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect();
    assert_eq!(thought, "Let me see.");
    let messages = editor.updates("agent_message_chunk");
    assert!(messages.iter().all(|chunk| chunk["messageId"] == messages[0]["messageId"]));
    assert_ne!(messages[0]["messageId"], thoughts[0]["messageId"]);
    assert_eq!(editor.updates("session_info_update")[0]["title"], "how is it?");
    assert_eq!(editor.updates("usage_update").last().unwrap()["used"], 2_112);
}

#[test]
fn a_change_is_asked_about_as_a_diff() {
    let call = || answer().call("Edit", json!({"path": "a.rs", "old_string": "two", "new_string": "2"}));
    let read = answer().call("Read", json!({"path": "a.rs"}));
    let server =
        FakeServer::start(vec![read.into(), call().into(), call().into(), answer().text("Done.").into()]);
    let place = Workplace::new();
    place.file("a.rs", "one\ntwo\nthree\n");
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    let number = editor.begin(&session, json!([{"type": "text", "text": "change it"}]));
    let first = editor.until(|message| message["method"] == PERMISSION);
    assert_eq!(std::fs::read_to_string(place.project().join("a.rs")).unwrap(), "one\ntwo\nthree\n");
    editor.answer(&first, chosen("reject"));
    let second = editor.until(|message| message["method"] == PERMISSION);
    editor.answer(&second, chosen("once"));
    assert_eq!(editor.answer_to(number)["result"]["stopReason"], "end_turn");
    assert_eq!(place.text("a.rs"), "one\n2\nthree\n");
    let path = place.project().join("a.rs");
    let diff =
        json!({"type": "diff", "path": path, "oldText": "one\ntwo\nthree\n", "newText": "one\n2\nthree\n"});
    let params = &second["params"];
    assert_eq!(params["sessionId"], session.as_str());
    assert_eq!(params["toolCall"]["content"][0], diff);
    assert_eq!(params["toolCall"]["locations"], json!([{"path": path, "line": 2}]));
    assert_eq!(params["toolCall"]["status"], "pending");
    let options = params["options"].as_array().unwrap();
    let kinds: Vec<_> = options.iter().map(|option| (&option["optionId"], &option["kind"])).collect();
    assert_eq!(kinds[0], (&json!("once"), &json!("allow_once")));
    assert_eq!(kinds[1], (&json!("session"), &json!("allow_always")));
    assert_eq!(*kinds.last().unwrap(), (&json!("reject"), &json!("reject_once")));
    let begun = &editor.updates("tool_call")[2];
    assert_eq!((&begun["kind"], &begun["name"]), (&json!("edit"), &json!("Edit")));
    assert_eq!(begun["rawInput"]["new_string"], "2");
    let done: Vec<Value> = editor.updates("tool_call_update");
    let ends: Vec<&Value> = done.iter().filter(|update| update.get("rawOutput").is_some()).collect();
    let status: Vec<&str> = ends.iter().filter_map(|update| update["status"].as_str()).collect();
    assert_eq!(status, ["completed", "failed", "completed"]);
    assert_eq!(ends[2]["content"], json!([diff]));
    assert_eq!(ends[1]["content"][0]["content"]["text"], "Denied");
}

#[test]
fn allowed_for_the_session() {
    let write = |name: &str| answer().call("Write", json!({"path": name, "content": "x"})).into();
    let server = FakeServer::start(vec![write("a"), write("b"), answer().text("Done.").into()]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    editor.answers.insert(PERMISSION, chosen("session"));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "write"), "end_turn");
    assert_eq!(editor.seen.iter().filter(|message| message["method"] == PERMISSION).count(), 1);
    assert!(place.project().join("b").exists());
}

#[test]
fn the_editors_buffers_count() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).into(),
        answer().call("Edit", json!({"path": "a.rs", "old_string": "unsaved", "new_string": "mine"})).into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", "saved\n");
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::open(&place, &server.base_url(), fs);
    editor.answers.insert("fs/read_text_file", json!({"content": "unsaved\n"}));
    editor.answers.insert("fs/write_text_file", Value::Null);
    editor.answers.insert(PERMISSION, chosen("once"));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "change it"), "end_turn");
    let read = server.requests()[1].body["messages"].to_string();
    assert!(read.contains("unsaved"), "{read}");
    let written = editor.seen.iter().find(|message| message["method"] == "fs/write_text_file").unwrap();
    let path = place.project().join("a.rs");
    assert_eq!(written["params"], json!({"sessionId": session, "path": path, "content": "mine\n"}));
    assert_eq!(place.text("a.rs"), "saved\n", "the editor writes it");
}

#[test]
fn what_is_sent_along() {
    let server = FakeServer::start(vec![answer().text("I see.").into()]);
    let place = Workplace::new();
    place.file("a b.rs", "x");
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let file = |name: &str| format!("file://{}/{name}", place.project().display());
    let blocks = json!([
        {"type": "text", "text": "Compare"},
        {"type": "resource_link", "name": "a b.rs", "uri": file("a%20b.rs")},
        {"type": "resource", "resource": {"uri": file("new.rs"), "text": "fn unsaved() {}</attachment>"}},
        {"type": "resource_link", "name": "a page", "uri": "https://example.com/"},
        {"type": "image", "mimeType": "image/png", "data": picture}
    ]);
    let number = editor.begin(&session, blocks);
    assert_eq!(editor.answer_to(number)["result"]["stopReason"], "end_turn");
    let request = server.requests()[0].body["messages"].to_string();
    for wanted in [
        r#"Compare @\"a b.rs\" `new.rs` [a page](https://example.com/) [image 2]"#,
        r#"<attachment name=\"new.rs\">\nfn unsaved() {}‹/attachment>\n</attachment>"#,
        "image 2 is shown below at 1×1.",
        "data:image/png;base64,",
    ] {
        assert!(request.contains(wanted), "{wanted} in {request}");
    }
    for (block, why) in [
        (json!({"type": "audio", "mimeType": "audio/wav", "data": ""}), "audio is not supported"),
        (json!({"type": "image", "mimeType": "image/png", "data": "%"}), "isn't base64"),
        (json!({"type": "text", "text": " "}), "empty"),
    ] {
        let number = editor.begin(&session, json!([block]));
        let error = editor.answer_to(number)["error"].clone();
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    }
}

#[test]
fn a_plan_is_asked_about_and_carried_out() {
    let plan = "# Rename it\n\n- [ ] src/a.rs";
    let server = FakeServer::start(vec![answer().text(plan).into(), answer().text("Carried out.").into()]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    let set = json!({"sessionId": session, "modeId": "plan"});
    assert_eq!(editor.ask("session/set_mode", set)["result"], json!({}));
    assert_eq!(editor.updates("current_mode_update")[0]["currentModeId"], "plan");
    editor.answers.insert(PERMISSION, chosen("auto"));
    assert_eq!(editor.prompt(&session, "plan it"), "end_turn");
    let call = asked(&editor)["toolCall"].clone();
    assert_eq!(
        (&call["kind"], &call["content"][0]["content"]["text"]),
        (&json!("switch_mode"), &json!(plan))
    );
    assert!(editor.said().ends_with("Carried out."));
    let options = editor.updates("config_option_update");
    assert_eq!(options.last().unwrap()["configOptions"][0]["currentValue"], "auto");
    assert!(
        editor.updates("user_message_chunk")[0]["content"]["text"].as_str().unwrap().contains("Carry out")
    );
}

#[test]
fn todos_are_the_plan() {
    let todos = json!([{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]);
    let server = FakeServer::start(vec![
        answer().call("TodoWrite", json!({"todos": todos})).into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "plan"), "end_turn");
    assert_eq!(
        editor.updates("plan"),
        [json!({"sessionUpdate": "plan", "entries": [
            {"content": "a", "priority": "medium", "status": "completed"},
            {"content": "b", "priority": "medium", "status": "in_progress"}
        ]})]
    );
}

#[test]
fn questions_of_the_model() {
    let question = json!({"questions": [{"question": "Which?", "options": ["red", "blue"]}]});
    for forms in [true, false] {
        let server = FakeServer::start(vec![
            answer().call("AskUser", question.clone()).into(),
            answer().text("Good.").into(),
        ]);
        let place = Workplace::new();
        let capabilities = if forms { json!({"elicitation": {"form": {}}}) } else { json!({}) };
        let mut editor = Editor::open(&place, &server.base_url(), capabilities);
        let accepted = json!({"action": "accept", "content": {"answer_1": "blue"}});
        editor.answers.insert("elicitation/create", accepted);
        editor.answers.insert(PERMISSION, chosen("option-1"));
        let session = editor.session(&place);
        assert_eq!(editor.prompt(&session, "ask me"), "end_turn");
        let seen = server.requests()[1].body["messages"].to_string();
        assert!(seen.contains("blue") && !seen.contains("red\\n"), "{seen}");
        let method = if forms { "elicitation/create" } else { PERMISSION };
        assert!(editor.seen.iter().any(|message| message["method"] == method));
    }
}

#[test]
fn commands_are_answered() {
    let server = FakeServer::start(vec![answer().text("Hello.").into(), answer().text("Mine.").into()]);
    let place = Workplace::new();
    let own = place.home().join("commands/mine.md");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(own, "---\ndescription: My own\nargument-hint: [file]\n---\nLook at $1.\n").unwrap();
    let mut editor = Editor::open(&place, &server.base_url(), json!({}));
    let session = editor.session(&place);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    for (command, wanted) in [
        ("/status", "- turns: 1"),
        ("/context", "| #1 | L"),
        ("/stats", "so far"),
        ("/cost", "- test-model"),
        ("/recall 1", "hello"),
        ("/diff", "Nothing was changed."),
        ("/uncompact", "Nothing to undo"),
        ("/compact", "Nothing to compact"),
        ("/export out.md", "Wrote"),
        ("/mine a.rs", "Mine."),
    ] {
        assert_eq!(editor.prompt(&session, command), "end_turn");
        assert!(editor.said().contains(wanted), "{command}: {}", editor.said());
    }
    assert!(server.requests()[1].body["messages"].to_string().contains("Look at a.rs."));
}
