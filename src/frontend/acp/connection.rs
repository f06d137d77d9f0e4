//! The client at the other end: sends messages in order and matches answers to questions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::v1::{Error, RequestId, SessionId, SessionNotification, SessionUpdate};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use base::sanitize;

type Reply = Result<Value, Error>;

/// Cheap to clone. The queue is unbounded so that sending never waits.
#[derive(Clone)]
pub struct Client {
    lines: mpsc::UnboundedSender<String>,
    asked: Arc<Mutex<Asked>>,
}

#[derive(Default)]
struct Asked {
    last: i64,
    waiting: HashMap<i64, oneshot::Sender<Reply>>,
}

struct Waiting {
    asked: Arc<Mutex<Asked>>,
    number: i64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&self.number);
    }
}

impl Client {
    pub fn new() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (lines, receiver) = mpsc::unbounded_channel();
        (Self { lines, asked: Arc::default() }, receiver)
    }

    fn send(&self, message: &Value) {
        let mut line = sanitize::escape(&message.to_string()).into_owned();
        line.push('\n');
        // Fails only when the client is gone; then the connection ends.
        let _ = self.lines.send(line);
    }

    pub fn update(&self, session: &SessionId, update: SessionUpdate) {
        let params = SessionNotification::new(session.clone(), update);
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    pub fn answer(&self, id: &RequestId, answer: Result<impl Serialize, Error>) {
        let value =
            answer.and_then(|result| serde_json::to_value(result).map_err(Error::into_internal_error));
        self.send(&match value {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        });
    }

    pub fn refuse(&self, id: &RequestId, error: Error) {
        self.answer(id, Err::<(), _>(error));
    }

    /// Asks the client; the question has been sent when this returns.
    pub fn ask<R: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> impl Future<Output = Result<R, Error>> + Send + use<R> {
        let (sender, receiver) = oneshot::channel();
        let number = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.last += 1;
            let number = asked.last;
            asked.waiting.insert(number, sender);
            number
        };
        let waiting = Waiting { asked: Arc::clone(&self.asked), number };
        self.send(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
        async move {
            let reply = receiver.await;
            drop(waiting);
            let value = reply.unwrap_or_else(|_| Err(Error::internal_error()))?;
            serde_json::from_value(value).map_err(Error::into_internal_error)
        }
    }

    pub fn answered(&self, id: &RequestId, reply: Reply) {
        let RequestId::Number(number) = id else { return };
        let waiting = self.asked.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(number);
        if let Some(waiting) = waiting {
            let _ = waiting.send(reply);
        }
    }
}
