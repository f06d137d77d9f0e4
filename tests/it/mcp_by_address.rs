//! An MCP server with an address that knows only 2026-07-28 and wants a token with more rights for a call: what it is asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::web::page;
use crate::support::workplace::{Workplace, stderr, stdout};

struct Request {
    path: String,
    head: String,
    body: String,
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() <= 2 {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line.to_lowercase());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Request { path, head, body: String::from_utf8(body).unwrap() }
}

fn result(id: &Value, result: &Value) -> Vec<u8> {
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    page("200 OK", &[("content-type", "application/json")], answer.as_bytes())
}

fn answer(base: &str, request: &Request) -> Vec<u8> {
    let json =
        |value: Value| page("200 OK", &[("content-type", "application/json")], value.to_string().as_bytes());
    let refused = |status: &str, more: &str| {
        let resource = format!("resource_metadata=\"{base}/.well-known/oauth-protected-resource\"");
        page(status, &[("www-authenticate", &format!("Bearer {more}, {resource}"))], b"")
    };
    match request.path.as_str() {
        "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp" => {
            json(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
        }
        "/.well-known/oauth-authorization-server" => json(json!({
            "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
            "response_types_supported": ["code"], "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"], "code_challenge_methods_supported": ["S256"],
        })),
        "/token" => {
            let form = reqwest::Url::parse(&format!("http://x/?{}", request.body)).unwrap();
            let scope = form.query_pairs().find(|(name, _)| name == "scope").unwrap().1.into_owned();
            let token = scope.replace(' ', "-");
            json(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": scope}))
        }
        "/mcp" if !request.head.contains("authorization: bearer") => {
            refused("401 Unauthorized", "scope=\"read\"")
        }
        "/mcp" => {
            let asked: Value = serde_json::from_str(&request.body).unwrap();
            let list = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [
                {"name": "write", "inputSchema": {"type": "object"}}]});
            match asked["method"].as_str().unwrap_or_default() {
                "server/discover" => result(
                    &asked["id"],
                    &json!({
                        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                        "serverInfo": {"name": "new", "version": "1"}, "ttlMs": 0, "cacheScope": "private",
                    }),
                ),
                "tools/list" => result(&asked["id"], &list),
                "tools/call" if !request.head.contains("bearer read-write") => {
                    refused("403 Forbidden", "error=\"insufficient_scope\", scope=\"write\"")
                }
                "tools/call" => {
                    let text =
                        json!({"resultType": "complete", "content": [{"type": "text", "text": "written"}]});
                    result(&asked["id"], &text)
                }
                _ => page("400 Bad Request", &[], b""),
            }
        }
        _ => page("404 Not Found", &[], b""),
    }
}

#[test]
fn the_newest_protocol_is_asked_for_first_and_rights_add_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (hears, at) = (Arc::clone(&heard), base.clone());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let request = read(&stream);
            stream.write_all(&answer(&at, &request)).unwrap();
            hears.lock().unwrap().push(request);
        }
    });
    let place = Workplace::new();
    let oauth = json!({"clientId": "c", "clientSecret": "s", "grantType": "client_credentials"}).to_string();
    let url = format!("{base}/mcp");
    let args = ["mcp", "test", &url, "--oauth", &oauth, "--call", "write"];
    let out = place.command(&args).output().unwrap();
    assert_eq!(stdout(&out), "written\n", "{}", stderr(&out));
    let out = place.command(&["mcp", "test", &url, "--header", "Authorization: Basic x"]).output().unwrap();
    let said = stdout(&out) + &stderr(&out);
    assert!(said.contains("refuses the token") && said.contains("scope=\"read\""), "{said}");
    let heard = heard.lock().unwrap();
    let scopes = heard.iter().filter(|request| request.path == "/token");
    let scopes: Vec<&str> = scopes
        .map(|request| request.body.split("scope=").nth(1).unwrap().split('&').next().unwrap())
        .collect();
    assert_eq!(scopes, ["read", "read+write"]);
    for request in heard.iter().filter(|request| request.path == "/mcp") {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert!(request.head.contains("mcp-protocol-version: 2026-07-28"), "{}", request.head);
        let method = body["method"].as_str().unwrap();
        assert!(request.head.contains(&format!("mcp-method: {method}")), "{}", request.head);
        assert_eq!(body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    }
    assert!(!place.home().join("state/mcp/tried").read_dir().is_ok_and(|mut left| left.next().is_some()));
}
