//! A fake model server on a real socket, in a thread with a runtime of its own, so that synchronous tests, tests with a
//! paused clock and tests that start the real binary can all use it.
//!
//! ```ignore
//! let server = FakeServer::start(vec![answer().call("LS", json!({})).into(), answer().text("Done.").into()]);
//! run_agent_against(server.base_url());
//! assert_eq!(server.requests().len(), 2);
//! ```
//!
//! Each POST to the model takes the next reply. Every request is recorded and checked (see `check`); what is wrong with one makes
//! the test fail when the server is dropped. GETs are answered from `on_get`.
#![allow(dead_code)]

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};

use super::answer::{Content, Dialect, Reply, Step};
use super::check;
use super::preserved;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body word for word.
    pub raw: String,
    /// `null` when it is no JSON.
    pub body: Value,
    /// Number of the connection that it came on (from 1).
    pub connection: usize,
    /// When its last byte had arrived.
    pub at: Instant,
}

impl Recorded {
    /// The value of a header; empty when it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    /// Marks with the reply to every request that holds them.
    standing: Vec<(String, Reply)>,
    gets: HashMap<String, String>,
    /// GETs without it are refused.
    key: Option<String>,
    requests: Vec<Recorded>,
    faults: Vec<String>,
    /// Reasoning is bound to what stood before it; what was refused for that.
    binds: bool,
    refusals: Vec<String>,
    answered: usize,
    connections: usize,
    hung_up: usize,
}

struct Shared {
    state: Mutex<State>,
    gate: Semaphore,
}

/// The server; stops when dropped.
pub struct FakeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// Starts on a free port of the loopback interface.
    pub fn start(replies: Vec<Reply>) -> Self {
        let state = State { replies: replies.into(), ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), gate: Semaphore::new(0) });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, for_thread) => {}
                }
            });
        });
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// For `--base-url` and `ProviderSettings`, in any dialect: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The POST requests so far, oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.state.lock().unwrap().requests.clone()
    }

    /// Adds a reply behind the others.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.shared.state.lock().unwrap().replies.push_back(reply.into());
    }

    /// Answers every request whose body holds `mark` with this, instead of the next reply.
    pub fn on_body(&self, mark: &str, reply: impl Into<Reply>) {
        self.shared.state.lock().unwrap().standing.push((mark.to_owned(), reply.into()));
    }

    /// From here on reasoning is only taken back behind what it was made behind (see `preserved`).
    pub fn bind_reasoning(&self) {
        self.shared.state.lock().unwrap().binds = true;
    }

    /// What was refused because of that.
    pub fn refusals(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().refusals.clone()
    }

    /// Replies that have not been used.
    pub fn left(&self) -> usize {
        self.shared.state.lock().unwrap().replies.len()
    }

    /// Answers GETs of `path` (such as `/v1/models`) with this JSON; others get 404.
    pub fn on_get(&self, path: &str, body: &Value) {
        self.shared.state.lock().unwrap().gets.insert(path.to_owned(), body.to_string());
    }

    /// Answers GETs that don't have this key with 401.
    pub fn require_key(&self, key: &str) {
        self.shared.state.lock().unwrap().key = Some(key.to_owned());
    }

    /// Lets so many gated chunks pass.
    pub fn release(&self, chunks: usize) {
        self.shared.gate.add_permits(chunks);
    }

    /// Takes what was wrong with the requests, for tests that expect it.
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state.lock().unwrap().faults)
    }

    /// Blocks until so many requests have arrived.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait(&format!("{count} requests"), |state| state.requests.len() >= count);
    }

    /// Blocks until so many clients have hung up in the middle of an answer.
    pub fn wait_for_hang_ups(&self, count: usize) {
        self.wait(&format!("{count} hang-ups"), |state| state.hung_up >= count);
    }

    fn wait(&self, what: &str, reached: impl Fn(&State) -> bool) {
        let begin = Instant::now();
        while !reached(&self.shared.state.lock().unwrap()) {
            assert!(begin.elapsed() < Duration::from_secs(60), "the fake server waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let faults = self.take_faults();
        if !std::thread::panicking() {
            assert!(faults.is_empty(), "the fake server refuses:\n{}", faults.join("\n"));
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let connection = {
                let mut state = shared.state.lock().unwrap();
                state.connections += 1;
                state.connections
            };
            let mut connection = Connection { stream, buffer: Vec::new(), number: connection, shared };
            while connection.serve().await.is_some() {}
        });
    }
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    number: usize,
    shared: Arc<Shared>,
}

impl Connection {
    /// Reads one request and answers it; `None` when the connection is over.
    async fn serve(&mut self) -> Option<()> {
        self.stream.set_nodelay(true).ok()?;
        let request = self.read().await?;
        // Questions about the server itself, not to its model.
        if request.method == "GET" || request.path.starts_with("/api/") {
            let (found, key) = {
                let state = self.shared.state.lock().unwrap();
                (state.gets.get(&request.path).cloned(), state.key.clone())
            };
            let known = key.is_none_or(|key| request.headers.iter().any(|(_, value)| value.contains(&key)));
            let refusal = json!({"error": {"message": "no such key"}}).to_string();
            let (status, body) = match found {
                Some(_) if !known => (401, refusal),
                Some(body) => (200, body),
                None => (404, "{}".to_owned()),
            };
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            return self.stream.write_all((head + &body).as_bytes()).await.ok();
        }
        let dialect = Dialect::of(&request.path);
        let (reply, number, guess) = self.record(request, dialect);
        let (steps, kind) = match reply.content {
            Content::Silence => {
                self.until_hang_up().await;
                return None;
            }
            Content::Steps(steps) => (steps, None),
            Content::Answer(answer) => {
                let kind = if answer.is_whole() { "application/json" } else { "text/event-stream" };
                (answer.steps(dialect, number, guess), Some(kind))
            }
        };
        let mut head = format!("HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n", reply.status);
        let headers = reply.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in headers.chain(kind.map(|kind| ("content-type", kind))) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.stream.write_all(head.as_bytes()).await.ok()?;
        for step in steps {
            self.step(step).await?;
        }
        self.stream.write_all(b"0\r\n\r\n").await.ok()
    }

