//! Keys where people keep them: other vendors' variables, and a command that prints the key.

use base::config::files::load::{self, Sources};
use base::config::files::raw::Raw;
use base::config::paths::Paths;
use base::config::settings::Permission;
use base::model::stream::StreamEvent;
use futures_util::StreamExt;
use provider::registry;
use serde_json::json;

use super::stream::hello;
use crate::support::answer::{Reply, answer, status};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const AZURE: &str = "azure-key-of-a-vendor-0123";

#[tokio::test]
async fn a_models_name_chooses_among_vendors_within_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let server = FakeServer::start(vec![answer().text("Hi.").into(), answer().text("Hi.").into()]);
    let url = server.base_url();
    let loaded = load::load(Sources {
        flags: Raw::default(),
        vars: &|name| match name {
            "DEEPSEEK_API_KEY" => Some("kd".to_owned()),
            "AZURE_OPENAI_API_KEY" => Some(AZURE.to_owned()),
            "AZURE_OPENAI_ENDPOINT" => Some(url.clone()),
            _ => None,
        },
        paths: &Paths { config: folder.path().into(), state: folder.path().into() },
        workspace: folder.path(),
        trust: false,
        skip_user_files: false,
        default_permission: Permission::Auto,
    })
    .unwrap();
    let main = loaded.provider.clone().unwrap();
    assert_eq!(main.base_url, "https://api.deepseek.com");
    let provider = registry::build_all(&main, &loaded).unwrap();
    for _ in 0..2 {
        let mut request = hello();
        request.params.model = "azure/my-deployment".into();
        let events: Vec<_> = provider.stream(&request).collect().await;
        assert!(matches!(events.last(), Some(Ok(StreamEvent::Done { .. }))), "{events:?}");
    }
    let sent = server.requests();
    assert_eq!(sent[1].header("authorization"), format!("Bearer {AZURE}"));
    assert_eq!(sent[1].body["model"], "my-deployment");
}

#[test]
fn every_vendors_key_is_kept_from_commands_and_the_model() {
    let place = Workplace::new();
    let groq = "a-groq-key-as-plain-words-77";
    place.file("notes.txt", format!("azure {AZURE}, groq {groq}\n"));
    let calls = answer()
        .call(
            "Bash",
            json!({"command": "echo found $(env | grep -c -e GROQ_API_KEY -e AZURE_OPENAI_API_KEY) keys"}),
        )
        .call("Read", json!({"path": "notes.txt"}));
    let server = FakeServer::start(vec![calls.into(), answer().text("Done.").into()]);
    let url = server.base_url();
    let mut command = place.command(&["exec", "--model", "azure/dep", "--permission", "full", "go"]);
    command.env("AZURE_OPENAI_API_KEY", AZURE).env("AZURE_OPENAI_ENDPOINT", &url).env("GROQ_API_KEY", groq);
    let out = command.output().unwrap();
    assert_eq!(stdout(&out).trim(), "Done.", "{}", stderr(&out));
    let raw = &server.requests()[1].raw;
    assert!(!raw.contains(AZURE) && !raw.contains(groq), "{raw}");
    assert!(raw.contains("found 0 keys"), "{raw}");
}

#[test]
fn the_models_of_all_vendors_are_listed() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![]);
    server
        .on_get("/v1/models", &json!({"data": [{"id": "dep-a", "max_model_len": 32_768}, {"id": "dep-b"}]}));
    let url = server.base_url();
    let mut command = place.command(&["models", "dep-a"]);
    command
        .env("AZURE_OPENAI_API_KEY", AZURE)
        .env("AZURE_OPENAI_ENDPOINT", &url)
        .env("MYCODE_MODEL", "azure/dep-b");
    let out = command.output().unwrap();
    let said = stdout(&out);
    assert!(said.contains(&format!("In use: dep-b at {url}\n  dep-a  32.8k\n")), "{said}{}", stderr(&out));
    let out = place.command(&["models", "--base-url", &url]).output().unwrap();
    let said = stdout(&out);
    assert!(said.contains("In use: (none set) at") && said.contains("  dep-a  32.8k\n  dep-b\n"), "{said}");
    let out = place.command(&["models"]).output().unwrap();
    let said = stdout(&out);
    assert!(said.contains("No model is configured") && said.contains("OPENROUTER_API_KEY"), "{said}");
}

