//! The `/status` rows that front ends don't know (sandbox, rules files, jobs, …), hooks, and `/cost` from the log.
//! Everything reads the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::config::trusted::active;
use base::config::trusted::agent_files::AgentFile;
use base::config::trusted::held_back::HeldBack;
use base::config::trusted::own_files::OwnFiles;
use base::protocol::event::{Event, JobRow, Level};
use base::text::plural;
use base::{path, sanitize};
use context::report::gather::Report;
use context::report::render;
use context::rules::project_rules::ProjectRules;
use context::rules::rules_file;
use context::rules::scoped_rule::{self, ScopedRule};
use guard::sandbox::probe;
use tools::hook::listing;

pub struct StatusParts {
    pub workspace: PathBuf,
    pub project_state: PathBuf,
    pub config: PathBuf,
    pub log: PathBuf,
    pub confined: bool,
    pub jobs: Vec<JobRow>,
    pub language_servers: String,
}

pub fn status(parts: &StatusParts) -> Event {
    let turns = Report::of_log(&parts.log).map_or(0, |report| report.total.turns);
    let mut rows =
        vec![("turns".to_owned(), turns.to_string()), ("sandbox".to_owned(), sandbox(parts.confined))];
    let stored = if parts.log.exists() { "" } else { " (empty, not stored yet)" };
    rows.push(("log".to_owned(), format!("{}{stored}", parts.log.display())));
    rows.push(("rules files".to_owned(), rules_files(&parts.workspace, &parts.project_state, &parts.config)));
    let running = parts.jobs.iter().filter(|job| job.ended.is_none()).count();
    rows.push((
        "jobs".to_owned(),
        if running == 0 { "none".to_owned() } else { format!("{} running", plural(running, "job")) },
    ));
    rows.push(("LSP".to_owned(), parts.language_servers.clone()));
    Event::Status(rows)
}

fn sandbox(confined: bool) -> String {
    if !confined {
        return "off at this level".to_owned();
    }
    let rows = probe::status().rows.iter();
    let state = |available| if available { "" } else { " missing" };
    rows.map(|layer| format!("{}{}", layer.name, state(layer.available))).collect::<Vec<_>>().join(", ")
}

pub fn trust(workspace: &Path, project_state: &Path) -> Event {
    let text = sanitize::reveal(&active::told(workspace, project_state)).into_owned();
    Event::Notice { level: Level::Info, text }
}

pub fn unused(own: &OwnFiles, workspace: &Path, project_state: &Path, kind: &str) -> Option<Event> {
    let text = active::unused(own, workspace, project_state, kind)?;
    Some(Event::Notice { level: Level::Info, text: sanitize::reveal(&text).into_owned() })
}

/// The rules files that are always sent, for matching files, or on demand.
pub fn rules_files(workspace: &Path, project_state: &Path, config: &Path) -> String {
    let mut rules = ProjectRules::new(HeldBack::new(project_state), config, Arc::default());
    rules.refresh(workspace);
    let mut files: Vec<String> = rules.paths().map(|path| path::display(workspace, path)).collect();
    let (always, scoped): (Vec<ScopedRule>, Vec<ScopedRule>) =
        scoped_rule::of_folder(workspace).into_iter().partition(|rule| rule.always);
    let there = rules_file::candidates(workspace).into_iter().chain(always.into_iter().map(|rule| rule.path));
    let skipped = there.filter(|path| rules.paths().all(|read| read != path));
    files.extend(
        skipped.map(|path| path::display(workspace, &path) + " (not read: another rules file comes first)"),
    );
    files.extend(scoped.into_iter().map(|rule| {
        let when = if rule.on_demand() { "on demand" } else { "where it matches" };
        format!("{} ({when})", path::display(workspace, &rule.path))
    }));
    if files.is_empty() { "none".to_owned() } else { files.join(", ") }
}

pub fn hooks(files: &[AgentFile], workspace: &Path) -> Event {
    Event::Notice { level: Level::Info, text: listing::text(files, workspace).trim_end().to_owned() }
}

pub fn cost(log: &Path) -> Event {
    Event::Cost(render::costs(&Report::of_log(log).unwrap_or_default()))
}