    async fn step(&mut self, step: Step) -> Option<()> {
        match step {
            Step::Bytes(bytes) => self.chunk(&bytes).await?,
            Step::Sleep(pause) => tokio::time::sleep(pause).await,
            Step::Gate => {
                let shared = Arc::clone(&self.shared);
                tokio::select! {
                    permit = shared.gate.acquire() => permit.ok()?.forget(),
                    () = self.until_hang_up() => return None,
                }
            }
            Step::Stall => {
                self.until_hang_up().await;
                return None;
            }
            Step::Cut => {
                let _ = self.stream.shutdown().await;
                return None;
            }
            Step::Reset => {
                // Closing with a linger time of zero sends RST.
                #[allow(deprecated)] // blocking only for other linger times
                let _ = self.stream.set_linger(Some(Duration::ZERO));
                return None;
            }
            Step::Forever(bytes, pause) => loop {
                tokio::time::sleep(pause).await;
                if self.chunk(&bytes).await.is_none() {
                    self.shared.state.lock().unwrap().hung_up += 1;
                    return None;
                }
            },
        }
        Some(())
    }

    async fn chunk(&mut self, bytes: &[u8]) -> Option<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk).await.ok()
    }

    async fn until_hang_up(&mut self) {
        let mut rest = [0; 256];
        while self.stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
        self.shared.state.lock().unwrap().hung_up += 1;
    }

    async fn read(&mut self) -> Option<Recorded> {
        let head_end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
            if self.buffer[0] == 0x16 {
                // A TLS greeting: plain servers answer with an error in plain HTTP.
                let _ = self.stream.write_all(b"HTTP/1.1 400 X\r\ncontent-length: 0\r\n\r\n").await;
                return None;
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..head_end]).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ');
        let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers
            .iter()
            .find(|(name, _)| name == "content-length")
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(0);
        while self.buffer.len() < head_end + length {
            self.more().await?;
        }
        let rest = self.buffer.split_off(head_end + length);
        let raw = String::from_utf8_lossy(&self.buffer[head_end..]).into_owned();
        self.buffer = rest;
        let body = serde_json::from_str(&raw).unwrap_or(Value::Null);
        Some(Recorded { method, path, headers, raw, body, connection: self.number, at: Instant::now() })
    }

    async fn more(&mut self) -> Option<()> {
        let mut portion = [0; 16 * 1024];
        let count = self.stream.read(&mut portion).await.ok()?;
        self.buffer.extend_from_slice(&portion[..count]);
        (count > 0).then_some(())
    }

    /// Checks and keeps the request; returns its reply, the reply's number, and the usage to report.
    fn record(&self, request: Recorded, dialect: Dialect) -> (Reply, usize, (u64, u64, u64)) {
        let mut state = self.shared.state.lock().unwrap();
        let number = state.requests.len() + 1;
        let faults = if request.body.is_null() {
            vec!["the body is no JSON".to_owned()]
        } else {
            check::check(dialect, &request.body)
        };
        state.faults.extend(faults.into_iter().map(|fault| format!("request {number}: {fault}")));
        if request.raw.contains("<system-reminder><system-reminder>") {
            state.faults.push(format!("request {number}: a reminder within a reminder"));
        }
        let before = state.requests.last().map_or("", |before| before.raw.as_str());
        let shared_bytes = before.bytes().zip(request.raw.bytes()).take_while(|(a, b)| a == b).count();
        let mut guess = ((request.raw.len() / 4) as u64, (shared_bytes / 4) as u64, 20);
        let (raw, body) = (request.raw.clone(), request.body.clone());
        let earlier: Vec<Value> = state.requests.iter().map(|request| request.body.clone()).collect();
        let refusal = if state.binds { preserved::refusal(dialect, &earlier, &request.body) } else { None };
        state.requests.push(request);
        if let Some(refusal) = refusal {
            let reply = super::answer::status(400, &preserved::error(dialect, &refusal));
            state.refusals.push(format!("request {number}: {refusal}"));
            return (reply, number, guess);
        }
        let standing =
            state.standing.iter().find(|(mark, _)| raw.contains(mark)).map(|(_, reply)| reply.clone());
        let reply = standing.or_else(|| state.replies.pop_front()).unwrap_or_else(|| {
            state.faults.push(format!("request {number}: there are only {} replies", number - 1));
            super::answer::status(400, r#"{"error":{"message":"the fake server has no more replies"}}"#)
        });
        state.answered += 1;
        if let Content::Answer(answer) = &reply.content
            && let Some(input) = answer.input_tokens(&body)
        {
            guess.0 = input;
        }
        (reply, number, guess)
    }
}
