//! The program that writes to our standard input: its messages, and Claude's control protocol with it in both directions
//! (`SDKControlRequest` of `@anthropic-ai/claude-agent-sdk` 0.3.332).

use std::collections::{HashMap, VecDeque};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::claude::uuid;
use base::protocol::approval::{Question, QuestionId};
use base::protocol::host::HostProgram;

/// Large, since a message may contain pictures.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;
const CLOSED: &str = "the program that started mycode has closed its standard input";

type HostAnswer = Result<Value, String>;

struct Asked {
    request: Value,
    answer: oneshot::Sender<HostAnswer>,
}

/// Sends requests from anywhere in the agent.
#[derive(Clone)]
pub struct HostPort(UnboundedSender<Asked>);

impl HostProgram for HostPort {
    fn request(&self, request: Value) -> BoxFuture<'_, HostAnswer> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let gone = || CLOSED.to_owned();
            self.0.send(Asked { request, answer }).map_err(|_| gone())?;
            answered.await.map_err(|_| gone())?
        })
    }
}

pub enum Unanswered {
    Question { id: QuestionId, question: Box<Question>, input: Value },
    Port(oneshot::Sender<HostAnswer>),
}

pub struct HostLink {
    messages: UnboundedReceiver<FromHost>,
    port: HostPort,
    asked: UnboundedReceiver<Asked>,
    early: VecDeque<FromHost>,
    waiting: HashMap<String, Unanswered>,
    pub initialize: Option<String>,
    pub closed: bool,
}

pub enum FromHost {
    /// Of the user: `{"role", "content"}`.
    Prompt(Value),
    Request {
        id: String,
        request: Value,
    },
    Response {
        id: String,
        answer: HostAnswer,
    },
    /// A line to write: a request of the agent.
    Ask(Value),
    Closed,
}

impl HostLink {
    pub fn open(input: impl AsyncBufRead + Unpin + Send + 'static) -> Self {
        let (sender, messages) = unbounded_channel();
        tokio::spawn(read(input, sender));
        let (port, asked) = unbounded_channel();
        Self {
            messages,
            port: HostPort(port),
            asked,
            early: VecDeque::new(),
            waiting: HashMap::new(),
            initialize: None,
            closed: false,
        }
    }

    pub fn port(&self) -> HostPort {
        self.port.clone()
    }

    /// What the program wants of the session, before that begins; `None` if it says nothing about it.
    pub async fn initialize(&mut self) -> Option<Value> {
        match self.messages.recv().await? {
            FromHost::Request { id, request } if request["subtype"] == "initialize" => {
                self.initialize = Some(id);
                Some(request)
            }
            other => {
                self.early.push_back(other);
                None
            }
        }
    }

    pub async fn next(&mut self) -> FromHost {
        if let Some(message) = self.early.pop_front() {
            return message;
        }
        tokio::select! {
            message = self.messages.recv(), if !self.closed => {
                self.closed = message.is_none();
                message.unwrap_or(FromHost::Closed)
            }
            Some(Asked { request, answer }) = self.asked.recv() => FromHost::Ask(self.ask(request, Unanswered::Port(answer))),
        }
    }

    /// The line for a request; whoever waits is answered with its response.
    pub fn ask(&mut self, request: Value, waiting: Unanswered) -> Value {
        let id = uuid();
        match waiting {
            Unanswered::Port(answer) if self.closed => drop(answer.send(Err(CLOSED.to_owned()))),
            waiting => drop(self.waiting.insert(id.clone(), waiting)),
        }
        json!({"type": "control_request", "request_id": id, "request": request})
    }

    pub fn answered(&mut self, id: &str) -> Option<Unanswered> {
        self.waiting.remove(id)
    }

    /// The line that takes back a request whose question became pointless.
    pub fn withdraw(&mut self, question: QuestionId) -> Option<Value> {
        let is_it =
            |waiting: &Unanswered| matches!(waiting, Unanswered::Question { id, .. } if *id == question);
        let id = self.waiting.iter().find(|(_, waiting)| is_it(waiting)).map(|(id, _)| id.clone())?;
        self.waiting.remove(&id);
        Some(json!({"type": "control_cancel_request", "request_id": id}))
    }

    pub fn unanswered(&mut self) -> Vec<Unanswered> {
        self.waiting.drain().map(|(_, waiting)| waiting).collect()
    }
}

pub fn response(id: &str, answer: HostAnswer) -> Value {
    let response = match answer {
        Ok(response) => json!({"subtype": "success", "request_id": id, "response": response}),
        Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
    };
    json!({"type": "control_response", "response": response})
}

/// Until the end of input, a line that is too long, or until nobody listens.
async fn read(mut input: impl AsyncBufRead + Unpin, messages: UnboundedSender<FromHost>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) || line.len() as u64 == MAX_LINE_BYTES {
            return;
        }
        if let Some(message) = serde_json::from_slice(&line).ok().and_then(message)
            && messages.send(message).is_err()
        {
            return;
        }
    }
}

/// Kinds that we don't know are skipped, as Claude Code does.
fn message(mut line: Value) -> Option<FromHost> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match line["type"].as_str()? {
        "user" => Some(FromHost::Prompt(line["message"].take())),
        "control_request" => {
            Some(FromHost::Request { id: text(&line["request_id"])?, request: line["request"].take() })
        }
        "control_response" => {
            let response = &mut line["response"];
            let id = text(&response["request_id"])?;
            let answer = match response["subtype"].as_str() {
                Some("success") => Ok(response["response"].take()),
                _ => Err(text(&response["error"]).unwrap_or_else(|| "no reason given".to_owned())),
            };
            Some(FromHost::Response { id, answer })
        }
        _ => None,
    }
}
