//! How large a model's window is on its server: asked for at any address, kept for the next session, learned from refusals.

use base::config::settings::{Origin, ProviderKind, ProviderSettings};
use provider::window::finder::{FoundWindow, LearningProvider, WindowFinder};
use provider::window::probe;
use serde_json::{Value, json};

use super::stream::{ask, provider, quick, settings};
use crate::support::answer::answer;
use crate::support::answer::status;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

/// What is said about the window of model `m` by a server with these answers.
async fn said(answers: &[(&str, Value)]) -> Option<(u64, &'static str)> {
    let server = FakeServer::start(vec![]);
    for (path, answer) in answers {
        server.on_get(path, answer);
    }
    let window = probe::context_window(&settings(ProviderKind::Chat, &server)).await;
    window.map(|window| (window.tokens, window.source))
}

#[tokio::test]
async fn servers_say_it_in_many_ways() {
    let props = json!({"default_generation_settings": {"n_ctx": 2048}, "total_slots": 4});
    let list = |model: Value| json!({"object": "list", "data": [{"id": "other"}, model]});
    let studio = |loaded: Value| json!({"models": [{"key": "x"}, {"key": "m", "max_context_length": 32768, "loaded_instances": loaded}]});
    let trained = json!({"model_info": {"llama.context_length": 131_072}, "parameters": ""});
    let running = json!({"models": [{"name": "m", "context_length": 16384}]});
    let configured =
        json!({"model_info": {"llama.context_length": 131_072}, "parameters": "stop x\nnum_ctx    8192"});
    let idle = ("/api/ps", json!({"models": []}));
    let (llama, models) = ("llama.cpp's /props", "its list of models");
    for (answers, expected) in [
        (
            vec![
                ("/props", props),
                ("/v1/models", list(json!({"id": "m", "meta": {"n_ctx_train": 99_999}}))),
            ],
            (2048, llama),
        ),
        (vec![("/v1/models", list(json!({"id": "m", "meta": {"n_ctx_train": 99_999}})))], (99_999, models)),
        (vec![("/v1/models", list(json!({"id": "m", "max_model_len": 4000})))], (4000, models)),
        (
            vec![(
                "/api/v0/models",
                list(json!({"id": "m", "loaded_context_length": 5000, "max_context_length": 9000})),
            )],
            (5000, "LM Studio"),
        ),
        (
            vec![("/api/v1/models", studio(json!([{"id": "m:2", "config": {"context_length": 6000}}])))],
            (6000, "LM Studio"),
        ),
        (vec![("/api/v1/models", studio(json!([])))], (32_768, "LM Studio")),
        (vec![("/api/show", trained.clone()), idle.clone()], (4096, "Ollama")),
        (vec![("/api/show", configured), idle], (8192, "Ollama")),
        (vec![("/api/show", trained), ("/api/ps", running)], (16_384, "Ollama")),
        (
            vec![(
                "/v1/models",
                list(
                    json!({"id": "m", "context_length": 200_000, "top_provider": {"context_length": 150_000}}),
                ),
            )],
            (150_000, models),
        ),
    ] {
        assert_eq!(said(&answers).await, Some(expected), "{answers:?}");
    }
    assert_eq!(said(&[("/props", json!({"default_generation_settings": {"n_ctx": 0}}))]).await, None);
}

struct Session {
    finder: WindowFinder,
    settings: ProviderSettings,
}

impl Session {
    fn new(folder: &std::path::Path, server: &FakeServer) -> Self {
        Self {
            finder: WindowFinder::new(&folder.join("servers.json")),
            settings: settings(ProviderKind::Chat, server),
        }
    }

    async fn anew(&self) -> Option<(u64, Origin)> {
        self.finder.find_anew(&self.settings).await.learned()
    }
}

#[tokio::test]
async fn what_was_learned_is_there_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = FakeServer::start(vec![]);
    let session = Session::new(folder.path(), &server);
    assert_eq!(session.anew().await, None);
    assert!(!folder.path().join("servers.json").exists(), "nothing to keep");
    server.on_get("/v1/models", &json!({"data": [{"id": "m", "max_model_len": 32_768}]}));
    assert_eq!(session.anew().await, Some((32_768, Origin::Server)));
    // A server that refuses less is believed.
    let full = r#"{"error":{"message":"This model's maximum context length is 8192 tokens, you sent 9000"}}"#;
    server.push(status(400, full));
    let learning = LearningProvider::wrap(
        provider(ProviderKind::Chat, &server, quick()),
        session.finder.clone(),
        &session.settings,
    );
    let error = ask(&*learning).await.unwrap_err();
    assert_eq!(error.context_limit(), Some(8192));
    assert_eq!(session.anew().await, Some((8192, Origin::Error)));
    drop(server);
    // It does not run: as it was, and at once.
    assert_eq!(session.finder.find(&session.settings).await.learned(), Some((8192, Origin::Error)));
    let text = std::fs::read_to_string(folder.path().join("servers.json")).unwrap();
    assert!(!text.contains("sk-very-secret"), "{text}");
    let other = ProviderSettings { model: "other".into(), ..session.settings.clone() };
    assert_eq!(session.finder.find(&other).await, FoundWindow::default());
}

#[test]
fn the_session_and_the_doctor_use_it() {
    let server = FakeServer::start(vec![answer().text("ok").into(), answer().text("ok").into()]);
    server.on_get("/props", &json!({"default_generation_settings": {"n_ctx": 8192}}));
    let place = Workplace::new();
    let run = |args: &[&str]| {
        let url = server.base_url();
        let mut all = vec!["--base-url", &url, "--model", "gpt-4o"];
        all.extend(args);
        stdout(&place.command(&all).output().unwrap())
    };
    let doctor = run(&["doctor"]);
    assert!(doctor.contains("window          8192 tokens (server), compaction"), "{doctor}");
    assert!(doctor.contains("server window   8192 tokens, from llama.cpp's /props\n"), "{doctor}");
    let doctor = run(&["--context-window", "16000", "doctor"]);
    assert!(doctor.contains("window          16000 tokens (user), compaction"), "{doctor}");
    assert!(doctor.contains("server window   8192 tokens, from llama.cpp's /props, not used\n"), "{doctor}");
    server.on_get("/props", &json!({"default_generation_settings": {"n_ctx": 2048}}));
    server.push(answer().text("ok"));
    let doctor = run(&["doctor"]);
    assert!(doctor.contains("error: context_window = 2048 is too small\nhint: "), "{doctor}");
    let refused = run(&["exec", "hi"]);
    assert_eq!(refused, "");
}

#[test]
fn a_refusal_shapes_the_next_session() {
    let full =
        r#"{"error":{"message":"This model's maximum context length is 12000 tokens, you sent 90000"}}"#;
    let server =
        FakeServer::start(vec![status(400, full), answer().text("Done.").into(), answer().text("ok").into()]);
    let place = Workplace::new();
    let first = place.exec(&server.base_url(), &["say done"]);
    assert_eq!(stdout(&first).trim(), "Done.", "{}", stderr(&first));
    let url = server.base_url();
    let doctor = place.command(&["--base-url", &url, "--model", "test-model", "doctor"]).output().unwrap();
    let said = stdout(&doctor);
    assert!(said.contains("window          12000 tokens (error), compaction"), "{said}");
    assert!(said.contains("server window   12000 tokens, from a refusal of 20"), "{said}");
}
