//! What `/status` and `/cost` tell beyond what the front end knows already: sandbox, session, rules files, jobs; and what the
//! session cost, from its log.

use std::path::{Path, PathBuf};

use crate::agent::control::Events;
use crate::base::text::plural;
use crate::config::trusted::held_back::HeldBack;
use crate::context::rules::project_rules::ProjectRules;
use crate::protocol::event::{Event, JobRow};
use crate::report::gather::Report;
use crate::report::render;
use crate::sandbox::probe;

/// What the status is made of.
pub struct StatusParts {
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    pub log: PathBuf,
    /// Whether commands are confined at the present level.
    pub confined: bool,
    pub jobs: Vec<JobRow>,
    pub language_servers: String,
}

/// Sends the status.
pub fn send_status(parts: StatusParts, events: Events) {
    tokio::task::spawn_blocking(move || {
        let _ = events.send(Event::Status(status(&parts)));
    });
}

fn status(parts: &StatusParts) -> Vec<(String, String)> {
    let turns = Report::of_log(&parts.log).map_or(0, |report| report.total.turns);
    let mut rows =
        vec![("turns".to_owned(), turns.to_string()), ("sandbox".to_owned(), sandbox(parts.confined))];
    let stored = if parts.log.exists() { "" } else { " (empty, not stored yet)" };
    rows.push(("log".to_owned(), format!("{}{stored}", parts.log.display())));
    rows.push(("rules files".to_owned(), rules(&parts.workspace, &parts.project_state)));
    let running = parts.jobs.iter().filter(|job| job.ended.is_none()).count();
    rows.push((
        "jobs".to_owned(),
        if running == 0 { "none".to_owned() } else { format!("{} running", plural(running, "job")) },
    ));
    rows.push(("language servers".to_owned(), parts.language_servers.clone()));
    rows
}

fn sandbox(confined: bool) -> String {
    if !confined {
        return "off at this level".to_owned();
    }
    let rows = probe::status().rows.iter();
    let state = |available| if available { "" } else { " missing" };
    rows.map(|layer| format!("{}{}", layer.name, state(layer.available))).collect::<Vec<_>>().join(", ")
}

fn rules(workspace: &Path, project_state: &Path) -> String {
    let mut rules = ProjectRules::new(HeldBack::new(project_state));
    rules.refresh(workspace);
    let files: Vec<String> = rules
        .paths()
        .map(|path| path.strip_prefix(workspace).unwrap_or(path).display().to_string())
        .collect();
    if files.is_empty() { "none".to_owned() } else { files.join(", ") }
}

/// Sends what the session of this log cost.
pub fn send_cost(log: PathBuf, events: Events) {
    tokio::task::spawn_blocking(move || {
        let report = Report::of_log(&log).unwrap_or_default();
        let _ = events.send(Event::Cost(render::costs(&report)));
    });
}
