//! A session that a program controls through Claude's control protocol: several turns, questions that it answers, interrupts.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{Stream, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::claude::{self, Claude};
use super::context_usage::context_usage;
use super::host::{self, FromHost, HostLink, Unanswered, response};
use super::rewind_files::{FileRewinds, RewindStep, SentUserMessage};
use crate::exec::output_schema::OutputSchema;
use crate::exec::printer::{Printer, failed};
use crate::exec::run::{self, ExecOutcome, ExecStart};
use crate::exec::turn_answer::TurnAnswer;
use base::protocol::approval::{Answer, Question, QuestionId};
use base::protocol::event::{EndReason, Event, FailureCause, TurnEnd};
use base::protocol::op::{Attachment, Control, Idle, Op, Quick, Work};
use base::text;

struct Talk<'p, O> {
    ops: UnboundedSender<Op>,
    link: HostLink,
    printer: &'p mut Claude<O>,
    answer: TurnAnswer,
    queue: VecDeque<Value>,
    ledgers: VecDeque<String>,
    rewinds: FileRewinds,
    /// The session's first model, once another was chosen.
    model: Option<String>,
    running: bool,
    /// `/clear` ends with the new session, and `/compact` with the window's state after a notice, which is kept here.
    ends_with: Option<Option<String>>,
    last: Option<TurnEnd>,
}

const OTHER: FailureCause = FailureCause::Other;
/// See [`Op::of_prompt`].
const OWN_TURNS: [&str; 4] = ["init", "maintain", "context", "cost"];

pub async fn converse<O: Write>(
    ops: UnboundedSender<Op>,
    mut events: UnboundedReceiver<Event>,
    link: HostLink,
    printer: &mut Claude<O>,
    interrupts: impl Stream<Item = ()>,
    schema: Option<OutputSchema>,
) -> ExecOutcome {
    let mut interrupts = std::pin::pin!(interrupts.fuse());
    let answer = TurnAnswer::new(schema);
    let (queue, ledgers, running, last) = (VecDeque::new(), VecDeque::new(), false, None);
    let rewinds = FileRewinds::default();
    let (model, ends_with) = (None, None);
    let mut talk =
        Talk { ops, link, printer, answer, queue, ledgers, rewinds, model, running, ends_with, last };
    let mut interrupted = false;
    let lost = loop {
        let begun = talk.begin();
        if !talk.running && talk.link.closed && talk.queue.is_empty() && talk.printer.session.is_some() {
            break begun.err();
        }
        let step = begun.and(tokio::select! {
            event = events.recv() => match event {
                None => break None,
                Some(event) => talk.event(event),
            },
            news = talk.link.next() => talk.news(news),
            Some(()) = interrupts.next() => {
                if interrupted || !talk.running {
                    break None;
                }
                interrupted = true;
                talk.queue.clear();
                talk.link.closed = true;
                talk.op(Control::Interrupt);
                Ok(())
            }
        });
        if let Err(error) = step {
            break Some(error);
        }
    };
    if talk.running {
        let end = TurnEnd { reason: run::gone(interrupted), ..TurnEnd::default() };
        let _ = talk.ended(end);
    }
    let Talk { ops, printer, answer, last, .. } = talk;
    let end = last.unwrap_or_default();
    let code = match end.reason {
        EndReason::Interrupted { .. } if !interrupted => 0,
        _ => run::failed_or_not(&end),
    };
    let outcome = run::outcome(code, end, lost, &answer.said);
    run::shut_down(ops, events, printer, interrupts).await;
    outcome
}

