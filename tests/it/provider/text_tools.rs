//! Whole runs with models that take no tool calls: the tools go into the prompt, the calls come as text.

use serde_json::{Value, json};

use crate::support::answer::{Reply, answer, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const CALLS: &str = "I look around.\n<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"path\": \"missing.txt\"}}\n</tool_call>";

fn refused(code: u16, message: &str) -> Reply {
    status(code, &json!({"error": {"message": message, "code": code}}).to_string())
}

fn is_written_out(body: &Value) {
    assert_eq!(body["tools"], Value::Null);
    assert_eq!(body["stop"], json!(["<tool_result"]));
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("<tool_call>\n{\"name\": \"TOOL\"") && system.contains("## Read\n"), "{system}");
}

#[test]
fn a_refusal_of_tools_leads_to_text() {
    for refusal in [
        refused(500, "tools param requires --jinja flag"),
        refused(
            404,
            "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs",
        ),
        refused(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        refused(
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
    ] {
        let place = Workplace::new();
        place.file("a.txt", "the text of a\n");
        let server =
            FakeServer::start(vec![refusal, answer().text(CALLS).into(), answer().text("All done.").into()]);
        let out = place.exec(&server.base_url(), &["look"]);
        assert_eq!((stdout(&out).trim(), server.left()), ("All done.", 0), "{}", stderr(&out));
        assert!(stderr(&out).contains("describing the tools in the prompt instead"), "{}", stderr(&out));
        let sent: Vec<_> = server.requests().iter().map(|request| request.body.clone()).collect();
        assert!(sent[0]["tools"].is_array());
        sent[1..].iter().for_each(is_written_out);
        let messages = sent[2]["messages"].as_array().unwrap();
        let [.., said, results] = &messages[..] else { panic!("{messages:?}") };
        let said = said["content"].as_str().unwrap();
        assert!(
            said.starts_with(
                "I look around.\n\n<tool_call>\n{\"name\":\"Read\",\"arguments\":{\"path\":\"a.txt\"}}"
            ),
            "{said}"
        );
        let text = results["content"].as_str().unwrap();
        assert_eq!(results["role"], "user");
        assert!(
            text.starts_with("<tool_result tool=\"Read\">\n") && text.contains("the text of a"),
            "{text}"
        );
        assert!(text.contains("<tool_result tool=\"Read\" error=\"true\">\n"), "{text}");
        // The next session begins so, and the doctor says it.
        server.push(answer().text("Done again."));
        let out = place.exec(&server.base_url(), &["again"]);
        assert_eq!((stdout(&out).trim(), server.left()), ("Done again.", 0), "{}", stderr(&out));
        is_written_out(&server.requests()[3].body);
        server.push(answer().text("ok"));
        let url = server.base_url();
        let doctor =
            place.command(&["--base-url", &url, "--model", "test-model", "doctor"]).output().unwrap();
        assert!(stdout(&doctor).contains("not sent        tools (sent as text)"), "{}", stdout(&doctor));
    }
}

#[test]
fn a_setting_chooses_text_from_the_start() {
    let place = Workplace::new();
    place.file("a.txt", "the text of a\n");
    std::fs::write(place.home().join("config.toml"), "nudges = false\ntool_calls = \"text\"\n").unwrap();
    let server = FakeServer::start(vec![answer().text(CALLS).into(), answer().text("All done.").into()]);
    let out = place.exec(&server.base_url(), &["look"]);
    assert_eq!((stdout(&out).trim(), server.left()), ("All done.", 0), "{}", stderr(&out));
    server.requests().iter().for_each(|request| is_written_out(&request.body));
}

#[test]
fn a_server_without_any_tools_says_what_it_is() {
    let place = Workplace::new();
    let jinja = || refused(500, "tools param requires --jinja flag");
    let server = FakeServer::start(vec![jinja(), jinja()]);
    let out = place.exec(&server.base_url(), &["look"]);
    assert_eq!(server.left(), 0);
    assert!(stderr(&out).contains("hint: start llama-server with --jinja"), "{}", stderr(&out));
}
