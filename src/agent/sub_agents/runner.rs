//! Runs one sub-agent: an agent like its parent with fewer tools, in its own stored session. The parent's
//! window contains only its report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::template::{AgentTemplate, AgentTree};
use crate::control::{Questions, TurnControl};
use crate::session::conversation::Conversation;
use crate::session::reopen;
use crate::turn::run::Turn;
use base::model::facts::Touch;
use base::model::request::Params;
use base::process::task;
use base::protocol::event::{EndReason, Event};
use base::text::{human_tokens, one_line, plural};
use context::session::list;
use context::session::log::{self, SessionLog};
use context::session::record::ParentCall;
use tools::agent_types::{self, AgentType, TYPES};
use tools::cx::{SubAgents, ToolCx};
use tools::sub_agent::{ParentTurn, SubReport, SubTask};

pub const WAITS: &str = "waiting: ";

pub struct SubAgentRunner {
    template: AgentTemplate,
    questions: Arc<Questions>,
    state: PathBuf,
    parent: Mutex<ParentTurn>,
}

impl SubAgentRunner {
    pub fn new(template: AgentTemplate, questions: &Arc<Questions>, params: &Params) -> Self {
        let settings = template.loaded.context.clone();
        let parent = ParentTurn { params: params.clone(), settings, session: String::new() };
        Self {
            state: log::agents_of(&template.project_state),
            template,
            questions: Arc::clone(questions),
            parent: Mutex::new(parent),
        }
    }

    pub fn begin_session(&self, id: &str) {
        id.clone_into(&mut self.parent.lock().session);
    }

    async fn work(&self, task: SubTask, cx: &ToolCx) -> Result<SubReport, String> {
        let own = &self.template.own_agents;
        // A plugin may refer to its own agent types as `plugin:name`.
        let plain = task.kind.rsplit(':').next().unwrap_or_default();
        let named =
            |name: &str| agent_types::find(name).or_else(|| own.iter().find(|kind| kind.name == name));
        let kind = named(&task.kind).or_else(|| named(plain));
        let kind = kind.ok_or_else(|| unknown_type(&task.kind, own))?;
        let earlier = self.earlier(task.resume.clone()).await?;
        let (tree, id) = self.tree(&task, kind, earlier.as_deref(), cx).await?;
        let Some(tree) = tree else {
            return self.run_in(&self.template, kind, task, (id, earlier), cx).await;
        };
        let (template, own) = self.template.in_folder(tree.folder());
        let own = ToolCx {
            cancel: cx.cancel.clone(),
            progress: Arc::clone(&cx.progress),
            call_id: Arc::clone(&cx.call_id),
            deadline: cx.deadline,
            ..own
        };
        let title = task.prompt.clone();
        let mut report = Box::pin(self.run_in(&template, kind, task, (id, earlier), &own)).await;
        own.language_servers.stop().await;
        if let Ok(report) = &mut report {
            // In a separate task, so that an interrupted call doesn't cancel it.
            let ending = task::spawn(tree.end(title, report.end == EndReason::Done));
            report.left = ending.await.unwrap_or_else(|error| error.to_string());
        }
        report
    }

    async fn tree(
        &self,
        task: &SubTask,
        kind: &AgentType,
        earlier: Option<&Path>,
        cx: &ToolCx,
    ) -> Result<(Option<Box<dyn AgentTree>>, String), String> {
        let stem = earlier.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
        let is_new = task.own_tree || kind.own_tree || task.background && !kind.only_reads;
        let id = stem.unwrap_or_else(log::new_id);
        if !is_new && earlier.is_none() {
            return Ok((None, id));
        }
        let opened = (self.template.trees)(cx.root.to_path_buf(), id.clone(), is_new).await;
        let why = |why| {
            format!(
                "it can't have a worktree: {why}. Without isolation and background it works in your files"
            )
        };
        Ok((opened.map_err(why)?, id))
    }

