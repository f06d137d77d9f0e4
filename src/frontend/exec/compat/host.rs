//! The program that writes to our standard input: its messages, and Claude's control protocol with it in both directions
//! (`SDKControlRequest` of `@anthropic-ai/claude-agent-sdk` 0.3.332); our questions as its permission requests.

use std::collections::{HashMap, VecDeque};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use base::config::mode::Mode;
use base::config::settings::Permission;
use base::process::task;
use base::protocol::approval::{Answer, AskedQuestion, Question, QuestionId};
use base::protocol::claude_tools;
use base::protocol::host::HostProgram;
use base::protocol::op::{Op, Quick};
use base::text;

const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;
const CLOSED: &str = "the program that started mycode has closed its standard input";

type HostAnswer = Result<Value, String>;

struct Asked {
    request: Value,
    answer: oneshot::Sender<HostAnswer>,
}

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
    pub port: HostPort,
    asked: UnboundedReceiver<Asked>,
    early: VecDeque<FromHost>,
    pub waiting: HashMap<String, Unanswered>,
    pub initialize: Option<String>,
    pub closed: bool,
}

/// A prompt is a line with a message of the user, `{"role", "content"}`; what the agent asks is a line to write.
pub enum FromHost {
    Prompt(Value),
    Request { id: String, request: Value },
    Response { id: String, answer: HostAnswer },
    Ask(Value),
    Closed,
}

impl HostLink {
    pub fn open(input: impl AsyncBufRead + Unpin + Send + 'static) -> Self {
        let (sender, messages) = unbounded_channel();
        task::spawn(read(input, sender));
        let (port, asked) = unbounded_channel();
        let (port, early, waiting) = (HostPort(port), VecDeque::new(), HashMap::new());
        Self { messages, port, asked, early, waiting, initialize: None, closed: false }
    }

    /// What the program's `initialize` request asks for; `None` if it sends none.
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

    pub fn ask(&mut self, request: Value, waiting: Unanswered) -> Value {
        let id = text::uuid();
        match waiting {
            Unanswered::Port(answer) if self.closed => drop(answer.send(Err(CLOSED.to_owned()))),
            waiting => drop(self.waiting.insert(id.clone(), waiting)),
        }
        json!({"type": "control_request", "request_id": id, "request": request})
    }

    /// The line that withdraws a request whose question no longer matters.
    pub fn withdraw(&mut self, question: QuestionId) -> Option<Value> {
        let is_it =
            |waiting: &Unanswered| matches!(waiting, Unanswered::Question { id, .. } if *id == question);
        let id = self.waiting.iter().find(|(_, waiting)| is_it(waiting)).map(|(id, _)| id.clone())?;
        self.waiting.remove(&id);
        Some(json!({"type": "control_cancel_request", "request_id": id}))
    }
}

pub fn response(id: &str, answer: HostAnswer) -> Value {
    let response = match answer {
        Ok(response) => json!({"subtype": "success", "request_id": id, "response": response}),
        Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
    };
    json!({"type": "control_response", "response": response})
}

/// Ends with the input, after an overlong line, or when nobody listens.
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

