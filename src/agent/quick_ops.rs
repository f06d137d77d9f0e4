//! Operations that don't need the conversation: they run at once, even during a turn.

use std::sync::Arc;

use super::control::{Events, notice};
use super::deps::EngineDeps;
use crate::calls::policy_engine::PolicyEngine;
use crate::lists::status::{self, StatusParts};
use crate::lists::{models, sessions};
use crate::session::inspect;
use base::config::settings::Permission;
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use base::protocol::op::Op;
use context::session::log;
use guard::sandbox::probe;
use tools::hook::listing;
use tools::mcp::describe;

/// Reports missing sandbox layers, off the loop because probing takes milliseconds.
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
        Op::ListSessions => sessions::send(deps.project_state.clone(), events.clone()),
        Op::PreviewSession { session } => {
            sessions::preview(deps.project_state.clone(), session, events.clone());
        }
        Op::RenameSession { session, title } => {
            let op = Op::RenameSession { session, title: deps.prompts.redacted(&title) };
            sessions::change(deps.project_state.clone(), op, events.clone());
        }
        Op::DeleteSession { .. } | Op::RestoreSession { .. } => {
            sessions::change(deps.project_state.clone(), op, events.clone());
        }
        Op::ListModels => drop(tokio::spawn(models::send(deps.loaded.clone(), events.clone()))),
        Op::ListRules => drop(events.send(Event::Rules(policy.rules()))),
        Op::RemoveRule { rule } => {
            if let Err(error) = policy.remove_rule(&rule) {
                notice(events, Level::Warning, texts::rule_not_removed(error));
            }
            let _ = events.send(Event::Rules(policy.rules()));
        }
        Op::ShowJob { id } => match deps.jobs.peek(id) {
            Some(text) => drop(events.send(Event::JobOutput { id, text })),
            None => notice(events, Level::Warning, texts::no_such_job(id)),
        },
        Op::ShowStatus => {
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
        Op::ShowSkills => {
            let rows = deps.skills.iter().map(|skill| (skill.name.clone(), skill.for_users()));
            let _ = events.send(Event::Skills(rows.collect()));
        }
        Op::ListHooks => {
            let (files, workspace) = (deps.loaded.own.hooks.clone(), deps.workspace.clone());
            let events = events.clone();
            tokio::task::spawn_blocking(move || {
                notice(&events, Level::Info, listing::text(&files, &workspace).trim_end().to_owned());
            });
        }
        Op::ShowCost => status::send_cost(deps.originals.path(), events.clone()),
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
        // For a question that wasn't asked by a turn.
        Op::Answer { id, answer } => deps.questions.answer(id, answer),
        Op::Keep { text } => deps.prompts.keep(&text, &deps.questions, events),
        Op::ListPrompts => deps.prompts.list(events),
        Op::SaveDraft { text } => deps.prompts.save_draft(&text),
        Op::Export { file, force } => {
            let log = deps.originals.path();
            let name = || format!("mycode-{}.md", log.file_stem().unwrap_or_default().to_string_lossy());
            let file = deps.workspace.join(file.unwrap_or_else(name));
            inspect::export(deps.exporter, log, file, force, events.clone());
        }
        Op::ShowTranscript { agent: None } => {
            inspect::transcript(deps.originals.path(), None, events.clone());
        }
        Op::ShowTranscript { agent: Some(agent) } => {
            let log = log::path_of(&log::agents_of(&deps.project_state), &agent);
            inspect::transcript(log, Some(agent), events.clone());
        }
        Op::ShowChanges { turn } => {
            if let Some(reviewer) = &deps.reviewer {
                inspect::changes(reviewer.clone(), turn, events.clone());
            }
        }
        Op::ShowMcp => {
            let (servers, events) = (Arc::clone(&deps.servers), events.clone());
            tokio::spawn(async move {
                let text = describe::all(&servers).await;
                notice(&events, Level::Info, text);
            });
        }
        Op::ShowStats => inspect::stats(deps.originals.path(), events.clone()),
        Op::Explain { id } => inspect::item_history(deps.originals.path(), id, events.clone()),
        _ => {}
    }
}
