//! Requests, replies and notifications over a server's standard streams (JSON-RPC 2.0), framed according to the Language Server
//! Protocol 3.17 ("Base Protocol"). Anything else, such as a line printed by mistake, is skipped; unlimited output
//! is an error.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use base::json_rpc::{self, OpenRequest, OpenRequests};
use base::process::task;

const WAITING: usize = 256;
const MESSAGE_BYTES: usize = 32 * 1024 * 1024;
const HEADER_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    Ended,
    Late,
    Refused { code: i64, message: String },
}

type Reply = Result<Value, RequestError>;

pub struct LspConnection {
    out: mpsc::Sender<Vec<u8>>,
    requests: OpenRequests<Reply>,
}

/// Dropping it before the answer cancels it.
struct Cancelable<'a> {
    connection: &'a LspConnection,
    request: OpenRequest<Reply>,
}

impl Drop for Cancelable<'_> {
    fn drop(&mut self) {
        if self.request.is_open() {
            self.connection.notify("$/cancelRequest", json!({"id": self.request.id}));
        }
    }
}

impl LspConnection {
    /// Writes to `stdin` until it breaks or the connection is dropped.
    pub fn new(mut stdin: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        let (out, mut waiting) = mpsc::channel::<Vec<u8>>(WAITING);
        task::spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
                    break;
                }
            }
        });
        Self { out, requests: OpenRequests::default() }
    }

    fn send(&self, message: &Value) -> bool {
        self.out.try_send(frame(message)).is_ok()
    }

    /// Returns `false` if the server accepts no more messages.
    pub fn notify(&self, method: &str, params: Value) -> bool {
        self.send(&json_rpc::notification(method, params))
    }

    pub async fn request(&self, method: &str, params: Value, limit: Duration) -> Reply {
        let mut waiting = Cancelable { connection: self, request: self.requests.open() };
        if !self.send(&json_rpc::request(waiting.request.id, method, params)) {
            return Err(RequestError::Ended);
        }
        match tokio::time::timeout(limit, &mut waiting.request.reply).await {
            Ok(answer) => answer.unwrap_or(Err(RequestError::Ended)),
            Err(_) => Err(RequestError::Late),
        }
    }

    /// Answers a request from the server; `None` means an unknown method.
    pub fn respond(&self, id: &Value, answer: Option<Value>) {
        let answer = answer.ok_or_else(|| json!({"code": -32601, "message": "not supported"}));
        self.send(&json_rpc::response(id, answer));
    }

    pub fn answered(&self, mut message: Value) {
        let Some(id) = message["id"].as_i64() else { return };
        let reply = match message["error"].take() {
            Value::Null => Ok(message["result"].take()),
            error => Err(RequestError::Refused {
                code: error["code"].as_i64().unwrap_or(0),
                message: error["message"].as_str().unwrap_or("").to_owned(),
            }),
        };
        self.requests.answer(id, reply);
    }

    pub fn close(&self) {
        self.requests.close();
    }
}

pub fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message; `None` at the end.
pub async fn read(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Value>> {
    let (mut length, mut skipped) = (None, 0);
    loop {
        let mut line = Vec::new();
        let read = (&mut *from).take(HEADER_BYTES as u64).read_until(b'\n', &mut line).await?;
        skipped += read;
        if read == 0 {
            return Ok(None);
        }
        if skipped > HEADER_BYTES {
            return Err(garbage("prints something that isn't a message"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        match (line.split_once(':'), length) {
            (Some((name, value)), _) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse::<usize>().ok();
            }
            (_, Some(_)) if line.is_empty() => break,
            _ => {}
        }
    }
    let length = length.unwrap_or(0);
    if length > MESSAGE_BYTES {
        return Err(garbage("sent a message that is too large"));
    }
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length {
        return Ok(None);
    }
    serde_json::from_slice(&body).map(Some).map_err(|_| garbage("sent a message that isn't JSON"))
}

fn garbage(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn all(bytes: &[u8]) -> Result<Vec<Value>, String> {
        let mut from = bytes;
        let mut found = Vec::new();
        loop {
            match read(&mut from).await {
                Ok(Some(message)) => found.push(message),
                Ok(None) => return Ok(found),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    #[tokio::test]
    async fn framed_and_read() {
        let (one, two) = (json!({"id": 1}), json!({"text": "ä\n\r\n"}));
        let mut bytes = frame(&one);
        bytes.extend(b"warning: printed by mistake\n\n");
        bytes.extend(frame(&two));
        assert_eq!(all(&bytes).await.unwrap(), [one.clone(), two]);
        let typed = b"content-length: 8\nContent-Type: x\n\n{\"id\":1}";
        assert_eq!(all(typed).await.unwrap(), [one]);
        assert_eq!(all(b"Content-Length: 20\r\n\r\n{").await.unwrap(), [] as [Value; 0]);
    }

    #[tokio::test]
    async fn garbage_is_an_error() {
        assert!(all(&vec![b'x'; 2 * HEADER_BYTES]).await.unwrap_err().contains("isn't a message"));
        assert!(all(b"Content-Length: 99999999999\r\n\r\n").await.unwrap_err().contains("too large"));
        assert!(all(b"Content-Length: 3\r\n\r\n{,}").await.unwrap_err().contains("isn't JSON"));
        let endless = "a: b\r\n".repeat(HEADER_BYTES);
        assert!(all(endless.as_bytes()).await.is_err());
    }
}