/// Skips unknown kinds, as Claude Code does.
fn message(mut line: Value) -> Option<FromHost> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match line["type"].as_str()? {
        "user" => Some(FromHost::Prompt(line)),
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

/// Also returns the arguments in it; `call_of` names a call as Claude does.
pub fn request(question: &Question, call_of: impl FnOnce(&str, &str) -> (String, Value)) -> (Value, Value) {
    let new_id = || json!({"tool_use_id": text::uuid()});
    let (name, input, more) = match question {
        Question::Approval(request) => {
            let (name, input) = call_of(&request.tool, &request.args);
            let mut rule = json!({"toolName": name});
            match (&*name, &request.always_prefix) {
                ("Bash", Some(words)) => rule["ruleContent"] = format!("{words}:*").into(),
                ("WebFetch", Some(host)) => rule["ruleContent"] = format!("domain:{host}").into(),
                _ => {}
            }
            let rule =
                json!({"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"});
            let suggestions = if request.session_scope.is_some() { json!([rule]) } else { json!([]) };
            let more = json!({
                "tool_use_id": request.call_id, "title": request.title, "decision_reason": request.reason,
                "permission_suggestions": suggestions, "agent_id": request.agent,
            });
            (name, input, more)
        }
        Question::Ask { questions } => {
            let asked: Vec<Value> = questions.iter().map(asked).collect();
            ("AskUserQuestion".to_owned(), json!({ "questions": asked }), new_id())
        }
        Question::Plan(plan) => ("ExitPlanMode".to_owned(), json!({"plan": plan.text}), new_id()),
    };
    let mut request =
        json!({"subtype": "can_use_tool", "tool_name": name, "display_name": name, "input": input});
    if let (Value::Object(request), Value::Object(more)) = (&mut request, more) {
        request.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
    }
    (request, input)
}

fn asked(question: &AskedQuestion) -> Value {
    // As `tools/arguments/coerce.rs` joined them.
    let option = |option: &String| {
        let (label, description) = option.split_once(" — ").unwrap_or((option, ""));
        json!({"label": label, "description": description})
    };
    let options: Vec<Value> = question.options.iter().map(option).collect();
    json!({"question": question.question, "header": "", "options": options, "multiSelect": false})
}

/// `input` was in the request: other arguments in the answer are a change.
pub fn answer(question: &Question, input: &Value, answer: Result<Value, String>) -> Answer {
    let answer = match answer {
        Ok(answer) if answer["behavior"] == "allow" => answer,
        Ok(answer) => {
            return Answer::No { note: answer["message"].as_str().unwrap_or_default().to_owned() };
        }
        Err(why) => return Answer::No { note: why },
    };
    let allows = |update: &Value| update["type"] == "addRules" && update["behavior"] == "allow";
    let changed = answer["updatedInput"].as_object().filter(|changed| input.as_object() != Some(changed));
    match question {
        Question::Approval(request) => match changed {
            Some(changed) => Answer::Changed { args: claude_tools::args(&request.tool, changed) },
            None if updates(&answer).any(allows) => Answer::Session,
            None => Answer::Once,
        },
        Question::Ask { questions } => {
            let answers = changed.and_then(|changed| changed.get("answers"));
            let reply = |asked: &AskedQuestion| {
                let answer = answers.and_then(|answers| answers[&asked.question].as_str());
                answer.unwrap_or_default().to_owned()
            };
            Answer::Replies { replies: questions.iter().map(reply).collect() }
        }
        Question::Plan(_) => Answer::Accept { permission: Permission::Ask },
    }
}

fn updates(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["updatedPermissions"].as_array().into_iter().flatten()
}

/// An answer may also set another permission mode.
pub fn wishes(answer: &Result<Value, String>) -> Vec<Op> {
    let modes = answer.iter().flat_map(updates).filter(|update| update["type"] == "setMode");
    let ops = modes.filter_map(|update| mode(update["mode"].as_str()?).ok()).flatten();
    ops.map(Op::from).collect()
}

pub fn mode(name: &str) -> Result<Vec<Quick>, String> {
    match claude_tools::of_permission_mode(name) {
        Some((Mode::Plan, _)) => Ok(vec![Quick::SetMode { mode: Mode::Plan }]),
        Some((mode, permission)) => Ok(vec![Quick::SetMode { mode }, Quick::SetPermission { permission }]),
        None => Err(format!("mycode has no permission mode {name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_questions() {
        let options = vec!["Both — as now".to_owned()];
        let questions = vec![AskedQuestion { question: "Which?".into(), options, optional: false }];
        let question = Question::Ask { questions };
        let (request, input) = request(&question, |_, _| (String::new(), Value::Null));
        assert_eq!(request["tool_name"], "AskUserQuestion");
        let option = json!({"label": "Both", "description": "as now"});
        assert_eq!(input["questions"][0]["options"], json!([option]));
        let mut changed = input.clone();
        changed["answers"] = json!({"Which?": "both"});
        let allowed = json!({"behavior": "allow", "updatedInput": changed});
        let replies = vec!["both".to_owned()];
        assert_eq!(answer(&question, &input, Ok(allowed)), Answer::Replies { replies });
        let no = Answer::No { note: "later".to_owned() };
        assert_eq!(answer(&question, &input, Ok(json!({"behavior": "deny", "message": "later"}))), no);
        assert_eq!(
            wishes(&Ok(json!({"updatedPermissions": [{"type": "setMode", "mode": "plan"}]}))).len(),
            1
        );
        assert!(mode("x").is_err());
    }
}
