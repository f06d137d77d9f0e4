//! Whom TLS trusts, with a server whose certificate a private authority signed (`tests/fixtures/tls`, for tests only).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::support::workplace::{Workplace, stderr, stdout};

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Answers every request to the model with "Hi."; returns its port. It ends with the test's process.
fn serve() -> u16 {
    let certificate = CertificateDer::from_pem_file(fixture("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("server.key")).unwrap();
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(crypto).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            std::thread::spawn(move || answer(socket, config));
        }
    });
    port
}

fn answer(mut socket: std::net::TcpStream, config: Arc<ServerConfig>) -> Option<()> {
    let mut connection = ServerConnection::new(config).ok()?;
    let mut stream = BufReader::new(Stream::new(&mut connection, &mut socket));
    loop {
        let (mut length, mut post, mut line) = (0, false, String::new());
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            post |= line.starts_with("POST");
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        stream.read_exact(&mut vec![0; length]).ok()?;
        let body = r#"{"choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}"#;
        let (status, body) = if post { (200, body) } else { (404, "{}") };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.get_mut().write_all((head + body).as_bytes()).ok()?;
    }
}

#[test]
fn private_authorities_and_missing_files() {
    let (place, port) = (Workplace::new(), serve());
    let run = |name: &str, value: &str| {
        let url = format!("https://localhost:{port}/v1");
        let mut command = place.command(&["exec", "--base-url", &url, "--model", "m", "say hi"]);
        command.env(name, value).output().unwrap()
    };
    for name in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] {
        let out = run(name, &fixture("authority.pem"));
        assert_eq!(stdout(&out).trim(), "Hi.", "{name}: {}", stderr(&out));
    }
    let out = run("NODE_EXTRA_CA_CERTS", "/nowhere/ca.pem");
    assert!(stderr(&out).contains("the TLS connection to https://localhost"), "{}", stderr(&out));
    assert!(stderr(&out).contains("set NODE_EXTRA_CA_CERTS to its file"), "{}", stderr(&out));
    let out = run("SSL_CERT_FILE", "/nowhere/ca.pem");
    assert!(
        stderr(&out).contains("SSL_CERT_FILE names /nowhere/ca.pem, which does not exist"),
        "{}",
        stderr(&out)
    );
}
