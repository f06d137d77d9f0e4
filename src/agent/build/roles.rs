//! Runs the roles of a build: each is a sub-agent, and its parts are turns of the build's session, so that
//! `mycode rewind`, `mycode report` and a resumed chat include them.

use std::sync::Arc;
use std::time::Instant;

use crate::assemble::{FolderAgents, RoleSession};
use crate::build::progress::{BuildEvent, Show};
use crate::build::prompts;
use base::clock;
use base::model::item::{Item, UserMessage};
use base::protocol::event::{EndReason, TurnEnd};
use base::text::one_line;
use context::session::list;
use context::session::log::{self, LogError};
use tools::cx::{SubAgents as _, ToolCx};
use tools::sub_agent::{SubReport, SubTask};

#[derive(Debug)]
pub enum Stop {
    Role { part: String, end: EndReason },
    Failed { message: String, hint: String },
    Paused(&'static str),
    NothingChanged,
}

impl Stop {
    pub fn failed(message: impl ToString, hint: impl Into<String>) -> Self {
        Self::Failed { message: message.to_string(), hint: hint.into() }
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Role { part, .. } => write!(f, "{part} could not be done"),
            Self::Failed { message, .. } => f.write_str(message),
            Self::Paused(stage) => write!(f, "paused after {stage}"),
            Self::NothingChanged => f.write_str("nothing changed"),
        }
    }
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Self {
        Self::failed(error, "check the disk space and the state folder")
    }
}

pub struct RoleTask {
    pub role: &'static str,
    /// Its name in the build; must be the same after a resume.
    pub name: String,
    /// One line on what to do; empty if the name says it.
    pub about: String,
    pub prompt: String,
    pub elsewhere: Option<FolderAgents>,
    pub start: RoleStart,
}

#[derive(Clone, Debug, Default)]
pub enum RoleStart {
    /// Continues the session that an earlier run began for a part of this name, or starts one.
    #[default]
    Resume,
    Fresh,
    /// Continues this session with the part's prompt.
    In(String),
}

impl RoleTask {
    pub fn new(role: &'static str, name: impl Into<String>, prompt: String) -> Self {
        Self {
            role,
            name: name.into(),
            about: String::new(),
            prompt,
            elsewhere: None,
            start: RoleStart::Resume,
        }
    }
}

pub struct Roles {
    pub session: RoleSession,
    pub show: Show,
    begun: Instant,
}

impl Roles {
    pub fn new(session: RoleSession, show: Show) -> Self {
        Self { session, show, begun: Instant::now() }
    }

    /// Runs one part, or resumes it if an earlier run was interrupted.
    pub async fn work(&mut self, part: RoleTask) -> Result<SubReport, Stop> {
        let mut reports = self.work_together(vec![part]).await?;
        reports.pop().unwrap_or_else(|| Err(Stop::failed("nothing was done", "run the build again")))
    }

    /// Runs parts in parallel, as one turn of the session.
    pub async fn work_together(
        &mut self,
        parts: Vec<RoleTask>,
    ) -> Result<Vec<Result<SubReport, Stop>>, Stop> {
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        self.begin(&turn_title(&names))?;
        let RoleSession { conversation, agents, setup } = &mut self.session;
        let state = log::agents_of(&setup.project_state);
        let session = conversation.id.clone();
        let cancel = agents.dispatcher.cx.cancel.clone();
        let running = parts.iter().map(|part| {
            self.show.say(&BuildEvent::PartStarted { part: &part.name, role: part.role, about: &part.about });
            let (resume, prompt) = match &part.start {
                RoleStart::Resume => match list::made_for(&state, &session, &part.name) {
                    Some(id) => (Some(id), prompts::GO_ON.to_owned()),
                    None => (None, part.prompt.clone()),
                },
                RoleStart::Fresh => (None, part.prompt.clone()),
                RoleStart::In(id) => (Some(id.clone()), part.prompt.clone()),
            };
            let task = SubTask { kind: part.role.to_owned(), prompt, resume, ..SubTask::default() };
            let agents = part.elsewhere.as_ref().unwrap_or(agents);
            agents.runner.begin_session(&session);
            let (show, name) = (self.show.clone(), part.name.clone());
            let cx = ToolCx {
                call_id: part.name.as_str().into(),
                cancel: cancel.clone(),
                progress: Arc::new(move |line| show.say(&BuildEvent::Progress { part: &name, line: &line })),
                ..agents.dispatcher.cx.clone()
            };
            let agents = Arc::clone(&agents.runner);
            async move { agents.run(task, &cx).await }
        });
        let reports = futures_util::future::join_all(running).await;
        let mut outcomes = Vec::with_capacity(parts.len());
        let (mut reason, mut steps) = (EndReason::Done, 0);
        for (part, report) in parts.iter().zip(reports) {
            let report = match report {
                Ok(report) => report,
                Err(message) => {
                    outcomes.push(Err(Stop::failed(message, "run the build again with --resume")));
                    continue;
                }
            };
            let said = if report.answer.is_empty() { "(no answer)" } else { &report.answer };
            conversation.record(Item::assistant(said))?;
            steps += report.steps;
            conversation.add_side_usage(&report.model, &report.usage)?;
            self.show.say(&BuildEvent::PartDone {
                part: &part.name,
                agent: &report.id,
                steps: report.steps,
                end: &report.end,
                usage: &report.usage,
                changed: &report.changed,
                early: report.ended_early(),
            });
            if report.end == EndReason::Done {
                outcomes.push(Ok(report));
            } else {
                reason = report.end.clone();
                outcomes.push(Err(Stop::Role { part: part.name.clone(), end: report.end }));
            }
        }
        self.end("", reason, steps)?;
        Ok(outcomes)
    }

    pub fn begin(&mut self, title: &str) -> Result<(), Stop> {
        let RoleSession { conversation, agents, .. } = &mut self.session;
        let id = conversation.record(Item::User(UserMessage::new(title)))?.0;
        if let Some(journal) = &agents.dispatcher.cx.journal {
            journal.begin_turn(id.0, &one_line(title, 200));
        }
        self.begun = Instant::now();
        Ok(())
    }

    pub fn end(&mut self, said: &str, reason: EndReason, steps: u32) -> Result<(), Stop> {
        let conversation = &mut self.session.conversation;
        if !said.is_empty() {
            conversation.record(Item::assistant(said))?;
        }
        conversation.close_unanswered()?;
        let elapsed_ms = clock::milliseconds(self.begun.elapsed());
        conversation.end_turn(TurnEnd { reason, steps, elapsed_ms, ..TurnEnd::default() })?;
        Ok(())
    }
}

pub fn turn_title(parts: &[&str]) -> String {
    format!("{} of the build", parts.join(", "))
}