/// A command that prints another token each time, and counts its runs.
fn prints(place: &Workplace, server: &FakeServer, more: &str) {
    let config = format!(
        "nudges = false\nbase_url = \"{}\"\nmodel = \"m\"\napi_key_command = '''echo run >> {}/runs; {more}'''\n",
        server.base_url(),
        place.home().display()
    );
    std::fs::write(place.home().join("config.toml"), config).unwrap();
}

fn runs(place: &Workplace) -> usize {
    std::fs::read_to_string(place.home().join("runs")).map_or(0, |text| text.lines().count())
}

fn rejected() -> Reply {
    status(401, r#"{"error":{"message":"token expired"}}"#)
}

#[test]
fn a_command_prints_the_key_until_it_is_refused() {
    let place = Workplace::new();
    let read = || answer().call("Read", json!({"path": "notes.txt"}));
    let server = FakeServer::start(vec![read().into(), rejected(), answer().text("Done.").into()]);
    let count = format!("echo token-number-$(wc -l < {}/runs)", place.home().display());
    place.file("notes.txt", "it was token-number-1 then\n");
    prints(&place, &server, &count);
    let out = place.command(&["exec", "go"]).output().unwrap();
    assert_eq!((stdout(&out).trim(), runs(&place)), ("Done.", 2), "{}", stderr(&out));
    let sent = server.requests();
    let used: Vec<_> = sent.iter().map(|request| request.header("authorization").to_owned()).collect();
    assert_eq!(used, ["Bearer token-number-1", "Bearer token-number-1", "Bearer token-number-2"]);
    assert!(!sent[2].raw.contains("token-number-1"), "the model never sees it: {}", sent[2].raw);
    // A token that is refused again is the user's matter.
    let server = FakeServer::start(vec![rejected(), rejected()]);
    prints(&place, &server, &count);
    let out = place.command(&["exec", "go"]).output().unwrap();
    assert!(stderr(&out).contains("API key rejected (HTTP 401): token expired"), "{}", stderr(&out));
}

#[test]
fn a_command_that_fails_is_named_with_its_words() {
    let place = Workplace::new();
    let server = FakeServer::start(vec![]);
    for (command, said) in [
        ("echo 'please log in first' >&2; exit 3", "failed (exit status: 3): please log in first"),
        ("true", "printed no token"),
        ("echo two words", "printed more than one word"),
    ] {
        prints(&place, &server, command);
        let out = place.command(&["exec", "go"]).output().unwrap();
        assert!(
            stderr(&out).contains("api_key_command `echo run") && stderr(&out).contains(said),
            "{}",
            stderr(&out)
        );
    }
    // A project can't have one, trusted or not; a token needs a place where it belongs.
    std::fs::write(place.home().join("config.toml"), "nudges = false\n").unwrap();
    let marker = place.home().join("marker");
    place.file(".mycode/config.toml", format!("api_key_command = \"touch {}\"\n", marker.display()));
    let url = server.base_url();
    server.push(answer().text("ok"));
    let out = place.command(&["exec", "--trust", "--base-url", &url, "--model", "m", "go"]).output().unwrap();
    assert!(stderr(&out).contains("api_key_command only works in your own config file"), "{}", stderr(&out));
    assert!(!marker.exists());
    std::fs::write(place.home().join("config.toml"), "api_key_command = \"echo k\"\n").unwrap();
    let out = place.command(&["exec", "go"]).output().unwrap();
    assert!(stderr(&out).contains("set base_url or provider next to it"), "{}", stderr(&out));
}
