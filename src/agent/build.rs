//! Makes the parts of an agent from validated settings and starts its engine. The only place that knows all of them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::calls::dispatcher::Dispatcher;
use super::calls::policy_engine::PolicyEngine;
use super::control::Questions;
use super::deps::EngineDeps;
use super::engine::Engine;
use super::maintainer::Maintainer;
use super::parts::Agent;
use super::sampling::sampler::Sampler;
use super::session::conversation::Conversation;
use super::session::prompts::Prompts;
use super::session::recall::LogOriginals;
use super::session::reopen;
use super::session::review::Reviewer;
use super::sub_agents::runner::SubAgentRunner;
use super::sub_agents::template::AgentTemplate;
use super::turn::asked::Asked;
use super::turn::input::TurnInput;
use super::turn::notes::NoteHints;
use super::window::context_window::ContextWindow;
use super::window::fixed_prompt::FixedPrompt;
use crate::config::load::Loaded;
use crate::config::settings::TINY_WINDOW_TOKENS;
use crate::config::trusted::held_back::HeldBack;
use crate::context::rules::project_rules::ProjectRules;
use crate::evidence::retriever::ContextRetriever;
use crate::mcp::client::connector::Place;
use crate::mcp::servers::{self, Servers};
use crate::mcp::source::McpSource;
use crate::mcp::typed;
use crate::model::request::Params;
use crate::policy::rules::Rules;
use crate::protocol::event::{Event, Level};
use crate::protocol::op::Op;
use crate::provider::api::Provider;
use crate::sandbox::session::Sandbox;
use crate::session::journal::blobs;
use crate::session::journal::recorder::Journal;
use crate::session::list;
use crate::session::log::LogError;
use crate::tool::api::TypedTool as _;
use crate::tool::cx::{SubAgents as _, ToolCx};
use crate::tool::on_demand::source::ToolSource;
use crate::tool::on_demand::toolbox;
use crate::tool::output::Spill;
use crate::tool::own_agents;
use crate::tool::own_commands;
use crate::tool::plan::task::Task;
use crate::tool::sub_agent::ParentTurn;

/// What an agent is made from.
pub struct Setup {
    pub loaded: Loaded,
    pub provider: Arc<dyn Provider>,
    /// Of the request; the settings' model unless a server was found by asking around.
    pub model: Arc<str>,
    /// Absolute and canonical.
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    /// Our own folders (configuration, state), which no command may see.
    pub own_folders: Vec<PathBuf>,
    /// Whether somebody can answer questions.
    pub interactive: bool,
    /// The log of a session to continue.
    pub resume: Option<PathBuf>,
}

/// The two queues of a running agent. They have no bound: operations come no faster than a user's keys, and the engine
/// must never wait for a slow terminal; what piles up while one is stopped is the text of a single reply, which has a
/// limit of its own (`turn/repetition_guard.rs`).
pub struct Handle {
    pub ops: mpsc::UnboundedSender<Op>,
    pub events: mpsc::UnboundedReceiver<Event>,
    /// The id of the session.
    pub session: String,
    /// Ends when the engine has written everything.
    pub task: tokio::task::JoinHandle<()>,
}

/// Starts an agent.
///
/// # Errors
/// When the session to continue cannot be opened.
pub fn start(setup: Setup) -> Result<Handle, LogError> {
    let (op_sender, op_receiver) = mpsc::unbounded_channel();
    let (event_sender, event_receiver) = mpsc::unbounded_channel();
    let mut engine = engine(setup, event_sender)?;
    let session = engine.agent.conversation.id.clone();
    let task = tokio::spawn(async move {
        engine.deps.originals.follow(engine.agent.conversation.log_path());
        engine.agent.restore_tools().await;
        engine.agent.begin_session().await;
        let chosen = engine.agent.conversation.chosen_model().cloned();
        engine.use_chosen_model(chosen).await;
        let cx = engine.agent.dispatcher.cx.clone();
        tokio::task::spawn_blocking(move || {
            cx.spill.clean();
            if let Some(journal) = cx.journal {
                blobs::clean(journal.folder());
            }
        });
        // While the user types, the index may get ready for the first task.
        let wanted = engine.deps.interactive && engine.agent.input.task_context.is_some();
        if let Some(retriever) = engine.agent.dispatcher.cx.evidence.clone().filter(|_| wanted) {
            tokio::task::spawn_blocking(move || retriever.warm());
        }
        engine.run(op_receiver).await;
    });
    Ok(Handle { ops: op_sender, events: event_receiver, session, task })
}

