//! JSON-RPC 2.0 for editors (ACP) and language servers (LSP): messages, and our requests until they are answered.
//! The protocols above do the framing.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub fn notification(method: &str, params: impl Serialize) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub fn response(id: impl Serialize, answer: Result<Value, impl Serialize>) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    }
}

/// Our requests that wait for a reply of type `R`. Cheap to clone.
pub struct OpenRequests<R>(Arc<Mutex<Waiting<R>>>);

struct Waiting<R> {
    last: i64,
    senders: HashMap<i64, oneshot::Sender<R>>,
}

/// Dropping it forgets the request.
pub struct OpenRequest<R> {
    pub id: i64,
    pub reply: oneshot::Receiver<R>,
    all: OpenRequests<R>,
}

impl<R> Clone for OpenRequests<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Default for OpenRequests<R> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Waiting { last: 0, senders: HashMap::new() })))
    }
}

impl<R> OpenRequests<R> {
    pub fn open(&self) -> OpenRequest<R> {
        let (sender, reply) = oneshot::channel();
        let mut waiting = self.0.lock();
        waiting.last += 1;
        let id = waiting.last;
        waiting.senders.insert(id, sender);
        OpenRequest { id, reply, all: self.clone() }
    }

    pub fn answer(&self, id: i64, reply: R) {
        if let Some(sender) = self.0.lock().senders.remove(&id) {
            let _ = sender.send(reply);
        }
    }

    /// No more replies will come; all waiting requests fail.
    pub fn close(&self) {
        self.0.lock().senders.clear();
    }
}

impl<R> OpenRequest<R> {
    pub fn is_open(&self) -> bool {
        self.all.0.lock().senders.contains_key(&self.id)
    }
}

impl<R> Drop for OpenRequest<R> {
    fn drop(&mut self) {
        self.all.0.lock().senders.remove(&self.id);
    }
}
