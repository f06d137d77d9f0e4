//! Sign in with ChatGPT against an issuer of ours, which checks every parameter: what the browser is shown, the exchange, the
//! requests that the plan pays, renewal, and signing out.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::rand::SystemRandom;
use ring::rsa::KeyPair;
use ring::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const SCOPES: &str = "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct";

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// What the issuer does next, and what it was asked.
struct State {
    key: KeyPair,
    nonce: String,
    challenge: String,
    redirect: String,
    /// Claims that differ from the right ones.
    wrong: Value,
    scope: String,
    lives_s: u64,
    given: u32,
    asked: Vec<(String, Vec<(String, String)>)>,
}

#[derive(Clone)]
struct Issuer {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let key = KeyPair::from_pkcs8(include_bytes!("../../fixtures/chatgpt-issuer.pk8")).unwrap();
        let state = State {
            key,
            nonce: String::new(),
            challenge: String::new(),
            redirect: String::new(),
            wrong: json!({}),
            scope: SCOPES.to_owned(),
            lives_s: 3_600,
            given: 0,
            asked: Vec::new(),
        };
        let issuer = Self { address, state: Arc::new(Mutex::new(state)) };
        let serving = issuer.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serving.answer(stream);
            }
        });
        issuer
    }

    fn answer(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let form = Url::parse(&format!("http://x/?{}", String::from_utf8(body).unwrap())).unwrap();
        let form: Vec<(String, String)> = form.query_pairs().into_owned().collect();
        let (status, reply) = self.reply(&path, &form);
        self.state.lock().unwrap().asked.push((path, form));
        let reply = reply.to_string();
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{reply}",
            reply.len()
        )
        .unwrap();
    }

    fn reply(&self, path: &str, form: &[(String, String)]) -> (u16, Value) {
        let a = &self.address;
        let mut state = self.state.lock().unwrap();
        let form: std::collections::BTreeMap<&str, &str> =
            form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        match path {
            "/.well-known/openid-configuration" => (
                200,
                json!({
                    "issuer": a, "authorization_endpoint": format!("{a}/authorize"), "token_endpoint": format!("{a}/token"),
                    "jwks_uri": format!("{a}/keys"), "revocation_endpoint": format!("{a}/revoke"),
                }),
            ),
            "/keys" => {
                let key = state.key.public_key();
                let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
                let key: ring::rsa::PublicKeyComponents<Vec<u8>> = key.into();
                (200, json!({"keys": [{"kty": "RSA", "kid": "k", "n": part(&key.n), "e": part(&key.e)}]}))
            }
            "/token" if form["grant_type"] == "authorization_code" => {
                let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"]));
                let expected = (form["redirect_uri"], form["code"], form["client_id"], form["resource"]);
                let right = (state.redirect.as_str(), "code-1", "oaiapp_1", "https://api.openai.com/v1");
                if verifier != state.challenge || expected != right || form.len() != 6 {
                    return (
                        400,
                        json!({"error": "invalid_request", "error_description": format!("{form:?}")}),
                    );
                }
                (200, tokens(&mut state, a))
            }
            "/token" => {
                let spent = format!("refresh-{}", state.given);
                if form["refresh_token"] != spent || form["client_id"] != "oaiapp_1" || form.len() != 4 {
                    return (
                        400,
                        json!({"error": {"code": "refresh_token_reused", "message": "used before"}}),
                    );
                }
                (200, tokens(&mut state, a))
            }
            "/revoke" => (200, json!({})),
            _ => (404, json!({})),
        }
    }
}

fn tokens(state: &mut State, issuer: &str) -> Value {
    state.given += 1;
    let mut claims = json!({
        "iss": issuer, "aud": ["oaiapp_1"], "sub": "user-1", "email": "a@example.org", "iat": now_s(), "exp": now_s() + 600,
        "nonce": state.nonce,
    });
    for (name, value) in state.wrong.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({"alg": "RS256", "kid": "k"})), part(&claims));
    let mut signature = vec![0; state.key.public().modulus_len()];
    state.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    json!({
        "token_type": "Bearer", "access_token": format!("access-token-{}", state.given), "expires_in": state.lives_s,
        "refresh_token": format!("refresh-{}", state.given), "scope": state.scope,
        "id_token": format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)),
    })
}

