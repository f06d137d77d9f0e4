//! Views for front ends that come from files: ledger, transcript, changes, paths for the `@` popup.
//! Everything runs on the blocking pool.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::review::Reviewer;
use crate::control::{Events, notice};
use crate::deps::{EngineDeps, Exporter};
use base::config::settings::ContextSettings;
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use base::search::walk::{self, Walk};
use context::replay::item_history;
use context::replay::session_replay::SessionReplay;
use context::report::gather::Report;
use context::report::render;
use context::session::effective::EffectiveSession;
use context::session::{log, reader};

/// Most paths offered to the `@` popup.
const MAX_FILES: usize = 50_000;

pub fn ledger(log: PathBuf, settings: ContextSettings, events: Events) {
    tokio::task::spawn_blocking(move || match reader::read(&log) {
        Ok(read) => {
            let _ = events.send(Event::Ledger(SessionReplay::of(&read.records).ledger(&settings)));
        }
        Err(error) => unreadable(&error, &events),
    });
}

pub fn item_history(log: PathBuf, id: String, events: Events) {
    tokio::task::spawn_blocking(move || match reader::read(&log) {
        Ok(read) => match item_history::explain(&read.records, &id) {
            Ok(history) => {
                let _ = events.send(Event::ItemHistory(history));
            }
            Err(refusal) => notice(&events, Level::Warning, format!("{refusal}.")),
        },
        Err(error) => unreadable(&error, &events),
    });
}

pub fn stats(log: PathBuf, events: Events) {
    tokio::task::spawn_blocking(move || match Report::of_log(&log) {
        Ok(report) if report.sessions.is_empty() => {
            notice(&events, Level::Info, texts::session_empty());
        }
        Ok(report) => {
            let id = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            notice(&events, Level::Info, texts::session_stats(&id, render::bullets(&report).trim_end()));
        }
        Err(_) if !log.exists() => notice(&events, Level::Info, texts::session_empty()),
        Err(error) => unreadable(&error, &events),
    });
}

/// Sends the current items and those that a summary replaced; `agent` is the sub-agent whose log it is.
pub fn transcript(deps: &EngineDeps, agent: Option<String>, events: Events) {
    let log = match &agent {
        Some(agent) => log::path_of(&log::agents_of(&deps.project_state), agent),
        None => deps.originals.path(),
    };
    tokio::task::spawn_blocking(move || match EffectiveSession::read(&log) {
        Ok(session) => {
            let items = session.items().map(|(id, item)| (id, Arc::clone(item))).collect();
            let _ = events.send(Event::Transcript { agent, items });
        }
        // Nothing was said yet; the front end asks again later.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let _ = events.send(Event::Transcript { agent, items: [].into() });
        }
        Err(error) => unreadable(&error, &events),
    });
}

/// The file's extension picks the format.
pub fn export(exporter: Exporter, log: PathBuf, file: PathBuf, force: bool, events: Events) {
    tokio::task::spawn_blocking(move || {
        let (level, text) = match exporter(&log, &file, force) {
            Ok(()) => (Level::Info, texts::exported(file.display())),
            Err(error) => (Level::Warning, texts::not_exported(error)),
        };
        notice(&events, level, text);
    });
}

pub fn changes(reviewer: Reviewer, turn: bool, events: Events) {
    tokio::task::spawn_blocking(move || {
        let _ = events.send(Event::Changes(reviewer.changes(turn)));
    });
}

fn unreadable(error: &std::io::Error, events: &Events) {
    let missing = error.kind() == ErrorKind::NotFound;
    notice(
        events,
        Level::Warning,
        if missing { texts::session_empty() } else { texts::log_unreadable(error) },
    );
}

/// Sends the first results after this many files, then whenever the number has doubled.
const FIRST_FILES: usize = 500;

pub fn files(root: PathBuf, events: Events) {
    tokio::task::spawn_blocking(move || {
        let all = names(&root, |some| drop(events.send(Event::SomeFiles(some.into()))));
        let _ = events.send(Event::Files(all.into()));
    });
}

/// The workspace's files and folders, without ignored ones.
fn names(root: &Path, early: impl Fn(&[String])) -> Vec<String> {
    let mut files = Vec::new();
    let mut next = FIRST_FILES;
    for entry in Walk::new(root).sorted() {
        if files.len() >= MAX_FILES {
            break;
        }
        let Ok(path) = entry.path().strip_prefix(root) else { continue };
        if path.as_os_str().is_empty() {
            continue;
        }
        let mut name = path.to_string_lossy().into_owned();
        if !walk::is_file(&entry) {
            name.push('/');
        }
        files.push(name);
        if files.len() == next {
            early(&files);
            next *= 2;
        }
    }
    files
}