    async fn run_in(
        &self,
        template: &AgentTemplate,
        kind: &AgentType,
        task: SubTask,
        (id, earlier): (String, Option<PathBuf>),
        cx: &ToolCx,
    ) -> Result<SubReport, String> {
        let conversation = self.conversation(&id, earlier, cx).await?;
        let parent = {
            let parent = self.parent.lock();
            (parent.params.clone(), parent.settings.clone())
        };
        let mut agent = template.agent(kind, task.light, parent, conversation, cx)?;
        if let Some((steps, tokens)) = task.at_most {
            agent.limits.max_steps = steps;
            agent.limits.max_tokens = Some(tokens);
        }
        let root = Arc::clone(&cx.root);
        agent.window.open(&mut agent.conversation, &agent.sampler.params, &root).await;
        let before = agent.conversation.usage.total;
        let (sender, mut events) = mpsc::unbounded_channel();
        let name = Some(kind.name.to_string());
        let control = TurnControl::within(&self.questions, &sender, cx.cancel.clone(), name);
        drop(sender);
        let (sink, kind_name) = (Arc::clone(&cx.progress), kind.name.clone());
        let questions = Arc::clone(&self.questions);
        let watching = task::spawn(async move {
            let mut progress = AgentProgress::default();
            while let Some(event) = events.recv().await {
                if let Event::Notice { level, text } = &event {
                    questions.pass_on(&kind_name, *level, text);
                }
                if progress.take(&event) {
                    sink(progress.line(&kind_name));
                }
            }
            progress
        });
        let control = Arc::new(control);
        let end = Turn::new(&mut agent, &control).run(task.prompt).await;
        drop(control);
        agent.dispatcher.cx.shell.jobs.stop_all().await;
        let (read, changed) = watching.await.unwrap_or_default().files();
        let window = agent.window.state(&agent.conversation);
        let answer = agent.conversation.last_said().map(|said| said.trim().to_owned());
        Ok(SubReport {
            id,
            answer: answer.unwrap_or_default(),
            steps: end.steps,
            end: end.reason,
            window_tokens: window.used_tokens,
            model: Arc::clone(&agent.sampler.params.model),
            usage: agent.conversation.usage.total.since(before),
            read,
            changed,
            left: String::new(),
            checked: agent.conversation.facts.work.checks().next().is_some(),
            failed_check: agent.conversation.facts.work.failed_check(),
        })
    }

    async fn earlier(&self, resume: Option<String>) -> Result<Option<PathBuf>, String> {
        let (Some(id), state) = (resume, self.state.clone()) else { return Ok(None) };
        let found = task::blocking(move || {
            let path = list::find(&state, &id).map_err(|_| format!("there is no agent {id} to resume"))?;
            // An agent that is still running can't share its worktree.
            let free = SessionLog::open(&path).map(drop);
            free.map(|()| path).map_err(|error| format!("agent {id} can't continue: {error}"))
        });
        found.await.map_err(|error| error.to_string())?.map(Some)
    }

    async fn conversation(
        &self,
        id: &str,
        earlier: Option<PathBuf>,
        cx: &ToolCx,
    ) -> Result<Conversation, String> {
        let (state, root) = (self.state.clone(), Arc::clone(&cx.root));
        let Some(path) = earlier else {
            let mut new = Conversation::new(&state, &root);
            id.clone_into(&mut new.id);
            let session = self.parent.lock().session.clone();
            new.parent = Some(ParentCall { session, call_id: cx.call_id.to_string() });
            return Ok(new);
        };
        let opened = task::blocking(move || reopen::restore(&state, &root, &path)).await;
        let opened = opened.map_err(|error| error.to_string())?;
        Ok(opened.map_err(|error| format!("agent {id} can't continue: {error}"))?.conversation)
    }
}

impl SubAgents for SubAgentRunner {
    fn begin(&self, parent: ParentTurn) {
        *self.parent.lock() = parent;
    }

    fn run<'a>(&'a self, task: SubTask, cx: &'a ToolCx) -> BoxFuture<'a, Result<SubReport, String>> {
        Box::pin(self.work(task, cx))
    }
}

fn unknown_type(name: &str, own: &[AgentType]) -> String {
    let names: Vec<&str> = TYPES.iter().chain(own).map(|kind| &*kind.name).collect();
    format!("there is no type {name}. Types: {}", names.join(", "))
}

#[derive(Default)]
struct AgentProgress {
    steps: usize,
    tokens: u64,
    doing: String,
    titles: BTreeMap<Arc<str>, String>,
    read: BTreeMap<String, u64>,
    changed: BTreeSet<String>,
}

impl AgentProgress {
    fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::ToolStarted { call_id, title, .. } => {
                self.titles.insert(Arc::clone(call_id), title.clone());
                self.doing.clone_from(title);
            }
            Event::ToolDone { id, result } => {
                self.titles.remove(&result.call_id);
                match result.envelope.data.touched() {
                    _ if result.envelope.error.is_some() => {}
                    Some((path, Touch::Read)) => {
                        self.read.entry(path.to_owned()).or_insert(id.0);
                    }
                    Some((path, Touch::Created | Touch::Written | Touch::Edited)) => {
                        self.changed.insert(path.to_owned());
                    }
                    _ => {}
                }
                self.doing = self.titles.values().next().cloned().unwrap_or_else(|| "thinking".to_owned());
            }
            Event::Retrying { reason, .. } => self.doing = format!("{WAITS}{}", one_line(reason, 200)),
            Event::Window(window) => {
                self.steps += 1;
                self.tokens = window.used_tokens;
            }
            _ => return false,
        }
        true
    }

    /// Such as `explore: 4 requests · 12.3k tokens · Read src/a.rs`.
    fn line(&self, kind: &str) -> String {
        let steps = plural(self.steps, "request");
        format!("{kind}: {steps} · {} tokens · {}", human_tokens(self.tokens), self.doing)
    }

    /// The files it read, each with its item, and the files it changed.
    fn files(self) -> (Vec<(String, u64)>, Vec<String>) {
        (self.read.into_iter().collect(), self.changed.into_iter().collect())
    }
}
