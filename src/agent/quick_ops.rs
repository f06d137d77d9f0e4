//! What the engine keeps beside the core, and the operations that need nothing else: they are done at once, also
//! while a turn runs.

use std::path::PathBuf;
use std::sync::Arc;

use super::control::Events;
use crate::agent::calls::policy_engine::PolicyEngine;
use crate::agent::session::inspect;
use crate::agent::session::recall::LogOriginals;
use crate::config::load::Loaded;
use crate::config::settings::Permission;
use crate::protocol::event::{Event, Level};
use crate::protocol::op::Op;
use crate::sandbox::probe;
use crate::session::list;
use crate::tool::run::jobs::Jobs;

/// What the engine keeps beside the core.
pub struct EngineDeps {
    pub loaded: Loaded,
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    pub interactive: bool,
    pub originals: Arc<LogOriginals>,
    /// The model was named for this run: it wins over what a resumed session had.
    pub model_is_wanted: bool,
    /// Background jobs, which can be ended in the middle of a turn.
    pub jobs: Arc<Jobs>,
}

/// Tells the front end which layers of the sandbox this machine lacks, off the loop: trying takes some milliseconds.
pub fn tell_missing_layers(permission: Permission, desk: &PolicyEngine, events: &Events) {
    if !desk.confines(permission) || permission == Permission::Ask {
        return;
    }
    let events = events.clone();
    tokio::task::spawn_blocking(move || {
        let held = probe::status();
        let Some(missing) = held.missing() else { return };
        let text = held.refusal().map_or_else(
            || format!("The sandbox holds without: {missing}. `mycode doctor` says why."),
            |why| {
                format!(
                    "{why}. In auto, commands that are not known to stay in the workspace will be asked for."
                )
            },
        );
        let _ = events.send(Event::SandboxLacks(missing));
        let _ = events.send(Event::Notice { level: Level::Warning, text });
    });
}

/// Operations that need nothing of the conversation: done at once, also in the middle of a turn.
pub fn quick_op(op: Op, desk: &PolicyEngine, wiring: &EngineDeps, events: &Events) {
    match op {
        Op::StopJob { id } if !wiring.jobs.stop(id) => {
            let text = format!("There is no job {id}; /jobs lists them.");
            let _ = events.send(Event::Notice { level: Level::Warning, text });
        }
        Op::SetPermission { permission } => {
            desk.set_permission(permission);
            let text = format!("Permission is now {}.", permission.as_str());
            let _ = events.send(Event::Permission(permission));
            tell_missing_layers(permission, desk, events);
            let _ = events.send(Event::Notice { level: Level::Info, text });
        }
        Op::DeclineInit => {
            if let Err(error) = desk.decline_init() {
                let text = format!("That could not be remembered: {error}. You will be asked again.");
                let _ = events.send(Event::Notice { level: Level::Warning, text });
            }
        }
        Op::ListSessions => {
            let (events, state) = (events.clone(), wiring.project_state.clone());
            tokio::task::spawn_blocking(move || {
                let _ = events.send(Event::Sessions(list::list(&state)));
            });
        }
        Op::ListFiles => inspect::files(wiring.workspace.clone(), events.clone()),
        Op::Recall { what } => {
            let (events, originals) = (events.clone(), Arc::clone(&wiring.originals));
            tokio::task::spawn_blocking(move || {
                let (level, text) = match originals.for_user(&what) {
                    Ok(text) => (Level::Info, text),
                    Err(text) => (Level::Warning, text),
                };
                let _ = events.send(Event::Notice { level, text });
            });
        }
        Op::Explain { id } => inspect::story(wiring.originals.path(), id, events.clone()),
        _ => {}
    }
}
