//! Operations that don't need the conversation: they run at once, even during a turn.

use std::sync::Arc;

use super::control::{Events, notice};
use super::deps::EngineDeps;
use crate::calls::policy_engine::PolicyEngine;
use crate::lists::status::{self, StatusParts};
use crate::lists::{models, notes, sessions};
use crate::session::inspect;
use base::config::settings::Permission;
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use base::protocol::op::Quick;
use context::session::stored;
use guard::sandbox::probe;
use tools::mcp::describe;

/// Reports missing sandbox layers, off the loop because probing takes milliseconds.
pub fn report_missing_layers(permission: Permission, policy: &PolicyEngine, events: &Events) {
    if !policy.confines(permission) || matches!(permission, Permission::Ask | Permission::AcceptEdits) {
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

pub fn quick_op(op: Quick, policy: &PolicyEngine, deps: &EngineDeps, events: &Events) {
    match op {
        Quick::StopJob { id } => {
            if !deps.jobs.stop(id) {
                notice(events, Level::Warning, texts::no_such_job(id));
            }
        }
        Quick::Background => deps.jobs.take_waiting(),
        Quick::SetPermission { permission } => {
            policy.set_permission(permission);
            let _ = events.send(Event::Permission(permission));
            report_missing_layers(permission, policy, events);
        }
        Quick::SetMode { mode } => {
            policy.set_mode(mode);
            let _ = events.send(Event::Mode(mode));
        }
        Quick::DeclineInit => {
            if let Err(error) = policy.decline_init() {
                notice(events, Level::Warning, texts::init_choice_not_saved(error));
            }
        }
        Quick::ListSessions => sessions::send(deps.project_state.clone(), false, events.clone()),
        Quick::ListAllSessions => sessions::send(deps.project_state.clone(), true, events.clone()),
        Quick::PreviewSession { session } => {
            sessions::preview(deps.project_state.clone(), session, events.clone());
        }
        Quick::RenameSession { session, title } => {
            let title = deps.prompts.redacted(&title);
            sessions::change(deps, events, move |state| stored::rename(state, &session, &title));
        }
        Quick::NameSession { session, title } => {
            let (state, title, events) =
                (deps.project_state.clone(), deps.prompts.redacted(&title), events.clone());
            tokio::task::spawn_blocking(move || match stored::rename(&state, &session, &title) {
                Ok(()) => notice(&events, Level::Info, texts::session_renamed(&title)),
                Err(why) => notice(&events, Level::Warning, texts::session_unchanged(why)),
            });
        }
        Quick::DeleteSession { session } => {
            sessions::change(deps, events, move |state| stored::delete(state, &session));
        }
        Quick::RestoreSession { session } => {
            sessions::change(deps, events, move |state| stored::restore(state, &session));
        }
        Quick::ListModels => drop(tokio::spawn(models::send(deps.loaded.clone(), events.clone()))),
        Quick::ListNotes => notes::send(deps.workspace.clone(), None, events.clone()),
        Quick::ForgetNote { id } => notes::send(deps.workspace.clone(), Some(id), events.clone()),
        Quick::ListKeys => models::send_keys(deps.loaded.config.clone(), events.clone()),
        Quick::SaveKey { vendor, key } => {
            let folder = deps.loaded.config.clone();
            drop(tokio::spawn(models::save_key(folder, vendor, key, events.clone())));
        }
        Quick::ListRules => drop(events.send(Event::Rules(policy.rules()))),
        Quick::RemoveRule { rule } => {
            if let Err(error) = policy.remove_rule(&rule) {
                notice(events, Level::Warning, texts::rule_not_removed(error));
            }
            let _ = events.send(Event::Rules(policy.rules()));
        }
        Quick::ShowJob { id } => match deps.jobs.peek(id) {
            Some(text) => drop(events.send(Event::JobOutput { id, text })),
            None => notice(events, Level::Warning, texts::no_such_job(id)),
        },
        Quick::ShowStatus => {
            let parts = StatusParts {
                workspace: deps.workspace.clone(),
                project_state: deps.project_state.clone(),
                config: deps.loaded.config.clone(),
                log: deps.originals.path(),
                confined: policy.confines(policy.permission()),
                jobs: deps.jobs.list(),
                language_servers: deps.language_servers.status(),
            };
            status::send_status(parts, events.clone());
        }
        Quick::ShowSkills => {
            let rows = deps.skills.iter().map(|skill| (skill.name.clone(), skill.for_users()));
            let _ = events.send(Event::Skills(rows.collect()));
        }
        Quick::ListHooks => {
            status::send_hooks(deps.loaded.own.hooks.clone(), deps.workspace.clone(), events.clone())
        }
        Quick::ShowCost => status::send_cost(deps.originals.path(), events.clone()),
        Quick::ListFiles => inspect::files(deps.workspace.clone(), events.clone()),
        Quick::Recall { what } => {
            let (events, originals) = (events.clone(), Arc::clone(&deps.originals));
            tokio::task::spawn_blocking(move || {
                let (level, text) = match originals.for_user(&what) {
                    Ok(text) => (Level::Info, text),
                    Err(text) => (Level::Warning, text),
                };
                notice(&events, level, text);
            });
        }
        Quick::Remember { text } => deps.prompts.remember(&text),
        Quick::Keep { text } => deps.prompts.keep(&text, &deps.questions, events),
        Quick::ListPrompts => deps.prompts.list(events),
        Quick::SaveDraft { text } => deps.prompts.save_draft(&text),
        Quick::Export { file, force } => {
            let log = deps.originals.path();
            let name = || format!("mycode-{}.md", log.file_stem().unwrap_or_default().to_string_lossy());
            let file = deps.workspace.join(file.unwrap_or_else(name));
            inspect::export(deps.exporter, log, file, force, events.clone());
        }
        Quick::ShowTranscript { agent } => inspect::transcript(deps, agent, events.clone()),
        Quick::ShowChanges { turn } => {
            if let Some(reviewer) = &deps.reviewer {
                inspect::changes(reviewer.clone(), turn, events.clone());
            }
        }
        Quick::ShowMcp => {
            let (servers, events) = (Arc::clone(&deps.servers), events.clone());
            tokio::spawn(async move {
                let text = describe::all(&servers).await;
                notice(&events, Level::Info, text);
            });
        }
        Quick::ShowStats => inspect::stats(deps.originals.path(), events.clone()),
        Quick::Explain { id } => inspect::item_history(deps.originals.path(), id, events.clone()),
    }
}
