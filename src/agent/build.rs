//! Wiring: makes the parts of an agent from validated settings and starts its engine. The only place that knows all of
//! them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::control::Questions;
use super::core::Core;
use super::engine::Engine;
use super::quick_ops::EngineDeps;
use crate::agent::calls::dispatcher::Dispatcher;
use crate::agent::calls::policy_engine::PolicyEngine;
use crate::agent::session::conversation::Conversation;
use crate::agent::session::recall::LogOriginals;
use crate::agent::turn::note_hints::NoteHints;
use crate::config::load::Loaded;
use crate::config::prompts;
use crate::config::settings::TINY_WINDOW_TOKENS;
use crate::context::parts::{FixedPart, Schemas};
use crate::context::project_rules::ProjectRules;
use crate::context::tokens::request_size::Countable as _;
use crate::evidence::retriever::ContextRetriever;
use crate::model::request::Params;
use crate::policy::rules::Rules;
use crate::protocol::event::{Event, Level};
use crate::protocol::ledger::LedgerView;
use crate::protocol::op::Op;
use crate::provider::api::Provider;
use crate::sandbox::session::Sandbox;
use crate::session::journal::blobs;
use crate::session::journal::recorder::Journal;
use crate::session::list;
use crate::session::log::LogError;
use crate::tool::cx::ToolCx;
use crate::tool::output::Spill;

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

/// The two queues of a running agent.
pub struct Handle {
    pub ops: mpsc::UnboundedSender<Op>,
    pub events: mpsc::UnboundedReceiver<Event>,
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
    let (mut engine, chosen_model) = engine(setup, event_sender)?;
    let task = tokio::spawn(async move {
        engine.wiring.originals.follow(engine.core.conversation.log_path());
        let had_rules = engine.core.conversation.prefix.parts().rules.is_some();
        engine.core.law.continue_session(had_rules, &engine.wiring.workspace);
        engine.go_on_with(chosen_model).await;
        let spill = Arc::clone(&engine.core.dispatcher.cx.spill);
        let journal = engine.core.dispatcher.cx.journal.clone();
        tokio::task::spawn_blocking(move || {
            spill.clean();
            if let Some(journal) = journal {
                blobs::clean(journal.folder());
            }
        });
        engine.open_journal().await;
        // A user still types; the index may be ready before the first task is.
        let wanted = engine.wiring.interactive && engine.core.task_context.is_some();
        if let Some(desk) = engine.core.dispatcher.cx.evidence.clone().filter(|_| wanted) {
            tokio::task::spawn_blocking(move || desk.warm());
        }
        engine.run(op_receiver).await;
    });
    Ok(Handle { ops: op_sender, events: event_receiver, task })
}

/// What the next request of a session would hold.
///
/// # Errors
/// When the session cannot be opened.
pub fn ledger(setup: Setup) -> Result<LedgerView, LogError> {
    let (events, _nobody) = mpsc::unbounded_channel();
    let mut core = engine(setup, events)?.0.core;
    core.law.refresh(core.dispatcher.root());
    Ok(core.ledger_view(&core.build().ledger))
}

/// The engine, and the model that the user chose in the session that is continued.
fn engine(
    setup: Setup,
    events: mpsc::UnboundedSender<Event>,
) -> Result<(Engine, Option<(String, String)>), LogError> {
    let Setup { loaded, provider, model, workspace, project_state, own_folders, interactive, resume } = setup;
    let mut backlog = Vec::new();
    let mut todos = None;
    let mut chosen_model = None;
    let conversation = match &resume {
        None => Conversation::new(&project_state, &workspace),
        Some(path) => {
            let restored = Conversation::restore(&project_state, &workspace, path)?;
            todos = restored.todos;
            chosen_model = restored.chosen_model;
            backlog = restored.notices;
            restored.conversation
        }
    };
    let originals = Arc::new(LogOriginals::default());
    let mut core = core(
        &loaded,
        provider,
        model,
        &workspace,
        &project_state,
        &own_folders,
        interactive,
        conversation,
        &originals,
    );
    let readable = vec![core.dispatcher.cx.spill.folder().to_owned()];
    core.dispatcher.cx.sandbox = Arc::new(Sandbox::new(workspace.clone(), own_folders, readable));
    core.restore_working_state(todos);
    let questions = Arc::new(Questions::new(events.clone()));
    let mut waiting = Vec::new();
    if resume.is_some() {
        let items = core.conversation.history.entries().iter().map(|entry| Arc::clone(&entry.item)).collect();
        waiting.push(Event::History(items));
    }
    let damage = core.dispatcher.desk.damage();
    for text in loaded.notices.iter().cloned().chain(backlog).chain(damage) {
        waiting.push(Event::Notice { level: Level::Warning, text });
    }
    let model_is_wanted = loaded.model_flag;
    let jobs = Arc::clone(&core.dispatcher.cx.shell.jobs);
    let wiring =
        EngineDeps { loaded, workspace, project_state, interactive, originals, model_is_wanted, jobs };
    core.last_estimate = core.build().ledger.total();
    Ok((Engine { core, wiring, events, questions, backlog: waiting }, chosen_model))
}

