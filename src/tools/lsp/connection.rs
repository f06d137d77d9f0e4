//! Requests, replies and notifications over a server's standard streams (JSON-RPC 2.0).

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use super::wire;

/// Messages that wait for a server that does not read.
const WAITING: usize = 256;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The server has ended, or reads no more.
    Ended,
    /// It took too long.
    Late,
    Refused {
        code: i64,
        message: String,
    },
}

type Reply = Result<Value, RequestError>;

/// The way to one server.
pub struct Connection {
    out: mpsc::Sender<Vec<u8>>,
    pending: Mutex<HashMap<i64, oneshot::Sender<Reply>>>,
    last_id: AtomicI64,
}

/// A request under way: what drops it before the answer withdraws it.
struct Pending<'a> {
    connection: &'a Connection,
    id: i64,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.connection.pending().remove(&self.id).is_some() {
            self.connection.notify("$/cancelRequest", json!({"id": self.id}));
        }
    }
}

impl Connection {
    /// Writes to this stream until it breaks or the connection is dropped.
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

    fn pending(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Reply>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False when the server takes nothing any more.
    fn send(&self, message: &Value) -> bool {
        self.out.try_send(wire::frame(message)).is_ok()
    }

    /// Tells the server something; false when it takes nothing any more.
    pub fn notify(&self, method: &str, params: Value) -> bool {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Asks the server something. Dropping it withdraws the question.
    pub async fn request(&self, method: &str, params: Value, limit: Duration) -> Reply {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        self.pending().insert(id, sender);
        let _pending = Pending { connection: self, id };
        if !self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})) {
            return Err(RequestError::Ended);
        }
        match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer.unwrap_or(Err(RequestError::Ended)),
            Err(_) => Err(RequestError::Late),
        }
    }

    /// Answers a question of the server's; `None`: it is not one that is known here.
    pub fn respond(&self, id: &Value, answer: Option<Value>) {
        self.send(&match answer {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => {
                let error = json!({"code": -32601, "message": "not supported"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        });
    }

    /// Takes in the server's answer to a question.
    pub fn answered(&self, mut message: Value) {
        let sender = message["id"].as_i64().and_then(|id| self.pending().remove(&id));
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

    /// Nothing will be answered any more.
    pub fn close(&self) {
        self.pending().clear();
    }
}
