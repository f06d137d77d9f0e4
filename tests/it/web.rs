//! WebFetch through the binary: what a page becomes, which hosts are asked, and what is kept.

use std::io::Write;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tokens;
use crate::support::web::{FakeSite, html, moved, page};
use crate::support::workplace::{Workplace, passage, stderr, stdout};

const PRIVATE: &str = r#"["127.0.0.1", "localhost"]"#;

/// What the tool answers to each of these addresses, in one process.
fn fetch_all(place: &Workplace, urls: &[&str], vars: &[(&str, &str)]) -> Vec<Value> {
    let mut command = place.command(&["--permission", "full", "tool", "-"]);
    command.envs(vars.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for url in urls {
        writeln!(input, "{}", json!({"tool": "WebFetch", "args": {"url": url}})).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = stdout(&output);
    let answers: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), urls.len(), "{said}{}", stderr(&output));
    answers
}

fn fetch(url: &str) -> Value {
    fetch_all(&Workplace::new(), &[url], &[("MYCODE_WEB_PRIVATE_HOSTS", PRIVATE)]).remove(0)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_page_becomes_markdown_and_is_kept_for_a_while() {
    let site = FakeSite::start(vec![
        ("/a", html("<title>Guide</title><nav>menu</nav><h1>Use</h1><p>See <a href='/b#x'>b</a>.</p>")),
        ("/data", page("200 OK", &[("content-type", "application/json")], b"{\"a\": [1, 2]}")),
    ]);
    let urls = [&*site.url("/a#part"), &site.url("/a"), &site.url("/data")];
    let place = Workplace::new();
    let answers = fetch_all(&place, &urls, &[("MYCODE_WEB_PRIVATE_HOSTS", PRIVATE)]);
    assert_eq!(answers[0]["data"]["content"], format!("# Use\n\nSee [b]({}).", site.url("/b#x")));
    assert_eq!(
        answers[0]["text"],
        format!("Guide: {}, {} B", site.url("/a"), answers[0]["data"]["content"].as_str().unwrap().len())
    );
    assert_eq!(answers[1]["data"], answers[0]["data"]);
    assert!(answers[1]["text"].as_str().unwrap().ends_with("read 0 min ago"), "{}", answers[1]);
    assert_eq!(answers[2]["data"]["content"], "{\"a\": [1, 2]}");
    let asked = site.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for part in ["accept: text/markdown, text/html", "user-agent: mycode/", "accept-encoding: gzip"] {
        assert!(asked[0].contains(part), "{}", asked[0]);
    }
    assert!(!asked[0].contains("cookie") && !asked[0].contains("referer") && !asked[0].contains("auth"));
}

#[test]
fn addresses_that_are_not_public_are_not_asked() {
    let site = FakeSite::start(vec![("/", html("secret"))]);
    let port = site.address.port();
    let urls = [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://0.0.0.0/".to_owned(),
        format!("http://u:p@127.0.0.1:{port}/"),
        "file:///etc/passwd".to_owned(),
    ];
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    // Not even when the project's own configuration wants it and is trusted.
    let place = Workplace::new();
    place.file(".mycode/config.toml", "web_private_hosts = [\"127.0.0.1\", \"localhost\"]\n");
    assert!(place.command(&["trust"]).output().unwrap().status.success());
    for answer in fetch_all(&place, &urls, &[]) {
        assert_eq!(answer["status"], "error", "{answer}");
    }
    let named = fetch_all(&place, &urls[1..2], &[]).remove(0);
    let message = named["error"]["message"].as_str().unwrap();
    assert_eq!(named["error"]["code"], "ACCESS_DENIED");
    assert!(message.contains("localhost is at") && message.contains("web_private_hosts"), "{message}");
    // A proxy does not open them either; the proxy itself may be anywhere.
    let proxy = site.url("");
    let through = fetch_all(&place, &urls[1..2], &[("HTTP_PROXY", &proxy)]).remove(0);
    assert_eq!(through["error"]["code"], "ACCESS_DENIED", "{through}");
    assert_eq!(site.asked(), Vec::<String>::new());
    // One port of a host.
    let one = format!("[\"127.0.0.1:{port}\"]");
    let hosts = [("MYCODE_WEB_PRIVATE_HOSTS", one.as_str())];
    assert_eq!(fetch_all(&place, &urls[..1], &hosts)[0]["data"]["content"], "secret");
}

#[test]
fn what_a_proxy_is_told() {
    let proxy = FakeSite::start(vec![("http://docs.example.invalid:8080/a", html("<p>by proxy"))]);
    let vars = [("HTTP_PROXY", &*proxy.url(""))];
    let answers = fetch_all(&Workplace::new(), &["http://docs.example.invalid:8080/a"], &vars);
    assert_eq!(answers[0]["data"]["content"], "by proxy", "{}", answers[0]);
    assert_eq!(proxy.asked().len(), 1);
}

#[test]
fn redirects_stay_within_a_host() {
    let other = FakeSite::start(vec![("/", html("elsewhere"))]);
    let site = FakeSite::start(vec![
        ("/a", moved("/b")),
        ("/b", html("<p>here")),
        ("/away", moved(&other.url("/x"))),
        ("/metadata", moved("http://169.254.169.254/")),
        ("/file", moved("file:///etc/passwd")),
        ("/login", moved("http://u:p@127.0.0.1/")),
        ("/round", moved("/round")),
    ]);
    assert_eq!(fetch(&site.url("/a"))["data"]["content"], "here");
    let away = fetch(&site.url("/away"));
    assert!(away["text"].as_str().unwrap().contains(&other.url("/x")), "{away}");
    assert_eq!(away["data"]["redirect"], other.url("/x"));
    for (path, says) in [
        ("/metadata", "169.254.169.254"),
        ("/file", "only http"),
        ("/login", "user name"),
        ("/round", "more than 10 times"),
    ] {
        let refused = fetch(&site.url(path));
        assert!(refused["error"]["message"].as_str().unwrap().contains(says), "{refused}");
    }
    assert_eq!(other.asked().len(), 0);
}

#[test]
fn sizes_and_kinds() {
    let packed = |bytes: &[u8]| {
        page("200 OK", &[("content-type", "text/plain"), ("content-encoding", "gzip")], &gzip(bytes))
    };
    let mut picture = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(40, 30).write_to(&mut picture, image::ImageFormat::Png).unwrap();
    let site = FakeSite::start(vec![
        ("/packed", packed(b"unpacked")),
        ("/bomb", packed(&vec![b'a'; 20_000_000])),
        ("/long", page("200 OK", &[("content-type", "text/plain")], passage(1, 9_000).as_bytes())),
        ("/pdf", page("200 OK", &[("content-type", "application/pdf")], b"%PDF-1.7")),
        ("/zip", page("200 OK", &[("content-type", "application/zip")], b"PK\x03\x04\0\0")),
        ("/png", page("200 OK", &[("content-type", "image/png")], picture.get_ref())),
        ("/busy", page("429 Too Many Requests", &[("content-type", "text/plain")], b"slow down")),
        ("/app", html("<div id=root></div><script src=a.js></script>")),
    ]);
    assert_eq!(fetch(&site.url("/packed"))["data"]["content"], "unpacked");
    let bomb = fetch(&site.url("/bomb"));
    assert_eq!(bomb["status"], "partial");
    assert!(bomb["text"].as_str().unwrap().contains("first 5 MB"), "{}", bomb["text"]);
    let long = fetch(&site.url("/long"));
    let whole = std::fs::read_to_string(long["data"]["full_output_path"].as_str().unwrap());
    assert!(whole.is_err(), "the folder of this test is gone with its spilled outputs");
    assert!(long["data"]["content"].as_str().unwrap().contains("the full text is in "), "{}", long["text"]);
    let png = fetch(&site.url("/png"));
    assert!(png["text"].as_str().unwrap().contains("a picture of"), "{png}");
    for (path, code, says) in [
        ("/pdf", "BINARY_FILE", "a PDF"),
        ("/zip", "BINARY_FILE", "application/zip"),
        ("/busy", "EXECUTION_ERROR", "its rate limit was reached: slow down"),
        ("/none", "NOT_FOUND", "HTTP 404"),
    ] {
        let refused = fetch(&site.url(path));
        assert_eq!(refused["error"]["code"], code, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(says), "{refused}");
    }
    assert!(fetch(&site.url("/app"))["text"].as_str().unwrap().contains("JavaScript"));
}

/// A session with one call of WebFetch; what the model was told of it, and the requests.
fn session(site: &FakeSite, flags: &[&str], url: &str) -> (String, Vec<Value>) {
    let server = FakeServer::start(vec![
        answer().call("MoreTools", json!({"name": "WebFetch", "args": {"url": url}})).into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    let home = format!("web_private_hosts = [\"{}\"]\n", site.address);
    std::fs::write(place.home().join("config.toml"), home).unwrap();
    let mut args = flags.to_vec();
    args.push("read it");
    let output = place.exec(&server.base_url(), &args);
    assert!(matches!(output.status.code(), Some(0 | 8)), "{}", stderr(&output));
    let bodies: Vec<Value> = server.requests().into_iter().map(|request| request.body).collect();
    let messages = bodies[1]["messages"].as_array().unwrap();
    let told = messages.iter().find(|message| message["role"] == "tool").unwrap()["content"].to_string();
    (told, bodies)
}

#[test]
fn leave_is_asked_for_each_host() {
    let site = FakeSite::start(vec![("/", html("<p>key AKIAIOSFODNN7EXAMPLE end"))]);
    let (told, bodies) = session(&site, &["--permission", "full"], &site.url("/"));
    assert!(told.contains("end") && !told.contains("AKIAIOSFODNN7EXAMPLE"), "{told}");
    // Known by its name and arguments alone, and nothing of it changes the fixed part.
    let more =
        bodies[0]["tools"].as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "MoreTools");
    let about = more.unwrap()["function"]["description"].as_str().unwrap();
    assert!(about.contains("WebFetch {url}") && !about.contains("WebSearch"), "{about}");
    assert!(
        tokens::count(&more.unwrap().to_string()) <= 110,
        "{}",
        tokens::count(&more.unwrap().to_string())
    );
    assert_eq!(bodies[0]["tools"], bodies[1]["tools"]);
    let (told, _) = session(&site, &["--permission", "auto"], &site.url("/"));
    assert!(
        told.contains("PERMISSION_DENIED") && told.contains(&format!("WebFetch({})", site.address)),
        "{told}"
    );
    // A secret that was seen is not carried away.
    let (told, _) = session(&site, &["--permission", "full"], &site.url("/?k=AKIAIOSFODNN7EXAMPLE"));
    assert!(told.contains("contains a secret"), "{told}");
    assert_eq!(site.asked().len(), 1);
}
