//! What the engine keeps beside the agent, and the operations that need nothing else: they are done at once, also while a
//! turn runs.

use std::path::PathBuf;
use std::sync::Arc;

use super::control::{Events, Questions, notice};
use crate::agent::calls::policy_engine::PolicyEngine;
use crate::agent::session::inspect;
use crate::agent::session::prompts::Prompts;
use crate::agent::session::recall::LogOriginals;
use crate::config::load::{ConfigError, Loaded};
use crate::config::models::facts;
use crate::config::settings::{ContextSettings, Origin, Permission};
use crate::protocol::event::{Event, Level};
use crate::protocol::notice as texts;
use crate::protocol::op::Op;
use crate::provider::window::finder::WindowFinder;
use crate::sandbox::probe;
use crate::session::list;
use crate::tool::run::jobs::Jobs;

/// What the engine keeps beside the agent.
pub struct EngineDeps {
    pub loaded: Loaded,
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    pub interactive: bool,
    pub originals: Arc<LogOriginals>,
    /// The model was named by a flag: it wins over what a resumed session had.
    pub model_from_flag: bool,
    /// Background jobs, which can be ended in the middle of a turn.
    pub jobs: Arc<Jobs>,
    pub prompts: Prompts,
    pub questions: Arc<Questions>,
}

impl EngineDeps {
    /// The context settings for another model, with the window that its server has.
    ///
    /// # Errors
    /// When the settings contradict that window.
    pub async fn settings_for(&self, model: &str) -> Result<ContextSettings, ConfigError> {
        let mut learned = None;
        let asks = self.loaded.context.window_origin != Origin::User;
        if let Some(mut settings) = self.loaded.provider.clone().filter(|_| asks) {
            settings.model = model.into();
            learned = WindowFinder::new(&self.loaded.servers).find(&settings).await.learned();
        }
        self.loaded.context_for(model, learned)
    }

    /// Whether the model can be chosen after `now`: a name that neither the table nor the server knows is a mistake where
    /// the present model is one of the table.
    pub async fn knows_model(&self, model: &str, now: &str) -> bool {
        facts(model).is_some()
            || facts(now).is_none()
            || self.settings_for(model).await.map_or(true, |found| found.window_origin != Origin::Default)
    }
}

/// Tells the front end which layers of the sandbox this machine lacks, off the loop: trying takes some milliseconds.
pub fn report_missing_layers(permission: Permission, policy: &PolicyEngine, events: &Events) {
    if !policy.confines(permission) || permission == Permission::Ask {
        return;
    }
    let events = events.clone();
    tokio::task::spawn_blocking(move || {
        let held = probe::status();
        let Some(missing) = held.missing() else { return };
        let text =
            held.refusal().map_or_else(|| texts::sandbox_degraded(&missing), texts::sandbox_unavailable);
        let _ = events.send(Event::SandboxLacks(missing));
        notice(&events, Level::Warning, text);
    });
}

/// Operations that need nothing of the conversation: done at once, also in the middle of a turn.
pub fn quick_op(op: Op, policy: &PolicyEngine, deps: &EngineDeps, events: &Events) {
    match op {
        Op::StopJob { id } if !deps.jobs.stop(id) => {
            notice(events, Level::Warning, texts::no_such_job(id));
        }
        Op::SetPermission { permission } => {
            policy.set_permission(permission);
            let _ = events.send(Event::Permission(permission));
            report_missing_layers(permission, policy, events);
            notice(events, Level::Info, texts::permission_changed(permission));
        }
        Op::SetMode { mode } => {
            policy.set_mode(mode);
            let _ = events.send(Event::Mode(mode));
        }
        Op::DeclineInit => {
            if let Err(error) = policy.decline_init() {
                notice(events, Level::Warning, texts::init_choice_not_saved(error));
            }
        }
        Op::ListSessions => {
            let (events, state) = (events.clone(), deps.project_state.clone());
            tokio::task::spawn_blocking(move || {
                let _ = events.send(Event::Sessions(list::list(&state)));
            });
        }
        Op::ListFiles => inspect::files(deps.workspace.clone(), events.clone()),
        Op::Recall { what } => {
            let (events, originals) = (events.clone(), Arc::clone(&deps.originals));
            tokio::task::spawn_blocking(move || {
                let (level, text) = match originals.for_user(&what) {
                    Ok(text) => (Level::Info, text),
                    Err(text) => (Level::Warning, text),
                };
                notice(&events, level, text);
            });
        }
        Op::Remember { text } => deps.prompts.remember(&text),
        // Of a question that no turn has asked.
        Op::Answer { id, answer } => deps.questions.answer(id, answer),
        Op::Keep { text } => deps.prompts.keep(&text, &deps.questions, events),
        Op::ListPrompts => deps.prompts.list(events),
        Op::SaveDraft { text } => deps.prompts.save_draft(&text),
        Op::ShowStats => inspect::stats(deps.originals.path(), events.clone()),
        Op::Explain { id } => inspect::item_history(deps.originals.path(), id, events.clone()),
        _ => {}
    }
}
