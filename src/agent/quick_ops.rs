//! Operations that don't need the conversation: they run at once, even during a turn.

use std::sync::Arc;

use super::control::{Events, answer, notice};
use super::deps::EngineDeps;
use crate::calls::policy_engine::PolicyEngine;
use crate::lists::status::{self, StatusParts};
use crate::lists::{models, sessions};
use crate::session::inspect;
use base::config::settings::Permission;
use base::process::task;
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use base::protocol::op::Quick;
use context::session::stored;
use guard::sandbox::probe;
use serde_json::Value;
use tools::mcp::{describe, host_requests};

/// Reports missing sandbox layers in the background, because probing takes milliseconds.
pub fn report_missing_layers(permission: Permission, policy: &PolicyEngine, events: &Events) {
    if !policy.confines(permission) || matches!(permission, Permission::Ask | Permission::AcceptEdits) {
        return;
    }
    let events = events.clone();
    task::detached(move || {
        let held = probe::status();
        let Some(missing) = held.missing() else { return };
        let text =
            held.refusal().map_or_else(|| texts::sandbox_degraded(&missing), texts::sandbox_unavailable);
        let _ = events.send(Event::SandboxLacks(missing));
        notice(&events, Level::Warning, text);
    });
}

fn tell_unused(kind: &'static str, deps: &EngineDeps, events: &Events) {
    let (own, state) = (deps.loaded.own.clone(), deps.project_state.clone());
    let (workspace, events) = (Arc::clone(&deps.cx.root), events.clone());
    task::detached(move || {
        status::unused(&own, &workspace, &state, kind).map(|event| drop(events.send(event)))
    });
}

