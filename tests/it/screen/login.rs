//! A first start without a key: the list of vendors, a key typed masked, and a turn without a restart.

use std::io::{BufRead as _, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;

use base::config::provider::saved_keys::{KeyState, VendorKey};
use base::protocol::event::{Event, NO_PROVIDER, SessionInfo};
use base::protocol::op::{Idle, Op, Quick};
use base::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use crossterm::event::KeyCode;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::support::answer::{answer, raw};
use crate::support::fake_engine as fake;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::stage::{Stage, key};
use crate::support::workplace::{Workplace, stderr, stdout};

const KEY: &str = "sk-good-0123456789abcdef0123";

#[test]
fn first_screen_without_a_key() {
    let mut stage = Stage::new(80, 14);
    let none = NO_PROVIDER.to_owned();
    stage.event(Event::Session(SessionInfo { provider: none, offer_init: false, ..fake::session() }));
    let row = |vendor: &str, state| VendorKey { vendor: vendor.to_owned(), state };
    stage.event(Event::Keys(vec![
        row("openai", KeyState::Missing),
        row("anthropic", KeyState::Saved),
        row("zai", KeyState::Exported("ZAI_API_KEY".to_owned())),
    ]));
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    Log in  type to search
      Enter to type a key · Esc to close
    ▸ openai       no key
      anthropic    key saved
      zai          ZAI_API_KEY is exported
      `mycode login chatgpt` signs in with a ChatGPT Plus or Pro plan. Claude Free,
      Pro and Max plans can't be used here: Anthropic's terms allow them only in its
      own programs.
      No model yet: /login saves an API key.                                   /help
    "#);
    stage.press(KeyCode::Down);
    let removed = Quick::SaveKey { vendor: "anthropic".to_owned(), key: None };
    assert_eq!(stage.ops(key(KeyCode::Delete)), [Op::Quick(removed)]);
    stage.press(KeyCode::Enter);
    stage.type_text("sk-ant-0123456789abcdef");
    let sent = stage.ops(key(KeyCode::Enter));
    let typed = Some(Secret::new("sk-ant-0123456789abcdef"));
    assert_eq!(sent, [Op::Quick(Quick::SaveKey { vendor: "anthropic".to_owned(), key: typed })]);
    assert!(!format!("{sent:?}").contains("sk-ant"), "a key is never printed");
    stage.event(Event::KeyChanged(Err("The key was not saved: API key rejected.".to_owned())));
    insta::assert_snapshot!(stage.shown(), @r#"
    ──────────────────────────────────────────────────────────────────────────────
    API key for anthropic  Enter to check and save it · Esc to go back
    › •••••••••••••••••••cdef▏
      The key was not saved: API key rejected.
      No model yet: /login saves an API key.                                   /help
    "#);
    stage.press(KeyCode::Enter);
    stage.event(Event::KeyChanged(Ok("Saved.".to_owned())));
    assert_eq!(stage.sent().last(), Some(&Op::Idle(Idle::ReadKeys)));
    stage.command("/model");
    assert!(stage.shown().contains("No model yet: /login saves an API key."), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    stage.command("/login opnai");
    assert!(stage.shown().contains("There is no vendor 'opnai'. Choose one of"), "{}", stage.shown());
}

#[test]
fn a_key_is_checked_and_used_at_once() {
    let server = FakeServer::start(vec![answer().text("Hello.").into()]);
    server.on_get("/v1/models", &json!({"data": [{"id": "m"}]}));
    server.require_key(KEY);
    let place = Workplace::new();
    let vars = [("AZURE_OPENAI_ENDPOINT", server.base_url())];
    let vars = vars.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut screen = Screen::start_with(&place, &["--model", "m"], (80, 24), &vars);
    screen.wait("azure        no key");
    screen.keys("azure\r");
    screen.wait("API key for azure");
    screen.keys("sk-wrong-0123456789abcdef\r");
    screen.wait("API key rejected (HTTP 401): no such key.");
    screen.keys("\u{15}\u{1b}[200~");
    screen.keys(KEY);
    screen.keys("\n\u{1b}[201~\r");
    screen.wait("The key for azure is saved");
    screen.keys("hi\r");
    screen.wait("Hello.");
    assert!(server.requests()[0].headers.iter().any(|(_, value)| value.contains(KEY)));
    screen.keys("/logout azure\r");
    screen.wait("Model: no model.");
    screen.keys("/quit\r");
    screen.end();
    let all = walkdir::WalkDir::new(place.home()).into_iter().flatten();
    let files = all.filter(|entry| entry.file_type().is_file());
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned();
        assert!(!text.contains("sk-good") && !text.contains("sk-wrong"), "{}", file.path().display());
    }
}

#[test]
fn login_from_the_shell() {
    let server = FakeServer::start(Vec::new());
    server.on_get("/v1/models", &json!({"data": []}));
    server.require_key(KEY);
    let place = Workplace::new();
    let run = |args: &[&str], input: &str| {
        let mut command = place.command(args);
        command.env("ANTHROPIC_BASE_URL", server.base_url()).env("OPENAI_BASE_URL", server.base_url());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let refused = run(&["login", "anthropic"], "wrong\n");
    assert_eq!(refused.status.code(), Some(3));
    assert!(stderr(&refused).contains("The key was not saved: API key rejected (HTTP 401)"), "{refused:?}");
    let saved = run(&["login", "anthropic"], &format!("{KEY}\n"));
    assert!(stdout(&saved).contains("keys.toml, readable only by you."), "{saved:?}");
    // As Codex takes it.
    let openai = run(&["login", "--with-api-key"], &format!("{KEY}\n"));
    assert!(stdout(&openai).contains("keys.toml"), "{openai:?}");
    let listed = stdout(&run(&["login"], ""));
    assert!(listed.contains("anthropic    key saved") && listed.contains("Anthropic's terms"), "{listed}");
    assert!(stdout(&run(&["logout", "anthropic"], "")).contains("is removed from"));
    assert!(stderr(&run(&["logout", "anthropic"], "")).contains("No key for anthropic is saved"));
    assert!(stderr(&run(&["login", "nobody"], "k\n")).contains("There is no vendor 'nobody'."));
}

/// The issuer is ours: the page's parameters and the exchange are what OpenRouter's guide asks for.
#[test]
fn a_vendors_page_gives_a_key() {
    let server =
        FakeServer::start(vec![raw("application/json", &json!({"key": KEY, "user_id": "u"}).to_string())]);
    server.on_get("/v1/key", &json!({"data": {}}));
    server.require_key(KEY);
    let place = Workplace::new();
    let mut command = place.command(&["login", "openrouter", "--browser"]);
    command.env("OPENROUTER_API_BASE", server.base_url()).env("BROWSER", "true");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let page = lines.find(|line| line.starts_with("https://openrouter.ai/auth?")).unwrap();
    let (_, query) = page.split_once('?').unwrap();
    let parameter = |wanted: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == wanted).unwrap().1.replace("%3A", ":").replace("%2F", "/")
    };
    assert_eq!(parameter("code_challenge_method"), "S256");
    let callback = parameter("callback_url");
    let port = callback.strip_prefix("http://localhost:").unwrap().strip_suffix("/callback").unwrap();
    let mut browser = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(browser, "GET /callback?code=c-1 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).contains("The key for openrouter is saved in"), "{output:?}");
    let exchange = &server.requests()[0];
    server.take_faults();
    assert_eq!((exchange.path.as_str(), &exchange.body["code"]), ("/v1/auth/keys", &json!("c-1")));
    let verifier = exchange.body["code_verifier"].as_str().unwrap();
    assert_eq!(URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)), parameter("code_challenge"));
    let said = place.command(&["login", "openai", "--browser"]).output().unwrap();
    assert!(stderr(&said).contains("openai has no page for this"), "{said:?}");
}