impl<O: Write> Talk<'_, O> {
    fn op(&self, op: impl Into<Op>) {
        // If this fails the engine is gone, and the event queue ends too.
        let _ = self.ops.send(op.into());
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.running || self.printer.session.is_none() {
            return Ok(());
        }
        let Some(mut line) = self.queue.pop_front() else { return Ok(()) };
        let id = line["uuid"].as_str().map_or_else(text::uuid, str::to_owned);
        let message = line["message"].take();
        let prompt = prompt(&message);
        if self.printer.form.replay {
            self.printer.replayed(&message, &id)?;
        }
        let prompt =
            prompt.map_err(|why| failed(&format!("the message was not sent: {why}"), "send text", OTHER));
        let op = prompt.and_then(|(text, attachments)| self.op_of(text, attachments));
        let op = match op {
            Ok(op) => op,
            Err(reason) => {
                self.answer.begin(String::new());
                return self.ended(TurnEnd { reason, ..TurnEnd::default() });
            }
        };
        self.running = true;
        self.printer.user_messages.push(SentUserMessage { id, begins_turn: true });
        self.printer.state("running")?;
        self.op(op);
        Ok(())
    }

    /// What a message asks for: a turn, or a command that ends without one.
    fn op_of(&mut self, text: String, attachments: Vec<Attachment>) -> Result<Op, EndReason> {
        let trimmed = text.trim();
        if trimmed.is_empty() && attachments.is_empty() {
            return Err(failed("the message is empty", "send a text or a picture", OTHER));
        }
        let (word, args) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let name = word.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains(['/', ':']));
        let is_known = |name: &str| OWN_TURNS.contains(&name) || self.printer.has_command(name);
        match name.filter(|name| text.starts_with('/') && !is_known(name) && !Path::new(word).exists()) {
            None => Ok(ExecStart::Prompt(text, attachments).op(&mut self.answer)),
            Some(name @ ("compact" | "clear")) => {
                self.answer.begin(String::new());
                let focus = Some(args.trim().to_owned()).filter(|focus| !focus.is_empty());
                self.ends_with = Some((name == "compact").then(String::new));
                Ok(if name == "clear" { Idle::Clear.into() } else { Work::Compact { focus }.into() })
            }
            Some(name) => {
                let hint = "to send text that begins with /, put a space before it";
                Err(failed(&format!("there is no command /{name} here"), hint, OTHER))
            }
        }
    }

    fn ended(&mut self, end: TurnEnd) -> io::Result<()> {
        self.running = false;
        self.printer.end(&end, &self.answer.said, 0)?;
        self.last = Some(end);
        if self.queue.is_empty() { self.printer.state("idle") } else { Ok(()) }
    }

    fn rewind(&mut self, step: RewindStep) -> io::Result<()> {
        match step {
            RewindStep::Op(op) => self.op(op),
            RewindStep::Answer(line) => self.printer.write(&line)?,
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        if let Some(step) = self.rewinds.event(&event) {
            self.rewind(step)?;
        }
        match event {
            Event::TurnEnded(end) => match self.answer.ended(end, &self.ops, self.printer) {
                Ok(end) => self.ended(end),
                Err(shown) => shown,
            },
            Event::Ask { id, question } => self.ask(id, question),
            Event::AskClosed { id } => {
                self.link.withdraw(id).map_or(Ok(()), |line| self.printer.write(&line))
            }
            Event::Ledger(view) if !self.ledgers.is_empty() => {
                let id = self.ledgers.pop_front().unwrap_or_default();
                self.printer.write(&response(&id, Ok(context_usage(&view, self.printer.model()))))
            }
            Event::HostAnswer { id, answer } => {
                self.printer.mcp_answered(&answer);
                self.printer.write(&response(&id, answer))
            }
            event @ (Event::Ledger(_) | Event::Cost(_)) => {
                self.answer.shown(&event, self.printer)?;
                self.ended(TurnEnd::default())
            }
            event => {
                self.answer.event(&event);
                self.printer.event(&event)?;
                match (&event, &mut self.ends_with) {
                    (Event::Notice { text, .. }, Some(Some(told))) => told.clone_from(text),
                    (Event::Session(_), Some(None)) => {
                        self.ends_with = None;
                        self.ended(TurnEnd::default())?;
                    }
                    (Event::Window(_), Some(Some(told))) if !told.is_empty() => {
                        let told = std::mem::take(told);
                        self.ends_with = None;
                        self.answer.told(told, self.printer)?;
                        self.ended(TurnEnd::default())?;
                    }
                    _ => {}
                }
                // Commands are the last of the opening events.
                let waits =
                    matches!(event, Event::Commands(_)).then(|| self.link.initialize.take()).flatten();
                waits.map_or(Ok(()), |id| self.printer.write(&response(&id, Ok(self.printer.initialized()))))
            }
        }
    }

    fn ask(&mut self, id: QuestionId, question: Question) -> io::Result<()> {
        if !self.printer.form.asks || self.link.closed {
            let note = run::note(&question).to_owned();
            self.op(Control::Answer { id, answer: Answer::No { note } });
            return Ok(());
        }
        let (request, input) = host::request(&question, |tool, args| self.printer.call_of(tool, args));
        let line = self.link.ask(request, Unanswered::Question { id, question: Box::new(question), input });
        self.printer.write(&line)?;
        self.printer.state("requires_action")
    }

    fn news(&mut self, news: FromHost) -> io::Result<()> {
        match news {
            FromHost::Ask(_) if self.link.closed => Ok(()),
            FromHost::Ask(line) => self.printer.write(&line),
            FromHost::Closed => {
                std::mem::take(&mut self.link.waiting).into_values().try_for_each(|waiting| {
                    self.answered(waiting, Err("standard input was closed before an answer came".to_owned()))
                })
            }
            FromHost::Prompt(message) => {
                self.queue.push_back(message);
                Ok(())
            }
            FromHost::Response { id, answer } => {
                let waiting = self.link.waiting.remove(&id);
                waiting.map_or(Ok(()), |waiting| self.answered(waiting, answer))
            }
            FromHost::Request { id, request } => match request["subtype"].as_str().unwrap_or_default() {
                "get_context_usage" => {
                    self.ledgers.push_back(id);
                    self.op(Control::ShowContext);
                    Ok(())
                }
                "rewind_files" => {
                    let step = self.rewinds.ask(&id, &request, &self.printer.user_messages);
                    self.rewind(step)
                }
                "mcp_set_servers" | "mcp_read_resource" | "seed_read_state" => {
                    self.op(Quick::HostRequest { id, request });
                    Ok(())
                }
                kind => {
                    let answer = self.requested(kind, &request);
                    self.printer.write(&response(&id, answer))
                }
            },
        }
    }

    fn answered(&mut self, waiting: Unanswered, answer: Result<Value, String>) -> io::Result<()> {
        match waiting {
            Unanswered::Port(port) => {
                let _ = port.send(answer);
                Ok(())
            }
            Unanswered::Question { id, question, input } => {
                let stops = answer.as_ref().is_ok_and(|answer| answer["interrupt"] == true);
                host::wishes(&answer).into_iter().for_each(|op| self.op(op));
                self.op(Control::Answer { id, answer: host::answer(&question, &input, answer) });
                if stops {
                    self.op(Control::Interrupt);
                }
                self.printer.state("running")
            }
        }
    }

    fn requested(&mut self, kind: &str, request: &Value) -> Result<Value, String> {
        match kind {
            "initialize" => return Ok(self.printer.initialized()),
            "interrupt" => {
                self.op(Control::Interrupt);
                let queued = self.queue.iter().map(|line| &line["uuid"]).filter(|id| id.is_string());
                return Ok(json!({"still_queued": queued.collect::<Vec<_>>()}));
            }
            "cancel_async_message" => {
                let before = self.queue.len();
                self.queue.retain(|line| line["uuid"] != request["message_uuid"]);
                return Ok(json!({"cancelled": self.queue.len() < before}));
            }
            "reload_output_styles" => return Ok(json!({"available_output_styles": ["default"]})),
            "set_permission_mode" => {
                let ops = host::mode(request["mode"].as_str().unwrap_or_default())?;
                ops.into_iter().for_each(|op| self.op(op));
                return Ok(json!({"mode": request["mode"]}));
            }
            "rename_session" => {
                let title = request["title"].as_str().unwrap_or_default().to_owned();
                let session = self.printer.session.as_ref().ok_or("there is no session yet")?;
                self.op(Quick::RenameSession { session: session.id.clone(), title });
            }
            "set_model" => {
                let first = self.model.get_or_insert_with(|| self.printer.model().to_owned());
                let model = request["model"].as_str().unwrap_or(first).to_owned();
                self.op(Idle::SetModel { model });
            }
            "apply_flag_settings" => {
                let mut ops: Vec<Op> = Vec::new();
                for (key, value) in request["settings"].as_object().into_iter().flatten() {
                    let only_mode = || value.as_object().is_some_and(|all| all.keys().eq(["defaultMode"]));
                    match (key.as_str(), value.as_str().map(str::to_owned)) {
                        ("model", Some(model)) => ops.push(Idle::SetModel { model }.into()),
                        ("effortLevel", Some(level)) => ops.push(Idle::SetEffort { level }.into()),
                        ("permissions", None) if only_mode() => {
                            let mode = host::mode(value["defaultMode"].as_str().unwrap_or_default())?;
                            ops.extend(mode.into_iter().map(Op::from));
                        }
                        _ => return Err(format!("{key} can't change within a session: begin a new one")),
                    }
                }
                self.model.get_or_insert_with(|| self.printer.model().to_owned());
                ops.into_iter().for_each(|op| self.op(op));
            }
            // Ignored: messages of its servers are unsolicited, and effort sets how long the model thinks.
            "mcp_message" | "set_max_thinking_tokens" | "set_color" | "set_has_subscribers" => {}
            "stop_task" => {
                let task = request["task_id"].as_str().and_then(|id| id.parse().ok());
                self.op(Quick::StopJob { id: task.ok_or("there is no such task")? });
            }
            "background_tasks" => self.op(Quick::Background),
            // Ends the server's program; the next call restarts it.
            "mcp_reconnect" | "mcp_toggle" => {
                let name = request["serverName"].as_str().unwrap_or_default();
                let known = self.printer.form.mcp_servers.iter().any(|server| server == name);
                known.then_some(()).ok_or_else(|| format!("Server not found: {name}"))?;
                let on = kind == "mcp_reconnect" || request["enabled"] == true;
                self.op(Quick::SwitchMcp { server: name.to_owned(), on: false });
                self.op(Quick::SwitchMcp { server: name.to_owned(), on });
                let state = if on { "pending" } else { "disabled" };
                self.printer.mcp_states.insert(name.to_owned(), state);
            }
            "get_usage" => return Ok(self.printer.session_usage()),
            "mcp_status" => return Ok(self.printer.mcp_status()),
            "get_binary_version" => return Ok(json!({"version": claude::version()})),
            _ => {
                let instead = match kind {
                    "reload_skills" | "reload_plugins" => "a new session reads them again",
                    "update_settings" => "apply_flag_settings sets the model and effort of this session",
                    _ => "leave it out, or begin a new session with other options",
                };
                return Err(format!("mycode does not support the control request {kind}: {instead}"));
            }
        }
        Ok(json!({}))
    }
}