pub fn quick_op(op: Quick, policy: &PolicyEngine, deps: &EngineDeps, events: &Events) {
    let EngineDeps { cx, tools, .. } = deps;
    let (state, workspace, log) = (deps.project_state.clone(), Arc::clone(&cx.root), tools.originals.path());
    let jobs = &cx.shell.jobs;
    match op {
        Quick::StopJob { id } => {
            if !jobs.stop(id) {
                notice(events, Level::Warning, texts::no_such_job(id));
            }
        }
        Quick::Background => jobs.take_waiting(),
        Quick::SetPermission { permission } => {
            let wanted = permission;
            let permission = policy.set_permission(wanted);
            if let Some(place) = deps.loaded.admin.lock("permission").filter(|_| wanted != permission) {
                notice(events, Level::Warning, texts::permission_locked(permission.into_str(), place));
            }
            let _ = events.send(Event::Permission(permission));
            report_missing_layers(permission, policy, events);
        }
        Quick::SetMode { mode } => {
            policy.set_mode(mode);
            let _ = events.send(Event::Mode(mode));
        }
        Quick::DeclineInit => {
            if let Err(error) = policy.rules().decline_init() {
                notice(events, Level::Warning, texts::init_choice_not_saved(error));
            }
        }
        Quick::ListSessions => answer(events, move || sessions::list(&state, false)),
        Quick::ListAllSessions => answer(events, move || sessions::list(&state, true)),
        Quick::PreviewSession { session } => answer(events, move || sessions::preview(&state, session)),
        Quick::RenameSession { session, title } => {
            let title = deps.prompts.redacted(&title);
            sessions::change(state, events, move |state| stored::rename(state, &session, &title));
        }
        Quick::NameSession { session, title } => {
            let title = deps.prompts.redacted(&title);
            answer(events, move || {
                let (level, text) = match stored::rename(&state, &session, &title) {
                    Ok(()) => (Level::Info, texts::session_renamed(&title)),
                    Err(_) if !log.exists() => (Level::Warning, texts::SESSION_EMPTY.to_owned()),
                    Err(why) => (Level::Warning, texts::session_unchanged(why)),
                };
                Event::Notice { level, text }
            });
        }
        Quick::DeleteSession { session } => {
            sessions::change(state, events, move |state| stored::delete(state, &session));
        }
        Quick::RestoreSession { session } => {
            sessions::change(state, events, move |state| stored::restore(state, &session));
        }
        Quick::ListModels => drop(task::spawn(models::send(deps.loaded.clone(), events.clone()))),
        Quick::ListNotes => answer(events, move || sessions::notes(&workspace, None)),
        Quick::ForgetNote { id } => answer(events, move || sessions::notes(&workspace, Some(&id))),
        Quick::ListKeys => {
            let folder = deps.loaded.config.clone();
            answer(events, move || models::keys(&folder));
        }
        Quick::SaveKey { vendor, key } => {
            let folder = deps.loaded.config.clone();
            drop(task::spawn(models::save_key(folder, vendor, key, events.clone())));
        }
        Quick::ListRules => drop(events.send(Event::Rules(policy.rules().rows()))),
        Quick::RemoveRule { rule } => {
            if let Err(error) = policy.rules().remove(&rule) {
                notice(events, Level::Warning, texts::rule_not_removed(error));
            }
            let _ = events.send(Event::Rules(policy.rules().rows()));
        }
        Quick::ShowJob { id } => match jobs.peek(id) {
            Some(text) => drop(events.send(Event::JobOutput { id, text })),
            None => notice(events, Level::Warning, texts::no_such_job(id)),
        },
        Quick::ShowStatus => {
            let parts = StatusParts {
                workspace: workspace.to_path_buf(),
                project_state: state,
                config: deps.loaded.config.clone(),
                log,
                confined: policy.confines(policy.permission()),
                jobs: jobs.list(),
                language_servers: cx.language_servers.status(),
            };
            answer(events, move || status::status(&parts));
        }
        Quick::ShowSkills => {
            let rows = tools.skills.iter().map(|skill| (skill.name.clone(), skill.for_users()));
            let _ = events.send(Event::Skills(rows.collect()));
            tell_unused("skills", deps, events);
        }
        Quick::ListHooks => {
            let files = deps.loaded.own.hooks.clone();
            answer(events, move || status::hooks(&files, &workspace));
        }
        Quick::ShowTrust => answer(events, move || status::trust(&workspace, &state)),
        Quick::ShowCost => answer(events, move || status::cost(&log)),
        Quick::ListFiles => {
            let (early, roots) =
                (events.clone(), [vec![(*workspace).clone()], deps.loaded.work.folders.clone()].concat());
            answer(events, move || inspect::files(&roots, &early));
        }
        Quick::Recall { what } => {
            let originals = Arc::clone(&tools.originals);
            answer(events, move || match originals.for_user(&what) {
                Ok(text) => Event::Notice { level: Level::Info, text },
                Err(text) => Event::Notice { level: Level::Warning, text },
            });
        }
        Quick::Remember { text } => deps.prompts.remember(&text),
        Quick::Keep { text } => deps.prompts.keep(&text, &deps.questions, events),
        Quick::ListPrompts => deps.prompts.list(events),
        Quick::SaveDraft { text } => deps.prompts.save_draft(&text),
        Quick::Export { file, force } => {
            let exporter = deps.exporter;
            let name = || format!("mycode-{}.md", log.file_stem().unwrap_or_default().to_string_lossy());
            let file = workspace.join(file.unwrap_or_else(name));
            answer(events, move || inspect::export(exporter, &log, &file, force));
        }
        Quick::ShowTranscript { agent } => {
            answer(events, move || inspect::transcript(&state, log, agent));
        }
        Quick::ShowChanges { turn } => {
            let cx = cx.clone();
            answer(events, move || inspect::changes(&cx, turn));
        }
        Quick::ShowMcp => {
            tell_unused("MCP servers", deps, events);
            let (servers, events) = (Arc::clone(&tools.servers), events.clone());
            task::spawn(async move {
                describe::all(&servers, |text| notice(&events, Level::Info, text)).await;
            });
        }
        Quick::HostRequest { id, request } if request["subtype"] == "seed_read_state" => {
            let cx = cx.clone();
            answer(events, move || {
                let path = request["path"].as_str().unwrap_or_default();
                cx.files.seed(&cx.root, path, request["mtime"].as_i64());
                Event::HostAnswer { id, answer: Ok(Value::default()) }
            });
        }
        Quick::HostRequest { id, request } => {
            let (servers, loaded, events) = (Arc::clone(&tools.servers), deps.loaded.clone(), events.clone());
            task::spawn(async move {
                let text = |key: &str| request[key].as_str().unwrap_or_default();
                let answer = match text("subtype") {
                    "mcp_set_servers" => {
                        Ok(host_requests::set_servers(&servers, &loaded, &request["servers"]).await)
                    }
                    _ => host_requests::read_page(&servers, text("serverName"), text("uri")).await,
                };
                let _ = events.send(Event::HostAnswer { id, answer });
            });
        }
        Quick::SwitchMcp { server, on } => tools.servers.switch(&server, on),
        Quick::ShowStats => answer(events, move || inspect::stats(&log)),
        Quick::Explain { id } => answer(events, move || inspect::item_history(&log, &id)),
    }
}
