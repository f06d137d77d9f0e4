//! Images: what the user names and what Read opens reaches the model in all three dialects, and stays there; a model that
//! can't see is told so.

use std::io::Cursor;

use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::answer::status;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let picture = image::RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 7]));
    picture.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    bytes
}

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("a.png", png(60, 40)).file("shots/b.png", png(3_000, 30));
    place
}

#[test]
fn what_is_no_picture_is_refused() {
    let place = Workplace::new();
    place.file("a.py", "x = 1\n");
    let server = FakeServer::start(Vec::new());
    let (_, error) = run(&place, &server, ["openai", "m"], &["--image", "a.py", "look"]);
    assert!(error.contains("--image a.py: it isn't a picture"), "{error}");
    assert!(server.requests().is_empty());
}

/// Runs `exec` with a provider and a model; what the user sees.
fn run(place: &Workplace, server: &FakeServer, with: [&str; 2], args: &[&str]) -> (String, String) {
    let url = match with[0] {
        "anthropic" => server.base_url().trim_end_matches("/v1").to_owned(),
        _ => server.base_url(),
    };
    let mut all = vec!["exec", "--provider", with[0], "--base-url", &url, "--model", with[1]];
    all.extend(args);
    let output = place.command(&all).output().unwrap();
    (stdout(&output), stderr(&output))
}

fn messages(body: &Value) -> Vec<Value> {
    let list = if body["input"].is_array() { &body["input"] } else { &body["messages"] };
    list.as_array().unwrap().clone()
}

/// The kinds and sizes of the images in a body, in order.
fn images(body: &Value) -> Vec<String> {
    let parts = messages(body)
        .into_iter()
        .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    parts
        .filter_map(|part| {
            let url = part["image_url"]["url"].as_str().or(part["image_url"].as_str());
            let data = url.and_then(|url| url.strip_prefix("data:image/png;base64,")).map(str::to_owned);
            let source =
                part["source"]["data"].as_str().filter(|_| part["source"]["media_type"] == "image/png");
            data.or(source.map(str::to_owned))
        })
        .map(|data| {
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
            let picture = image::load_from_memory(&bytes).unwrap();
            format!("{}×{}", picture.width(), picture.height())
        })
        .collect()
}

#[test]
fn all_dialects_show_them_and_keep_them() {
    for with in [["chat", "gpt-4o"], ["responses", "gpt-6.1-terra"], ["anthropic", "claude-opus-4-5"]] {
        let place = place();
        let server = FakeServer::start(vec![
            answer()
                .call("Read", json!({"path": "shots/b.png"}))
                .call("LS", json!({}))
                .call("Read", json!({"path": "a.png"}))
                .into(),
            answer().text("Two pictures.").into(),
            answer().text("Still two.").into(),
        ]);
        let (said, noted) = run(&place, &server, with, &["compare @a.png"]);
        assert_eq!(said.trim(), "Two pictures.", "{noted}");
        assert!(noted.contains("Attached a.png (60×40, "), "{noted}");
        run(&place, &server, with, &["--continue", "sure?"]);
        let bodies: Vec<Value> = server.requests().iter().map(|request| request.body.clone()).collect();
        assert_eq!(images(&bodies[0]), ["60×40"], "{with:?}");
        assert_eq!(images(&bodies[1]), ["60×40", "1568×16", "60×40"], "{with:?}");
        assert!(bodies[1].to_string().contains("image, shown at 1568×16 below"));
        // From the log alone, and nothing of it changed.
        assert_eq!(images(&bodies[2]), ["60×40", "1568×16", "60×40"], "{with:?}");
        let (before, after) = (messages(&bodies[1]), messages(&bodies[2]));
        if with[0] != "anthropic" {
            assert_eq!(before[..], after[..before.len()], "{with:?}");
        }
    }
}

#[test]
fn a_model_that_cannot_see_is_told_so() {
    let place = place();
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.png"})).into(),
        answer().text("I can't see it.").into(),
    ]);
    let (said, noted) = run(&place, &server, ["chat", "deepseek-v4-pro"], &["what is @a.png?"]);
    assert_eq!(said.trim(), "I can't see it.", "{noted}");
    let sent = server.requests()[1].raw.clone();
    assert!(
        sent.contains("a.png is an image, and deepseek-v4-pro can't see images; tell the user so."),
        "{sent}"
    );
    assert!(sent.contains("not text; deepseek-v4-pro can't see images"), "{sent}");
    assert!(!sent.contains("base64"));
}

#[test]
fn a_server_that_refuses_them_gets_words_instead() {
    let place = place();
    let refusal =
        r#"{"error":{"message":"image input is not supported - hint: you may need to provide the mmproj"}}"#;
    let server = FakeServer::start(vec![
        status(400, refusal),
        answer().call("Read", json!({"path": "shots/b.png"})).into(),
        answer().text("Blind.").into(),
    ]);
    let (said, noted) = run(&place, &server, ["chat", "my-model"], &["what is @a.png?"]);
    assert_eq!(said.trim(), "Blind.", "{noted}");
    assert!(noted.contains("image input is not supported"), "{noted}");
    let bodies: Vec<Value> = server.requests().iter().map(|request| request.body.clone()).collect();
    assert_eq!(images(&bodies[0]), ["60×40"]);
    for body in &bodies[1..] {
        assert!(images(body).is_empty());
        assert!(body.to_string().contains("[image a.png 60×40; this model can't see images]"), "{body}");
    }
}

#[test]
fn one_that_the_server_cannot_read_leaves_the_others() {
    let place = place();
    let unreadable =
        r#"{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid."}}"#;
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "shots/b.png"})).into(),
        status(400, unreadable),
        answer().text("One.").into(),
    ]);
    let (said, noted) = run(&place, &server, ["chat", "my-model"], &["compare @a.png"]);
    assert_eq!(said.trim(), "One.", "{noted}");
    let last = server.requests()[2].body.clone();
    assert_eq!(images(&last), ["60×40"]);
    assert!(last.to_string().contains("the server can't read it]"), "{last}");
}

#[test]
fn the_account_and_damaged_files() {
    let place = place();
    place.file("bad.png", b"\x89PNG\r\n\x1a\nnothing");
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "bad.png"})).into(),
        answer().text("Done.").into(),
    ]);
    let (said, noted) = run(&place, &server, ["chat", "gpt-4o"], &["look at @a.png and @bad.png"]);
    assert_eq!(said.trim(), "Done.", "{noted}");
    let sent = server.requests()[1].raw.clone();
    assert!(sent.contains("bad.png can't be shown: it can't be decoded"), "{sent}");
    assert!(sent.contains("not text; it can't be decoded"), "{sent}");
    let account = place.command(&["context"]).output().unwrap();
    let account = stdout(&account);
    assert!(account.contains("image a.png 60×40"), "{account}");
}

#[test]
fn a_message_that_is_sent_again_has_its_images() {
    let place = place();
    let refusal = || status(401, r#"{"error":{"message":"no such key"}}"#);
    let server = FakeServer::start(vec![refusal(), answer().text("One.").into()]);
    let with = ["chat", "gpt-4o"];
    run(&place, &server, with, &["what is @a.png?"]);
    let (said, noted) = run(&place, &server, with, &["--continue", "what is @a.png?"]);
    assert_eq!(said.trim(), "One.", "{noted}");
    let bodies: Vec<Value> = server.requests().iter().map(|request| request.body.clone()).collect();
    assert_eq!(messages(&bodies[0]), messages(&bodies[1]));
    assert_eq!(images(&bodies[1]), ["60×40"]);
}
