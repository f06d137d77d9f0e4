//! The client at the other end: sends messages in order, matches answers to questions, and reads its messages: one
//! JSON-RPC 2.0 message per line, with a size limit. Anything else is skipped with an error reply.

use std::io;

use agent_client_protocol_schema::v1::{
    Error, ErrorCode, RequestId, SessionId, SessionNotification, SessionUpdate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};
use tokio::sync::mpsc;

use crate::acp::error;
use base::json_rpc::{self, OpenRequests};
use base::sanitize;
use base::text::human_bytes;

type ClientReply = Result<Value, Error>;

/// Cheap to clone. The queue is unbounded so that sending never waits.
#[derive(Clone)]
pub struct Client {
    lines: mpsc::UnboundedSender<String>,
    requests: OpenRequests<ClientReply>,
}

impl Client {
    pub fn new() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (lines, receiver) = mpsc::unbounded_channel();
        (Self { lines, requests: OpenRequests::default() }, receiver)
    }

    fn send(&self, message: &Value) {
        let mut line = sanitize::escape(&message.to_string()).into_owned();
        line.push('\n');
        // Fails only when the client is gone; then the connection ends.
        let _ = self.lines.send(line);
    }

    pub fn update(&self, session: &SessionId, update: SessionUpdate) {
        let params = SessionNotification::new(session.clone(), update);
        self.send(&json_rpc::notification("session/update", params));
    }

    pub fn answer(&self, id: &RequestId, answer: Result<impl Serialize, Error>) {
        let value =
            answer.and_then(|result| serde_json::to_value(result).map_err(Error::into_internal_error));
        self.send(&json_rpc::response(id, value));
    }

    pub fn refuse(&self, id: &RequestId, error: Error) {
        self.answer(id, Err::<(), _>(error));
    }

    /// The question has been sent when this returns.
    pub fn ask<R: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> impl Future<Output = Result<R, Error>> + Send + use<R> {
        let mut request = self.requests.open();
        self.send(&json_rpc::request(request.id, method, params));
        async move {
            let value = (&mut request.reply).await.unwrap_or_else(|_| Err(Error::internal_error()))?;
            serde_json::from_value(value).map_err(Error::into_internal_error)
        }
    }

    pub fn answered(&self, id: &RequestId, reply: ClientReply) {
        if let RequestId::Number(id) = id {
            self.requests.answer(*id, reply);
        }
    }
}

/// Large, because a prompt may contain pictures.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, PartialEq)]
pub enum Incoming {
    Request { id: RequestId, method: String, params: Value },
    Notification { method: String, params: Value },
    Answer { id: RequestId, reply: Result<Value, Error> },
    Garbage { id: RequestId, error: Error },
}

pub async fn next(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Incoming>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        (&mut *input).take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() > MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            skip_line(input).await?;
            let limit = human_bytes(MAX_LINE_BYTES as u64);
            return Ok(Some(garbage(error::invalid_request(format!("a message is limited to {limit}")))));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(message(&line)));
        }
    }
}

async fn skip_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let chunk = input.fill_buf().await?;
        let (length, ended) = match memchr::memchr(b'\n', chunk) {
            Some(at) => (at + 1, true),
            None => (chunk.len(), chunk.is_empty()),
        };
        input.consume(length);
        if ended {
            return Ok(());
        }
    }
}

/// The id is null because it's unknown which request this was.
fn garbage(error: Error) -> Incoming {
    Incoming::Garbage { id: RequestId::Null, error }
}

fn message(line: &[u8]) -> Incoming {
    let mut message = match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(message)) => message,
        Ok(_) => {
            return garbage(error::invalid_request("a message is a JSON object on one line"));
        }
        Err(why) => return garbage(error::error(ErrorCode::ParseError, format!("invalid JSON: {why}"))),
    };
    let id = match message.remove("id").map(serde_json::from_value::<RequestId>) {
        None => None,
        Some(Ok(id)) => Some(id),
        Some(Err(_)) => {
            return garbage(error::invalid_request("an id is a string or a whole number"));
        }
    };
    let params = message.remove("params").unwrap_or_default();
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Incoming::Request { id, method, params },
        (Some(Value::String(method)), None) => Incoming::Notification { method, params },
        (None, Some(id)) if message.contains_key("result") || message.contains_key("error") => {
            let reply = match message.remove("error") {
                None => Ok(message.remove("result").unwrap_or_default()),
                Some(error) => Err(serde_json::from_value(error).unwrap_or_else(|_| Error::internal_error())),
            };
            Incoming::Answer { id, reply }
        }
        (_, id) => Incoming::Garbage {
            id: id.unwrap_or(RequestId::Null),
            error: error::invalid_request("neither a request nor an answer: `method` or `result` is missing"),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn garbage_is_answered_and_skipped() {
        let long = format!("{}\n", "x".repeat(MAX_LINE_BYTES + 10));
        let text = format!(
            "\n{{\"id\":1,\"method\":\"a\"}}\nnonsense\n[]\n{{\"id\":1.5,\"method\":\"a\"}}\n{{\"id\":2}}\n{long}{{\"method\":\"b\"}}"
        );
        let mut input = text.as_bytes();
        let mut seen = Vec::new();
        while let Some(incoming) = next(&mut input).await.unwrap() {
            seen.push(match incoming {
                Incoming::Request { id, method, .. } => format!("{id} {method}"),
                Incoming::Notification { method, .. } => method,
                Incoming::Answer { .. } => "answer".to_owned(),
                Incoming::Garbage { id, error } => format!("{id} {}", i32::from(error.code)),
            });
        }
        assert_eq!(
            seen,
            ["1 a", "null -32700", "null -32600", "null -32600", "2 -32600", "null -32600", "b"]
        );
    }
}
