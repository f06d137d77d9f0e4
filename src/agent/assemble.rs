//! Builds an agent's parts from validated settings and starts its engine. Only this file knows all the parts.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::calls::dispatcher::Dispatcher;
use super::control::Questions;
use super::deps::{EngineDeps, Ports};
use super::engine::Engine;
use super::hooks::agent_hooks::AgentHooks;
use super::maintainer::Maintainer;
use super::parts::Agent;
use super::sampling::metered;
use super::sampling::sampler::Sampler;
use super::session::conversation::Conversation;
use super::session::prompts::Prompts;
use super::session::reopen::{self, ReopenedSession};
use super::sub_agents::runner::SubAgentRunner;
use super::sub_agents::template::AgentTemplate;
use super::toolset::context::{ToolParts, ToolSetup};
use super::toolset::tools::{self as toolset, toolset};
use super::turn::additions::notes;
use super::turn::additions::skills::SkillHints;
use super::turn::input::message::TurnInput;
use super::turn::input::prompt_expansion::PromptExpander;
use super::turn::limits::TurnLimits;
use super::window::context_window::ContextWindow;
use super::window::fixed_prompt::{FixedPrompt, PromptReader};
use base::config::files::load::Loaded;
use base::config::settings::{Permission, TINY_WINDOW_TOKENS};
use base::config::trusted::held_back::HeldBack;
use base::config::trusted::json_files;
use base::deadline::Deadline;
use base::model::provider::Provider;
use base::model::request::Params;
use base::process::task;
use base::protocol::event::{Event, Level};
use base::protocol::host::HostProgram;
use base::protocol::notice as texts;
use base::protocol::op::Op;
use context::rules::project_rules::ProjectRules;
use context::session::journal::blobs;
use context::session::journal::recorder::Journal;
use context::session::log::LogError;
use context::session::record::BegunWith;
use evidence::retriever::ContextRetriever;
use guard::policy::flag_rules::FlagRules;
use provider::registry::SwitchableProvider;
use tools::api::TypedTool as _;
use tools::hook::event::HookEvent;
use tools::mcp::typed;
use tools::plan::task::Task;
use tools::ports::EditorFiles;
use tools::run::services::Services;
use tools::{own_agents, own_commands, registry};

/// What a run's flags allow it to do and cost, including its sub-agents and the roles of a build.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    pub rules: FlagRules,
    pub begun: BegunWith,
    pub max_cost: Option<f64>,
    pub deadline: Option<Deadline>,
    /// Services that the model starts may outlive the run.
    pub keep: bool,
    /// The JSON Schema that the answer must match.
    pub schema: Option<Arc<Value>>,
    pub review: bool,
}

pub struct Setup {
    pub loaded: Loaded,
    pub provider: Arc<dyn Provider>,
    /// The configured model, or that of a discovered server.
    pub model: Arc<str>,
    /// Absolute and canonical.
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    /// Our configuration and state folders, hidden from commands.
    pub own_folders: Vec<PathBuf>,
    pub interactive: bool,
    pub resume: Option<PathBuf>,
    pub limits: RunLimits,
    /// The editor that shows and writes files. Its user has no composer of ours to return text to.
    pub editor: Option<Arc<dyn EditorFiles>>,
    /// The host program, which runs hooks and MCP servers itself.
    pub host: Option<Arc<dyn HostProgram>>,
    pub ports: Ports,
    pub instructions: String,
    /// The id of a new session; `None` to generate one.
    pub session_id: Option<String>,
}

/// Unbounded queues: the engine must never wait for a slow terminal, and at most one (limited) reply piles up.
pub struct Handle {
    pub ops: mpsc::UnboundedSender<Op>,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub session: String,
    /// Ends once the engine has written everything.
    pub task: tokio::task::JoinHandle<()>,
}