fn engine(setup: Setup, events: mpsc::UnboundedSender<Event>) -> Result<Engine, LogError> {
    let Setup { loaded, provider, model, workspace, project_state, own_folders, interactive, resume } = setup;
    let mut notices = loaded.notices.clone();
    let mut backlog = Vec::new();
    let conversation = match &resume {
        None => Conversation::new(&project_state, &workspace),
        Some(path) => {
            let reopened = reopen::restore(&project_state, &workspace, path)?;
            notices.extend(reopened.notices);
            let entries = reopened.conversation.history.entries();
            backlog.push(Event::History(entries.iter().map(|entry| Arc::clone(&entry.item)).collect()));
            reopened.conversation
        }
    };
    let originals = Arc::new(LogOriginals::default());
    // Chosen once: L1 never changes within a session.
    let small_window = loaded.context.window_tokens < TINY_WINDOW_TOKENS;
    let mut retriever = ContextRetriever::new(&workspace, &project_state);
    if loaded.work.inject_notes {
        retriever = retriever.with_hints(Arc::new(NoteHints { root: workspace.clone() }));
    }
    let mut cx = tool_context(&workspace, &project_state, own_folders.clone(), retriever, &originals);
    cx.journal = Some(Arc::new(Journal::new(&project_state, &workspace)));
    // Our own key is a secret wherever it turns up.
    if let Some(key) = loaded.provider.as_ref().and_then(|settings| settings.api_key.as_ref()) {
        cx.redactor.know(key.expose());
    }
    let (servers, unusable) = servers_of(&cx, &loaded, &own_folders);
    notices.extend(unusable);
    let sources = sources(&servers);
    let mut dispatcher =
        dispatcher(cx, &loaded, &project_state, &own_folders, interactive, small_window, &sources);
    notices.extend(dispatcher.policy.damage());
    let (own_agents, unusable) = own_agents::read(&loaded.own.agents);
    notices.extend(unusable);
    let (own_commands, unusable) = own_commands::read(&loaded.own.commands);
    notices.extend(unusable);
    let rows = own_commands.iter().map(|command| command.row.clone());
    backlog.push(Event::Commands(rows.chain(typed::commands(&servers)).collect()));
    dispatcher.describe(Task::NAME, &own_agents::described(&own_agents));
    backlog.extend(notices.into_iter().map(|text| Event::Notice { level: Level::Warning, text }));
    let rules = ProjectRules::new(HeldBack::new(&project_state));
    let prompt = FixedPrompt::new("", dispatcher.specs(), rules);
    let params = params(&loaded, model);
    let questions = Arc::new(Questions::new(events.clone()));
    let template = AgentTemplate {
        loaded: loaded.clone(),
        provider: Arc::clone(&provider),
        policy: Arc::clone(&dispatcher.policy),
        project_state: project_state.clone(),
        own_folders,
        interactive,
        own_agents,
        sources,
    };
    let sub_agents = SubAgentRunner::new(template, &questions, &params);
    dispatcher.cx.sub_agents = Some(Arc::new(sub_agents));
    let jobs = Arc::clone(&dispatcher.cx.shell.jobs);
    let agent = Agent {
        conversation,
        window: ContextWindow::new(loaded.context.clone(), prompt),
        sampler: Sampler { provider, params, light_model: loaded.work.light_model.clone() },
        dispatcher,
        input: TurnInput {
            inject_notes: loaded.work.inject_notes,
            task_context: loaded.work.task_context,
            asked: Asked { commands: own_commands.into(), servers: Some(Arc::clone(&servers)) },
            ..TurnInput::default()
        },
        max_steps: loaded.work.max_steps,
        max_tokens: None,
    };
    let model_from_flag = loaded.model_flag;
    let cx = &agent.dispatcher.cx;
    let redactor = || Arc::clone(&cx.redactor);
    let reviewer = cx.journal.clone().map(|journal| Reviewer { journal, redactor: redactor() });
    let prompts = Prompts::new(loaded.prompts.clone(), &project_state, &workspace, redactor());
    let deps = EngineDeps {
        loaded,
        workspace,
        project_state,
        interactive,
        originals,
        model_from_flag,
        reviewer,
        jobs,
        prompts,
        questions: Arc::clone(&questions),
        servers: Arc::clone(&servers),
    };
    Ok(Engine {
        agent,
        deps,
        events,
        questions,
        backlog,
        deferred: VecDeque::new(),
        maintainer: Maintainer::default(),
    })
}

