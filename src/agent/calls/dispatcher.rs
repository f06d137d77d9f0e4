//! The one way in which a call runs: parse → access → decide → ask → run → redact → truncate. Whatever goes wrong on the
//! way becomes an envelope that lets the model repair its call; only a fatal tool error ends the turn.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::policy_engine::PolicyEngine;
use crate::agent::control::{Events, TurnControl, UserPrompter};
use crate::model::call::{ToolCall, ToolSpec};
use crate::model::envelope::{Envelope, ErrorCode, Status};
use crate::model::item::ToolResult;
use crate::policy::access::Access;
use crate::policy::verdict::Verdict;
use crate::protocol::approval::{Answer, ApprovalRequest, Question};
use crate::protocol::event::{Event, Level};
use crate::redact::detector::TextSource;
use crate::sandbox::spec::Confinement;
use crate::tool::api::{Prepared, Preview, Tool, ToolError};
use crate::tool::cx::ToolCx;
use crate::tool::output::{self, Keep, Spill, Truncated};
use crate::tool::registry;

/// How long an interrupted tool may take to clean up before it is dropped.
const CLEAN_UP: Duration = Duration::from_millis(80);

/// The dispatcher of one session.
pub struct Dispatcher {
    tools: Vec<Box<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
    pub cx: ToolCx,
    pub desk: Arc<PolicyEngine>,
    spill: Arc<Spill>,
    /// Whether somebody can answer questions.
    interactive: bool,
    denied: AtomicU32,
}

/// A call that passed the gate.
struct AdmittedCall {
    prepared: Box<dyn Prepared>,
    /// The title of what runs a program that may change any file.
    command: Option<String>,
    confinement: Confinement,
}

impl Dispatcher {
    /// With `few_words` the model is told of fewer tools; all of them can be called.
    pub fn new(
        cx: ToolCx,
        desk: Arc<PolicyEngine>,
        spill: Arc<Spill>,
        interactive: bool,
        few_words: bool,
    ) -> Self {
        let tools = registry::builtin();
        let told = |tool: &dyn Tool| !few_words || !registry::DISPENSABLE.contains(&tool.name());
        let specs = tools.iter().filter(|tool| told(tool.as_ref())).map(|tool| tool.spec()).collect();
        Self { tools, specs, cx, desk, spill, interactive, denied: AtomicU32::new(0) }
    }

    /// Whether a user sits before it.
    pub fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// What one observation may take follows the window.
    pub fn set_window(&mut self, tokens: u64) {
        self.cx.observation = output::Limits::for_window(tokens);
    }

    /// The tools as the model sees them.
    pub fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// Calls denied since the last time this was asked.
    pub fn take_denied(&self) -> u32 {
        self.denied.swap(0, Ordering::Relaxed)
    }