/// `mycode login chatgpt`; `comes_back` makes the browser's query of the page's parameters.
fn login(
    place: &Workplace,
    issuer: &Issuer,
    comes_back: impl Fn(&Value) -> String,
) -> (Value, std::process::Output) {
    let mut command = place.command(&["login", "chatgpt"]);
    command.env("CHATGPT_ISSUER", &issuer.address).env("BROWSER", "true");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let page = lines.find(|line| line.starts_with("http")).unwrap();
    let page = Url::parse(&page).unwrap();
    let pairs = page.query_pairs().into_owned().map(|(name, value)| (name, Value::String(value)));
    let shown = Value::Object(pairs.collect());
    {
        let mut state = issuer.state.lock().unwrap();
        let text = |name: &str| shown[name].as_str().unwrap().to_owned();
        (state.nonce, state.challenge, state.redirect) =
            (text("nonce"), text("code_challenge"), text("redirect_uri"));
    }
    let redirect = Url::parse(shown["redirect_uri"].as_str().unwrap()).unwrap();
    let get = |target: String| {
        let mut browser = TcpStream::connect(("127.0.0.1", redirect.port().unwrap())).unwrap();
        browser.write_all(format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").as_bytes()).unwrap();
        let mut said = String::new();
        let _ = browser.read_to_string(&mut said);
        said
    };
    // Neither an icon nor another program's guess ends the wait.
    assert!(get("/favicon.ico".to_owned()).contains("404"));
    assert!(get(format!("{}?state=guessed&error=access_denied", redirect.path())).contains("404"));
    get(format!("{}?{}", redirect.path(), comes_back(&shown)));
    let rest: Vec<String> = lines.collect();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = rest.join("\n").into_bytes();
    (shown, output)
}

fn agrees(shown: &Value) -> String {
    format!("code=code-1&client_id=oaiapp_1&scope=email&state={}", shown["state"].as_str().unwrap())
}

#[test]
fn a_plan_pays_once_its_user_signed_in() {
    let (place, issuer) = (Workplace::new(), Issuer::start());
    let (first, out) = login(&place, &issuer, agrees);
    assert!(stdout(&out).contains("Signed in as a@example.org. You're using your ChatGPT plan."), "{out:?}");
    for (name, value) in [
        ("client_id", "dynamic_agent_client"),
        ("agent_name_hint", "MyCodeAgent"),
        ("response_type", "code"),
        ("scope", SCOPES),
        ("resource", "https://api.openai.com/v1"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(first[name], value, "{first}");
    }
    let redirect = first["redirect_uri"].as_str().unwrap();
    assert!(redirect.starts_with("http://127.0.0.1:") && redirect.ends_with("/auth/callback"), "{redirect}");
    assert!(first["ext_agent_host_id"].as_str().unwrap().starts_with("urn:uuid:"), "{first}");
    let file = place.home().join("chatgpt.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(stdout(&place.command(&["login"]).output().unwrap()).contains("chatgpt      signed in"));

    // A request as the plan takes it; the token is renewed when its time is over, not before.
    place.file("notes.txt", "the token is access-token-2\n");
    let item = |item: Value| json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let stream = |item: Value| {
        let done = json!({"type": "response.completed", "response": {"id": "r", "output": [], "usage": {
            "input_tokens": 9, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0}}}});
        crate::support::answer::raw("text/event-stream", &format!("data: {item}\n\ndata: {done}\n\n"))
    };
    let call = item(json!({
        "type": "function_call", "id": "f", "call_id": "c", "name": "Read", "arguments": "{\"path\": \"notes.txt\"}"
    }));
    let said = |text: &str| {
        item(
            json!({"type": "message", "id": "m", "role": "assistant", "status": "completed", "phase": "final_answer",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}),
        )
    };
    let server = FakeServer::start(vec![stream(call), stream(said("Done.")), stream(said("On."))]);
    let exec = |task: &str| {
        let mut command = place.command(&["exec", "--model", "chatgpt/gpt-6.2-sol", task]);
        command.env("CHATGPT_ISSUER", &issuer.address).env("CHATGPT_BASE_URL", server.base_url());
        command.env("MYCODE_MAX_OUTPUT_TOKENS", "900").output().unwrap()
    };
    let mut account: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    account["until"] = json!(now_s());
    std::fs::write(&file, account.to_string()).unwrap();
    let out = exec("go");
    assert_eq!(stdout(&out).trim(), "Done.", "{}", stderr(&out));
    assert_eq!(stdout(&exec("go on")).trim(), "On.");
    let sent = server.requests();
    server.take_faults();
    let body = &sent[0].body;
    assert_eq!(sent[0].path, "/v1/responses");
    assert_eq!(sent[0].header("authorization"), "Bearer access-token-2");
    assert_eq!(
        (&body["store"], &body["stream"], &body["model"]),
        (&json!(false), &json!(true), &json!("gpt-6.2-sol"))
    );
    for left_out in
        ["tools", "max_output_tokens", "temperature", "parallel_tool_calls", "previous_response_id"]
    {
        assert!(body[left_out].is_null(), "{left_out}: {body}");
    }
    let tools = &body["input"][0];
    assert_eq!((&tools["type"], &tools["role"]), (&json!("additional_tools"), &json!("developer")));
    assert_eq!(
        (&tools["tools"][0]["type"], &tools["tools"][0]["name"]),
        (&json!("function"), &json!("Read"))
    );
    assert!(!sent[1].raw.contains("access-token-2"), "the model never sees it");

    // The next sign-in is the same client's; then nothing is left of it but the registration.
    let (second, out) =
        login(&place, &issuer, |shown| format!("code=code-1&state={}", shown["state"].as_str().unwrap()));
    assert!(out.status.success(), "{out:?}");
    assert_eq!((&second["client_id"], &second["agent_name_hint"]), (&json!("oaiapp_1"), &Value::Null));
    assert_eq!(
        (&second["ext_agent_host_id"], &second["login_hint"]),
        (&first["ext_agent_host_id"], &json!("a@example.org"))
    );
    assert!(["state", "nonce", "code_challenge"].iter().all(|name| first[name] != second[name]));
    let mut logout = place.command(&["logout", "chatgpt"]);
    let out = logout.env("CHATGPT_ISSUER", &issuer.address).output().unwrap();
    assert_eq!(stdout(&out), "Signed out of ChatGPT.\n", "{}", stderr(&out));
    let asked = issuer.state.lock().unwrap().asked.last().unwrap().clone();
    let revoked = [("token", "refresh-3"), ("token_type_hint", "refresh_token"), ("client_id", "oaiapp_1")];
    assert_eq!(
        asked,
        ("/revoke".to_owned(), revoked.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    );
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(
        kept.contains("oaiapp_1") && !kept.contains("access-token") && !kept.contains("refresh-"),
        "{kept}"
    );
}

#[test]
fn what_is_not_as_it_should_be_signs_no_one_in() {
    let (place, issuer) = (Workplace::new(), Issuer::start());
    let state = |shown: &Value| shown["state"].as_str().unwrap().to_owned();
    type ComesBack<'a> = &'a dyn Fn(&Value) -> String;
    let rows: [(&str, Value, &str, ComesBack<'_>, &str); 8] = [
        (
            "declined",
            json!({}),
            SCOPES,
            &|shown| format!("error=access_denied&state={}", state(shown)),
            "access_denied",
        ),
        (
            "no client",
            json!({}),
            SCOPES,
            &|shown| format!("code=code-1&state={}", state(shown)),
            "no client of its own",
        ),
        (
            "the first client",
            json!({}),
            SCOPES,
            &|shown| format!("code=code-1&client_id=dynamic_agent_client&state={}", state(shown)),
            "no client of its own",
        ),
        ("another nonce", json!({"nonce": "n"}), SCOPES, &agrees, "not for this sign-in"),
        ("another issuer", json!({"iss": "https://x"}), SCOPES, &agrees, "not for this sign-in"),
        ("another client", json!({"aud": "oaiapp_2"}), SCOPES, &agrees, "not for this sign-in"),
        ("too late", json!({"exp": now_s() - 60}), SCOPES, &agrees, "not for this sign-in"),
        ("no plan", json!({}), "openid profile email", &agrees, "access to your plan was not granted"),
    ];
    for (name, wrong, scope, comes_back, said) in rows {
        {
            let mut state = issuer.state.lock().unwrap();
            (state.wrong, state.scope) = (wrong, scope.to_owned());
        }
        let (_, out) = login(&place, &issuer, comes_back);
        assert!(!out.status.success() && stderr(&out).contains(said), "{name}: {}", stderr(&out));
        let kept = std::fs::read_to_string(place.home().join("chatgpt.json")).unwrap();
        assert!(!kept.contains("access-token"), "{name}: {kept}");
    }
    let out = place.command(&["exec", "--model", "chatgpt/gpt-6.2-sol", "go"]).output().unwrap();
    assert!(stderr(&out).contains("`mycode login`"), "{}", stderr(&out));
    let mut pasted = place.command(&["logout", "chatgpt"]);
    let out = pasted.env("CHATGPT_ISSUER", &issuer.address).output().unwrap();
    assert!(stderr(&out).contains("No one is signed in"), "{}", stderr(&out));
}