pub fn start(setup: Setup) -> Result<Handle, LogError> {
    let (op_sender, op_receiver) = mpsc::unbounded_channel();
    let (event_sender, event_receiver) = mpsc::unbounded_channel();
    let source = if setup.resume.is_some() { "resume" } else { "startup" };
    let mut engine = engine(setup, event_sender)?;
    let session = engine.agent.conversation.id.clone();
    let task = task::spawn(async move {
        engine.deps.tools.originals.follow(engine.agent.conversation.log_path());
        engine.agent.restore_tools().await;
        engine.agent.begin_session().await;
        let chosen = engine.agent.conversation.chosen_model.clone();
        engine.use_chosen_model(chosen).await;
        let cx = engine.agent.dispatcher.cx.clone();
        task::detached(move || {
            cx.spill.clean();
            if let Some(journal) = cx.journal {
                blobs::clean(journal.folder());
            }
        });
        // Warm up the index while the user types.
        let wanted = engine.deps.interactive && engine.agent.input.task_context.is_some();
        if let Some(retriever) = engine.agent.dispatcher.cx.evidence.clone().filter(|_| wanted) {
            task::detached(move || retriever.warm());
        }
        engine.run(op_receiver, source).await;
    });
    Ok(Handle { ops: op_sender, events: event_receiver, session, task })
}