/// The text and the attachments of a message; the error completes a sentence about it.
fn prompt(message: &Value) -> Result<(String, Vec<Attachment>), String> {
    let blocks = match &message["content"] {
        Value::String(text) => return Ok((text.clone(), Vec::new())),
        Value::Array(blocks) => blocks.as_slice(),
        _ => &[],
    };
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for block in blocks {
        let (kind, source) = (block["type"].as_str().unwrap_or("text"), &block["source"]);
        let said = |content: &Value| match content.as_array() {
            Some(parts) => {
                parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
            }
            None => content.as_str().unwrap_or_default().to_owned(),
        };
        let title = block["title"].as_str().or(source.as_str()).map(str::to_owned);
        let name = title.unwrap_or_else(|| format!("{kind} {}", attachments.len() + 1));
        attachments.push(match (kind, source["type"].as_str()) {
            ("text", _) => {
                texts.extend(block["text"].as_str());
                continue;
            }
            ("image" | "document", Some("base64")) => {
                let bytes = STANDARD.decode(source["data"].as_str().unwrap_or_default());
                Attachment::Image {
                    bytes: bytes.map_err(|error| format!("{name} isn't base64: {error}"))?,
                    name,
                }
            }
            ("document", Some("text")) => Attachment::Text { text: said(&source["data"]), name },
            ("document", Some("content")) => Attachment::Text { text: said(&source["content"]), name },
            ("search_result", _) => Attachment::Text { text: said(&block["content"]), name },
            (_, source) => {
                let of = source.map_or(String::new(), |source| format!(" with a source of type {source}"));
                return Err(format!("it has a block of type {kind}{of}, which is not supported"));
            }
        });
    }
    Ok((texts.join("\n\n"), attachments))
}