fn params(loaded: &Loaded, model: Arc<str>) -> Params {
    let settings = loaded.provider.as_ref();
    Params {
        model,
        max_output_tokens: settings.and_then(|s| s.max_output_tokens),
        temperature: settings.and_then(|s| s.temperature),
        reasoning_effort: settings.and_then(|s| s.reasoning_effort.clone()),
        verbosity: settings.and_then(|s| s.verbosity.clone()),
        long_cache: false,
    }
}

/// What tools work with, without a journal.
fn tool_context(
    workspace: &Path,
    project_state: &Path,
    own_folders: Vec<PathBuf>,
    retriever: ContextRetriever,
    originals: &Arc<LogOriginals>,
) -> ToolCx {
    let spill = Arc::new(Spill::new(project_state.join("tool-output")));
    let readable = vec![spill.folder().to_owned()];
    let mut cx = ToolCx::new(workspace.to_owned(), spill);
    cx.sandbox = Arc::new(Sandbox::new(workspace.to_owned(), own_folders, readable));
    cx.originals = Some(Arc::clone(originals) as _);
    cx.evidence = Some(Arc::new(retriever));
    cx
}

fn dispatcher(
    cx: ToolCx,
    loaded: &Loaded,
    project_state: &Path,
    own_folders: &[PathBuf],
    interactive: bool,
    small_window: bool,
    sources: &[Arc<dyn ToolSource>],
) -> Dispatcher {
    let readable = vec![cx.spill.folder().to_owned()];
    let rules = Rules::load(project_state);
    let policy = PolicyEngine::new(&loaded.work, rules, &cx.root, readable, own_folders);
    Dispatcher::new(cx, Arc::new(policy), toolbox::tools(sources), interactive, small_window)
}

/// The MCP servers of a session, and what is wrong with others.
fn servers_of(cx: &ToolCx, loaded: &Loaded, own_folders: &[PathBuf]) -> (Arc<Servers>, Vec<String>) {
    let (servers, problems) = servers::read(&loaded.own.mcp, loaded.work.sandbox);
    let place = Place {
        root: cx.root.to_path_buf(),
        sandbox: Arc::clone(&cx.sandbox),
        state: own_folders.last().map(|state| state.join("mcp")),
        show: None,
    };
    (Arc::new(Servers::new(servers, place)), problems)
}

/// Where tools come from that are loaded on demand.
fn sources(servers: &Arc<Servers>) -> Vec<Arc<dyn ToolSource>> {
    vec![Arc::new(McpSource(Arc::clone(servers)))]
}