fn engine(setup: Setup, events: mpsc::UnboundedSender<Event>) -> Result<Engine, LogError> {
    let (loaded, workspace, limits) = (&setup.loaded, &setup.workspace, &setup.limits);
    let current = Arc::new(SwitchableProvider::new(Arc::clone(&setup.provider)));
    let provider = metered::limited(Arc::clone(&current) as Arc<dyn Provider>, limits.max_cost);
    let ReopenedSession { conversation, notices: reopened } = setup.conversation()?;
    let mut backlog = Vec::new();
    if setup.resume.is_some() {
        let entries = conversation.state.history.entries();
        backlog.push(Event::History(entries.iter().map(|entry| Arc::clone(&entry.item)).collect()));
    }
    let (mut dispatcher, mut tools) = setup.toolset(workspace, setup.interactive, setup.host.clone());
    let mut notices = loaded.notices.clone();
    notices.extend(json_files::not_used_news(workspace, &setup.project_state));
    notices.extend(reopened.into_iter().chain(std::mem::take(&mut tools.unusable)));
    let servers: Vec<String> = tools.servers.all().iter().map(|server| server.name.clone()).collect();
    notices.extend(
        limits.rules.denied_servers_unlike(&servers).iter().map(|rule| texts::denies_no_server(rule)),
    );
    let cx = &mut dispatcher.cx;
    if loaded.work.inject_notes.is_some() {
        let root = workspace.clone();
        let mut retriever = ContextRetriever::new(workspace, &setup.project_state).with_folders(&cx.folders);
        retriever.hints = Some(Box::new(move |files: &[String]| notes::hints(&root, files)));
        cx.evidence = Some(Arc::new(retriever));
    }
    cx.journal = Some(Arc::new(Journal::new(&setup.project_state, workspace)));
    cx.editor.clone_from(&setup.editor);
    cx.deadline = limits.deadline;
    cx.services = limits.keep.then(|| Arc::new(Services::new(&setup.project_state)));
    if dispatcher.cx.services.is_some() {
        dispatcher.describe(toolset::with_keep);
    }
    if loaded.work.patch_tool && setup.model.contains("gpt-") {
        dispatcher.describe(registry::with_patch);
    }
    if !dispatcher.cx.denied.is_empty() && !dispatcher.policy.can_mask(setup.interactive) {
        notices.push(texts::DENIED_BY_WORDS_ONLY.to_owned());
    }
    if loaded.web.search && dispatcher.cx.web.searcher.is_none() {
        notices.push(texts::NO_WEB_SEARCH.to_owned());
    }
    let (own_agents, unusable) = own_agents::read(&loaded.own.agents);
    notices.extend(unusable);
    let (own_commands, unusable) = own_commands::read(&loaded.own.commands);
    notices.extend(unusable);
    let rows = own_commands.iter().map(|command| command.row.clone());
    let rows = rows
        .chain(own_commands::rows_of(&tools.skills, &own_commands))
        .chain(typed::commands(&tools.servers));
    backlog.push(Event::Commands(rows.collect()));
    let own = own_agents::described(&own_agents);
    dispatcher.describe(|specs| toolset::described(specs, Task::NAME, &own));
    let (hooks, unusable) = AgentHooks::new(&loaded.own.hooks, &dispatcher.cx, &dispatcher.policy, &events);
    notices.extend(unusable);
    dispatcher.hooks.clone_from(&hooks);
    backlog.extend(notices.into_iter().map(|text| Event::Notice { level: Level::Warning, text }));
    let rules = ProjectRules::new(
        HeldBack::new(&setup.project_state),
        &loaded.config,
        Arc::clone(&dispatcher.cx.denied),
    );
    let reader = PromptReader {
        chat: setup.interactive,
        deadline: limits.deadline.is_some(),
        reviewed: limits.review,
        keeps: dispatcher.cx.services.is_some(),
        network: loaded.work.permission == Permission::Full || !loaded.work.sandbox,
        ..PromptReader::default()
    };
    let part = told_folders(&loaded.work.folders, setup.instructions.clone());
    let mut prompt = FixedPrompt::new(reader, &part, dispatcher.specs(), rules);
    prompt.answer_schema.clone_from(&limits.schema);
    let params = params(loaded, Arc::clone(&setup.model));
    let questions = Arc::new(Questions::new(events.clone()));
    if let Some(hooks) = hooks.clone().filter(|hooks| hooks.wants(HookEvent::Notification)) {
        questions.on_wait(Box::new(move |question| {
            let hooks = Arc::clone(&hooks);
            task::spawn(async move { hooks.waits_for_user(Some(&question)).await });
        }));
    }
    let mut window = ContextWindow::new(loaded.context.clone(), prompt);
    window.compactor.hooks.clone_from(&hooks);
    let template = setup.template(Arc::clone(&provider), &dispatcher, &tools, hooks);
    let sub_agents = SubAgentRunner::new(AgentTemplate { own_agents, ..template }, &questions, &params);
    dispatcher.cx.sub_agents = Some(Arc::new(sub_agents));
    let cx = dispatcher.cx.clone();
    let redactor = Arc::clone(&cx.redactor);
    let prompts = Prompts::new(loaded.prompts.clone(), &setup.project_state, workspace, redactor);
    let agent = Agent {
        conversation,
        window,
        sampler: Sampler { provider, params, light_model: loaded.work.light_model.clone() },
        dispatcher,
        input: TurnInput {
            inject_notes: loaded.work.inject_notes,
            task_context: loaded.work.task_context,
            asked: PromptExpander {
                commands: own_commands.into(),
                servers: Some(Arc::clone(&tools.servers)),
            },
            offers: SkillHints::of(&tools.skills),
            no_composer: setup.editor.is_some(),
            ..TurnInput::default()
        },
        limits: TurnLimits {
            max_steps: loaded.work.max_steps,
            max_tokens: None,
            deadline: limits.deadline,
            nudges: loaded.work.nudges,
            has_schema: limits.schema.is_some(),
            review: limits.review,
        },
    };
    let Setup { loaded, project_state, interactive, ports: Ports { exporter, .. }, .. } = setup;
    let deps =
        EngineDeps { loaded, current, project_state, interactive, cx, tools, prompts, questions, exporter };
    Ok(Engine {
        agent,
        deps,
        events,
        backlog,
        deferred: VecDeque::new(),
        maintainer: Maintainer::default(),
        turn_ended: false,
    })
}

fn told_folders(folders: &[PathBuf], instructions: String) -> String {
    if folders.is_empty() {
        return instructions;
    }
    let list: Vec<String> = folders.iter().map(|folder| format!("- {}", folder.display())).collect();
    format!(
        "The user also wants you to work in these folders; name their files by absolute paths:\n{}\n\n{instructions}",
        list.join("\n")
    )
}