#[allow(clippy::too_many_arguments)]
fn core(
    loaded: &Loaded,
    provider: Arc<dyn Provider>,
    model: Arc<str>,
    workspace: &Path,
    project_state: &Path,
    own_folders: &[PathBuf],
    interactive: bool,
    conversation: Conversation,
    originals: &Arc<LogOriginals>,
) -> Core {
    let spill = Arc::new(Spill::new(project_state.join("tool-output")));
    // Chosen once: L1 never changes within a session.
    let few_words = loaded.context.window_tokens < TINY_WINDOW_TOKENS;
    let mut cx = ToolCx::new(workspace.to_owned(), Arc::clone(&spill));
    cx.originals = Some(Arc::clone(originals) as _);
    let mut desk = ContextRetriever::new(workspace, project_state);
    if loaded.work.inject_notes {
        desk = desk.with_hints(Arc::new(NoteHints { root: workspace.to_owned() }));
    }
    cx.evidence = Some(Arc::new(desk));
    cx.journal = Some(Arc::new(Journal::new(project_state, workspace)));
    // Our own key is a secret wherever it turns up.
    if let Some(key) = loaded.provider.as_ref().and_then(|settings| settings.api_key.as_ref()) {
        cx.vault.know(key.expose());
    }
    let policy = Arc::new(PolicyEngine::new(
        &loaded.work,
        Rules::load(project_state),
        workspace,
        vec![spill.folder().to_owned()],
        own_folders,
    ));
    let dispatcher = Dispatcher::new(cx, policy, spill, interactive, few_words);
    let schemas = Schemas::new(Arc::clone(dispatcher.specs()));
    let settings = loaded.provider.as_ref();
    let params = Params {
        model,
        max_output_tokens: settings.and_then(|s| s.max_output_tokens),
        temperature: settings.and_then(|s| s.temperature),
        reasoning_effort: settings.and_then(|s| s.reasoning_effort.clone()),
    };
    let system: FixedPart = FixedPart::new(system_prompt(few_words).into());
    let mut core = Core {
        fixed_ceiling: system.content.upper_bound() + schemas.content.upper_bound(),
        conversation,
        provider,
        params,
        light_model: loaded.work.light_model.clone(),
        context: loaded.context.clone(),
        law: ProjectRules::default(),
        dispatcher,
        max_steps: loaded.work.max_steps,
        inject_notes: loaded.work.inject_notes,
        system,
        schemas,
        archivist: Default::default(),
        last_estimate: 0,
        last_counted: 0,
        counter: None,
        typed: Vec::new(),
        reminder: None,
        task_context: loaded.work.task_context,
    };
    core.window_changed();
    core
}

/// The tools without a session, for `mycode tool`: originals come from the project's last session.
pub fn tools_alone(
    loaded: &Loaded,
    workspace: &Path,
    project_state: &Path,
    own_folders: Vec<PathBuf>,
) -> Dispatcher {
    let spill = Arc::new(Spill::new(project_state.join("tool-output")));
    let readable = vec![spill.folder().to_owned()];
    let mut cx = ToolCx::new(workspace.to_owned(), Arc::clone(&spill));
    cx.sandbox = Arc::new(Sandbox::new(workspace.to_owned(), own_folders.clone(), readable.clone()));
    let originals = LogOriginals::default();
    if let Some(path) = list::last(project_state) {
        originals.follow(path);
    }
    cx.originals = Some(Arc::new(originals));
    cx.evidence = Some(Arc::new(ContextRetriever::new(workspace, project_state)));
    let policy =
        PolicyEngine::new(&loaded.work, Rules::load(project_state), workspace, readable, &own_folders);
    Dispatcher::new(cx, Arc::new(policy), spill, false, false)
}

/// The system prompt; with `few_words` without the advice on tools that the model is not told of.
fn system_prompt(few_words: bool) -> String {
    let told = |line: &&str| {
        !few_words || !["TodoWrite", "MultiEdit", "AskUser"].iter().any(|name| line.contains(name))
    };
    prompts::SYSTEM.trim().lines().filter(told).collect::<Vec<_>>().join("\n")
}
