//! A web site on the loopback interface: fixed answers by path, and what was asked.
#![allow(dead_code)]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The site; its thread ends with the test's process.
pub struct FakeSite {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeSite {
    /// Answers each path with a whole response; others with 404.
    pub fn start(pages: Vec<(&str, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pages: Arc<HashMap<String, Vec<u8>>> =
            Arc::new(pages.into_iter().map(|(path, page)| (path.to_owned(), page)).collect());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, heard) = (Arc::clone(&pages), Arc::clone(&heard));
                std::thread::spawn(move || serve(stream, &pages, &heard));
            }
        });
        Self { address, asked }
    }

    /// The heads of all requests, in lower case.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn serve(mut stream: TcpStream, pages: &HashMap<String, Vec<u8>>, heard: &Mutex<Vec<String>>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heard.lock().unwrap().push(head.to_lowercase());
    let missing = page("404 Not Found", &[("content-type", "text/html")], b"<title>No such page</title>");
    let _ = stream.write_all(pages.get(&path).unwrap_or(&missing));
}

/// A whole response; the connection closes behind it.
pub fn page(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    [head.as_bytes(), b"\r\n", body].concat()
}

/// An HTML page.
pub fn html(body: &str) -> Vec<u8> {
    page("200 OK", &[("content-type", "text/html; charset=utf-8")], body.as_bytes())
}

/// A redirect.
pub fn moved(to: &str) -> Vec<u8> {
    page("302 Found", &[("location", to)], b"")
}