fn params(loaded: &Loaded, model: Arc<str>) -> Params {
    let settings = loaded.provider.as_ref();
    Params {
        model,
        max_output_tokens: settings.and_then(|s| s.max_output_tokens),
        temperature: settings.and_then(|s| s.temperature),
        reasoning_effort: settings.and_then(|s| s.reasoning_effort.clone()),
        verbosity: settings.and_then(|s| s.verbosity.clone()),
        ..Params::default()
    }
}

/// The session of a build's roles, and the runner for its sub-agents.
pub struct RoleSession {
    pub conversation: Conversation,
    pub agents: FolderAgents,
    pub setup: Setup,
}

pub struct FolderAgents {
    pub runner: Arc<SubAgentRunner>,
    /// For commands that no model requested.
    pub dispatcher: Dispatcher,
}

impl Setup {
    fn conversation(&self) -> Result<ReopenedSession, LogError> {
        if let Some(path) = &self.resume {
            return reopen::restore(&self.project_state, &self.workspace, path);
        }
        let mut conversation = Conversation::new(&self.project_state, &self.workspace);
        conversation.id = self.session_id.clone().unwrap_or(conversation.id);
        conversation.begun = self.limits.begun.clone();
        conversation.begun.read_only = self.loaded.work.permission == Permission::ReadOnly;
        conversation.headless = !self.interactive;
        Ok(ReopenedSession { conversation, notices: Vec::new() })
    }

    fn toolset(
        &self,
        folder: &Path,
        interactive: bool,
        host: Option<Arc<dyn HostProgram>>,
    ) -> (Dispatcher, ToolParts) {
        toolset(ToolSetup {
            loaded: &self.loaded,
            workspace: folder,
            project_state: &self.project_state,
            own_folders: &self.own_folders,
            flags: self.limits.rules.clone(),
            interactive,
            // Decided once, because L1 (the fixed prompt) never changes within a session.
            small_window: self.loaded.context.window_tokens < TINY_WINDOW_TOKENS,
            host,
        })
    }

    fn template(
        &self,
        provider: Arc<dyn Provider>,
        dispatcher: &Dispatcher,
        tools: &ToolParts,
        hooks: Option<Arc<AgentHooks>>,
    ) -> AgentTemplate {
        AgentTemplate {
            loaded: self.loaded.clone(),
            provider,
            policy: Arc::clone(&dispatcher.policy),
            project_state: self.project_state.clone(),
            own_folders: self.own_folders.clone(),
            interactive: dispatcher.interactive,
            own_agents: Vec::new(),
            skills: Arc::clone(&tools.skills),
            hooks,
            sources: tools.sources.clone(),
            flags: self.limits.rules.clone(),
            trees: self.ports.trees,
        }
    }

    /// Headless sub-agents for `folder`, without an undo journal.
    pub fn agents_in(&self, folder: &Path) -> FolderAgents {
        let (dispatcher, tools) = self.toolset(folder, false, None);
        let (silent, _) = mpsc::unbounded_channel();
        let own = &self.loaded.own.hooks;
        let (hooks, _) = AgentHooks::new(own, &dispatcher.cx, &dispatcher.policy, &silent);
        let template = self.template(Arc::clone(&self.provider), &dispatcher, &tools, hooks);
        let params = params(&self.loaded, Arc::clone(&self.model));
        let runner = SubAgentRunner::new(template, &Arc::new(Questions::new(silent)), &params);
        FolderAgents { runner: Arc::new(runner), dispatcher }
    }
}

pub fn roles(mut setup: Setup) -> Result<RoleSession, LogError> {
    setup.provider = metered::limited(setup.provider, setup.limits.max_cost);
    let conversation = setup.conversation()?.conversation;
    let mut agents = setup.agents_in(&setup.workspace);
    let journal = Journal::new(&setup.project_state, &setup.workspace);
    journal.open(&conversation.id);
    agents.dispatcher.cx.journal = Some(Arc::new(journal));
    Ok(RoleSession { conversation, agents, setup })
}