/// The tools without a session, for `mycode tool`: originals come from the project's last session.
pub fn tools_alone(
    loaded: &Loaded,
    workspace: &Path,
    project_state: &Path,
    own_folders: Vec<PathBuf>,
) -> Dispatcher {
    let originals = Arc::new(LogOriginals::default());
    if let Some(path) = list::last(project_state) {
        originals.follow(path);
    }
    let retriever = ContextRetriever::new(workspace, project_state);
    let cx = tool_context(workspace, project_state, own_folders.clone(), retriever, &originals);
    let sources = sources(&servers_of(&cx, loaded, &own_folders).0);
    dispatcher(cx, loaded, project_state, &own_folders, false, false, &sources)
}

/// What sub-agents without a parent are made from: once for the project, and once for each worktree.
#[derive(Clone)]
pub struct RoleParts {
    pub project_state: PathBuf,
    loaded: Loaded,
    provider: Arc<dyn Provider>,
    model: Arc<str>,
    own_folders: Vec<PathBuf>,
}

/// Sub-agents without a parent, and the session that keeps what they did.
pub struct RoleSession {
    pub conversation: Conversation,
    pub agents: FolderAgents,
    pub setup: RoleParts,
}

/// Those who work in one folder.
pub struct FolderAgents {
    pub runner: Arc<SubAgentRunner>,
    pub cx: ToolCx,
    parent: ParentTurn,
}

impl FolderAgents {
    /// What they do from here on belongs to this session.
    pub fn begin(&self, session: &str) {
        self.runner.begin(ParentTurn { session: session.to_owned(), ..self.parent.clone() });
    }
}

impl RoleParts {
    /// Those who work in `folder`, headless. Their changes are in no undo journal.
    pub fn agents_in(&self, folder: &Path) -> FolderAgents {
        let Self { project_state, loaded, provider, model, own_folders } = self;
        let small_window = loaded.context.window_tokens < TINY_WINDOW_TOKENS;
        let originals = Arc::new(LogOriginals::default());
        let retriever = ContextRetriever::new(folder, project_state);
        let cx = tool_context(folder, project_state, own_folders.clone(), retriever, &originals);
        if let Some(key) = loaded.provider.as_ref().and_then(|settings| settings.api_key.as_ref()) {
            cx.redactor.know(key.expose());
        }
        let sources = sources(&servers_of(&cx, loaded, own_folders).0);
        let dispatcher = dispatcher(cx, loaded, project_state, own_folders, false, small_window, &sources);
        let (silent, _) = mpsc::unbounded_channel();
        let params = params(loaded, Arc::clone(model));
        let template = AgentTemplate {
            loaded: loaded.clone(),
            provider: Arc::clone(provider),
            policy: Arc::clone(&dispatcher.policy),
            project_state: project_state.clone(),
            own_folders: own_folders.clone(),
            interactive: false,
            own_agents: Vec::new(),
            sources,
        };
        let questions = Arc::new(Questions::new(silent));
        let runner = SubAgentRunner::new(template, &questions, &params);
        let parent = ParentTurn { params, settings: loaded.context.clone(), session: String::new() };
        FolderAgents { runner: Arc::new(runner), cx: dispatcher.cx, parent }
    }
}

/// Sub-agents for a program that gives each its part, in a new session or the one to go on with.
///
/// # Errors
/// When the session to continue cannot be opened.
pub fn roles(setup: Setup) -> Result<RoleSession, LogError> {
    let Setup { loaded, provider, model, workspace, project_state, own_folders, resume, .. } = setup;
    let conversation = match &resume {
        None => Conversation::new(&project_state, &workspace),
        Some(path) => reopen::restore(&project_state, &workspace, path)?.conversation,
    };
    let setup = RoleParts { project_state, loaded, provider, model, own_folders };
    let mut agents = setup.agents_in(&workspace);
    let journal = Journal::new(&setup.project_state, &workspace);
    journal.open(&conversation.id);
    agents.cx.journal = Some(Arc::new(journal));
    Ok(RoleSession { conversation, agents, setup })
}
