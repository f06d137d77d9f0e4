//! Requests, replies and notifications over a server's standard streams (JSON-RPC 2.0).

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::wire;

/// Messages queued for a server that doesn't read.
const WAITING: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    Ended,
    Late,
    Refused { code: i64, message: String },
}

type Reply = Result<Value, RequestError>;

pub struct Connection {
    out: mpsc::Sender<Vec<u8>>,
    pending: Mutex<HashMap<i64, oneshot::Sender<Reply>>>,
    last_id: AtomicI64,
}

/// A pending request: dropping it before the answer cancels it.
struct Pending<'a> {
    connection: &'a Connection,
    id: i64,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.connection.pending.lock().remove(&self.id).is_some() {
            self.connection.notify("$/cancelRequest", json!({"id": self.id}));
        }
    }
}

impl Connection {
    /// Writes to `stdin` until it breaks or the connection is dropped.
    pub fn new(mut stdin: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        let (out, mut waiting) = mpsc::channel::<Vec<u8>>(WAITING);
        tokio::spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
                    break;
                }
            }
        });
        Self { out, pending: Mutex::default(), last_id: AtomicI64::new(0) }
    }

    fn send(&self, message: &Value) -> bool {
        self.out.try_send(wire::frame(message)).is_ok()
    }

    /// False if the server accepts no more messages.
    pub fn notify(&self, method: &str, params: Value) -> bool {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Dropping the future cancels the request.
    pub async fn request(&self, method: &str, params: Value, limit: Duration) -> Reply {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.pending.lock().insert(id, sender);
        let _pending = Pending { connection: self, id };
        if !self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})) {
            return Err(RequestError::Ended);
        }
        match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer.unwrap_or(Err(RequestError::Ended)),
            Err(_) => Err(RequestError::Late),
        }
    }

    /// Answers a request of the server; `None` means an unknown method.
    pub fn respond(&self, id: &Value, answer: Option<Value>) {
        self.send(&match answer {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                let error = json!({"code": -32601, "message": "not supported"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        });
    }

    pub fn answered(&self, mut message: Value) {
        let sender = message["id"].as_i64().and_then(|id| self.pending.lock().remove(&id));
        let Some(sender) = sender else { return };
        let error = message["error"].take();
        let _ = sender.send(match error {
            Value::Null => Ok(message["result"].take()),
            error => Err(RequestError::Refused {
                code: error["code"].as_i64().unwrap_or(0),
                message: error["message"].as_str().unwrap_or("").to_owned(),
            }),
        });
    }

    pub fn close(&self) {
        self.pending.lock().clear();
    }
}