    /// The calls in runs that may go together: neighboring read-only calls in one, every other call alone.
    pub fn groups<'c>(&self, calls: &'c [Arc<ToolCall>]) -> Vec<&'c [Arc<ToolCall>]> {
        let parallel = |call: &Arc<ToolCall>| self.find(&call.name).is_ok_and(Tool::read_only);
        calls.chunk_by(|a, b| parallel(a) && parallel(b)).collect()
    }

    /// Runs one group; results in call order.
    ///
    /// # Errors
    /// The message of a fatal tool error.
    pub async fn run_group(
        &self,
        group: &[Arc<ToolCall>],
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<Vec<ToolResult>, String> {
        let mut admitted = Vec::with_capacity(group.len());
        for call in group {
            admitted.push(self.gate(call, control, events).await);
        }
        let running = group.iter().zip(admitted).map(|(call, gate)| async move {
            match gate {
                Err(envelope) => Ok(*envelope),
                Ok(admitted) => self.run(call, admitted, control, events).await,
            }
        });
        let mut results = Vec::with_capacity(group.len());
        for (call, envelope) in group.iter().zip(join_all(running).await) {
            let mut envelope = envelope?;
            if &*call.name == "Bash"
                && let Some(news) = self.file_news().await
            {
                let gap = if envelope.text.is_empty() { "" } else { "\n" };
                envelope.text.push_str(&format!("{gap}<system-reminder>{news}</system-reminder>"));
            }
            self.clean(&mut envelope, &call.name);
            results.push(ToolResult {
                call_id: Arc::clone(&call.id),
                tool: Arc::clone(&call.name),
                envelope,
            });
        }
        if let Some(last) = results.last_mut() {
            add_news(&mut last.envelope, &self.cx.shell.jobs.take_ended());
        }
        Ok(results)
    }

    fn find(&self, name: &str) -> Result<&dyn Tool, ToolError> {
        registry::find(&self.tools, name)
    }

    /// Parse, access, decide, ask. `Err` is the envelope for the model.
    async fn gate(
        &self,
        call: &ToolCall,
        control: &TurnControl,
        events: &Events,
    ) -> Result<AdmittedCall, Box<Envelope>> {
        let started = |title: String| {
            let _ = events.send(Event::ToolStarted {
                call_id: Arc::clone(&call.id),
                tool: Arc::clone(&call.name),
                title: self.cx.vault.redact(&title, TextSource::of_command(&title)).into_owned(),
                args: self.cx.vault.redact_args(&call.args).into(),
            });
        };
        if control.cancel.is_cancelled() {
            started(call.name.to_string());
            return Err(interrupted());
        }
        let parsed = self.find(&call.name).map_err(|error| envelope_of(&error)).and_then(|tool| {
            let args = call.parsed_args().map_err(|message| {
                Box::new(Envelope::error(
                    ErrorCode::InvalidParam,
                    format!("{}: {message}. Send the call again with one valid JSON object", tool.name()),
                ))
            })?;
            tool.prepare(args).map_err(|error| envelope_of(&error))
        });
        let prepared = match parsed {
            Ok(prepared) => prepared,
            Err(envelope) => {
                started(call.name.to_string());
                return Err(envelope);
            }
        };
        started(prepared.title());
        let accesses = prepared.access(&self.cx_until(control)).await.map_err(|error| envelope_of(&error))?;
        let mut approved = false;
        match self.desk.decide(&accesses) {
            Verdict::Allow => {}
            Verdict::Deny { reason } => {
                self.denied.fetch_add(1, Ordering::Relaxed);
                return Err(denied(&format!(
                    "{reason}. Do what you can without it, or tell the user what you need"
                )));
            }
            Verdict::Ask { reason } => {
                self.ask(call, &*prepared, &accesses, reason, control, events).await?;
                approved = true;
            }
        }
        // Looking at every file before and after costs time in a large tree: not for what only looks.
        let command = self.desk.may_change(&accesses);
        let confinement = self.desk.confinement(&accesses, approved);
        Ok(AdmittedCall { command: command.then(|| prepared.title()), prepared, confinement })
    }

    /// Whether all that a call would change could be read without a question.
    fn may_read(&self, accesses: &[Access]) -> bool {
        accesses.iter().all(|access| match access {
            Access::Write(path) => {
                matches!(self.desk.decide(&[Access::Read(path.clone())]), Verdict::Allow)
            }
            _ => false,
        })
    }

    async fn ask(
        &self,
        call: &ToolCall,
        prepared: &dyn Prepared,
        accesses: &[Access],
        reason: String,
        control: &TurnControl,
        events: &Events,
    ) -> Result<(), Box<Envelope>> {
        if !self.interactive {
            self.denied.fetch_add(1, Ordering::Relaxed);
            return Err(denied(&format!(
                "{reason}, and nobody can be asked here. Find a way that needs no question, or say what you could not do"
            )));
        }
        let (detail, is_diff) = match prepared.preview(&self.cx_until(control)).await {
            _ if control.cancel.is_cancelled() => return Err(never_run()),
            Preview::Text(text) => (text, false),
            Preview::Diff(diff) => (diff, true),
            // Nobody is asked for a leave that nothing can come of, unless the answer tells of what may not be read.
            Preview::NoEffect(answer) if self.may_read(accesses) => {
                return Err(answer.map_or_else(|error| envelope_of(&error), Box::new));
            }
            Preview::NoEffect(answer) => {
                (answer.map_or_else(|error| error.to_string(), |envelope| envelope.text), false)
            }
        };
        let clean = |text: &str| self.cx.vault.redact(text, TextSource::of_command(text)).into_owned();
        let always_prefix = self.desk.always_prefix(accesses);
        let question = Question::Approval(ApprovalRequest {
            call_id: call.id.to_string(),
            tool: call.name.to_string(),
            title: clean(&prepared.title()),
            detail: clean(&detail),
            is_diff,
            reason,
            always_prefix: always_prefix.clone(),
        });
        match control.questions.ask(question, &control.cancel).await {
            Some(Answer::Once) => Ok(()),
            Some(Answer::Session) => {
                self.desk.allow_for_session(accesses);
                Ok(())
            }
            Some(Answer::Always) => {
                if let Some(prefix) = always_prefix
                    && let Err(error) = self.desk.allow_always(prefix)
                {
                    let _ = events.send(Event::Notice {
                        level: Level::Warning,
                        text: format!("The rule could not be stored ({error}); it holds for this session."),
                    });
                }
                Ok(())
            }
            Some(Answer::No { note }) => {
                self.denied.fetch_add(1, Ordering::Relaxed);
                Err(denied(&match note.trim() {
                    "" => "the user said no. Don't try it another way; ask or go on without it".to_owned(),
                    note => format!("the user said no: {note}"),
                }))
            }
            Some(Answer::Replies { .. }) | None => Err(never_run()),
        }
    }

    async fn run(
        &self,
        call: &ToolCall,
        admitted: AdmittedCall,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<Envelope, String> {
        if control.cancel.is_cancelled() {
            return Ok(*never_run());
        }
        let mut cx = self.cx_for(call, control, events);
        let AdmittedCall { prepared, command, confinement } = admitted;
        cx.confinement = confinement;
        if let Some(command) = &command {
            self.watch(control, events, Some(command)).await;
        }
        let begun = Instant::now();
        let outcome = tokio::select! {
            outcome = prepared.run(&cx) => Some(outcome),
            () = after(&control.cancel) => None,
        };
        let took = begun.elapsed();
        if command.is_some() {
            self.watch(control, events, None).await;
        }
        let Some(outcome) = outcome else { return Ok(*interrupted()) };
        let mut envelope = match outcome {
            Ok(envelope) => envelope,
            Err(ToolError::Fatal(message)) => return Err(message),
            Err(error @ ToolError::Model { .. }) => *envelope_of(&error),
        };
        envelope.took(took);
        Ok(envelope)
    }

    /// Has the undo journal look at the files before a command (named) and after it.
    async fn watch(&self, control: &TurnControl, events: &Events, before: Option<&str>) {
        let Some(journal) = self.cx.journal.clone() else { return };
        let command = before.map(str::to_owned);
        let looking = Arc::clone(&journal);
        let work = tokio::task::spawn_blocking(move || match command {
            Some(command) => looking.before_command(&command),
            None => looking.after_command(),
        });
        // Looking before may take a moment in a huge tree; who interrupts does not wait for it.
        if before.is_some() {
            tokio::select! {
                _ = work => {}
                () = control.cancel.cancelled() => {}
            }
        } else {
            let _ = work.await;
        }
        for text in journal.take_notices() {
            let _ = events.send(Event::Notice { level: Level::Warning, text });
        }
    }

    /// Surroundings for what is abandoned when the turn is interrupted.
    fn cx_until(&self, control: &TurnControl) -> ToolCx {
        ToolCx { cancel: control.cancel.clone(), ..self.cx.clone() }
    }

    fn cx_for(&self, call: &ToolCall, control: &Arc<TurnControl>, events: &Events) -> ToolCx {
        let mut cx = self.cx.clone();
        cx.cancel = control.cancel.child_token();
        let (events, call_id) = (events.clone(), Arc::clone(&call.id));
        let (vault, place) = (Arc::clone(&cx.vault), TextSource::of_command(&call.args));
        cx.progress = Arc::new(move |tail| {
            let tail = vault.redact(&tail, place).into_owned();
            let _ = events.send(Event::ToolProgress { call_id: Arc::clone(&call_id), tail });
        });
        if self.interactive {
            cx.asker = Some(Arc::new(UserPrompter {
                questions: Arc::clone(&control.questions),
                cancel: control.cancel.clone(),
            }));
        }
        cx
    }

    /// Secrets out, size down.
    fn clean(&self, envelope: &mut Envelope, tool: &str) {
        self.cx.vault.redact_envelope(envelope);
        let keep = if tool == "Bash" { Keep::HeadTail } else { Keep::Head };
        let limits = self.cx.observation;
        let body = std::mem::take(&mut envelope.body);
        let known =
            envelope.data.get("full_output_path").and_then(serde_json::Value::as_str).map(PathBuf::from);
        let cut = match known {
            // The tool has stored the whole: what it shows of that is not worth a file.
            Some(path) if !output::fits(&body, limits) => {
                let body = output::cut(&body, None, keep, Some(&path), limits);
                Truncated { body, cut: true, full_output_path: Some(path) }
            }
            _ => self.spill.truncate(body, keep, limits),
        };
        envelope.body = cut.body;
        if cut.cut && envelope.status == Status::Success {
            envelope.status = Status::Partial;
        }
        if let Some(path) = cut.full_output_path {
            envelope.data.insert("full_output_path".to_owned(), path.to_string_lossy().into_owned().into());
        }
    }

    /// The workspace.
    pub fn root(&self) -> &Arc<PathBuf> {
        &self.cx.root
    }
}

/// Puts behind a result what happened meanwhile.
fn add_news(envelope: &mut Envelope, news: &[String]) {
    for sentence in news {
        if !envelope.text.is_empty() {
            envelope.text.push_str("; ");
        }
        envelope.text.push_str(sentence);
    }
}

async fn after(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(CLEAN_UP).await;
}

fn envelope_of(error: &ToolError) -> Box<Envelope> {
    Box::new(match error {
        ToolError::Model { code, message } => Envelope::error(*code, message.clone()),
        ToolError::Fatal(message) => Envelope::error(ErrorCode::InternalError, message.clone()),
    })
}

fn denied(message: &str) -> Box<Envelope> {
    Box::new(Envelope::error(ErrorCode::PermissionDenied, message))
}

fn interrupted() -> Box<Envelope> {
    Box::new(Envelope::error(
        ErrorCode::Interrupted,
        "the user interrupted this call; its effect may be partial",
    ))
}

/// Interrupted before it began: nobody has to look for half a change.
fn never_run() -> Box<Envelope> {
    Box::new(Envelope::error(
        ErrorCode::Interrupted,
        "the user interrupted before this call ran; it changed nothing",
    ))
}
