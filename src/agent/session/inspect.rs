//! Views for front ends, read from files: ledger, transcript, changes, paths for the `@` popup.
//! Everything reads the disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::review;
use crate::control::Events;
use crate::deps::Exporter;
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
use tools::cx::ToolCx;

/// Most paths offered to the `@` popup.
const MAX_FILES: usize = 500_000;

pub fn ledger(log: &Path, settings: &ContextSettings) -> Event {
    match reader::read(log) {
        Ok(read) => Event::Ledger(SessionReplay::of(&read.records).ledger(settings)),
        Err(error) => unreadable(&error),
    }
}

pub fn item_history(log: &Path, id: &str) -> Event {
    match reader::read(log).map(|read| item_history::explain(&read.records, id)) {
        Ok(Ok(history)) => Event::ItemHistory(history),
        Ok(Err(refusal)) => Event::Notice { level: Level::Warning, text: format!("{refusal}.") },
        Err(error) => unreadable(&error),
    }
}

pub fn stats(log: &Path) -> Event {
    let text = match Report::of_log(log) {
        Ok(report) if !report.sessions.is_empty() => {
            let id = log.file_stem().unwrap_or_default().to_string_lossy();
            texts::session_stats(&id, render::bullets(&report).trim_end())
        }
        Err(error) if log.exists() => return unreadable(&error),
        _ => texts::SESSION_EMPTY.to_owned(),
    };
    Event::Notice { level: Level::Info, text }
}

/// The current items and those replaced by a summary; of a sub-agent if `agent` is set.
pub fn transcript(state: &Path, log: PathBuf, agent: Option<String>) -> Event {
    let of_agent = agent.as_ref().map(|agent| log::path_of(&log::agents_of(state), agent));
    match EffectiveSession::read(&of_agent.unwrap_or(log)) {
        Ok(session) => {
            let items = session.items().map(|(id, item)| (id, Arc::clone(item))).collect();
            Event::Transcript { agent, items }
        }
        // Empty session; the front end asks again later.
        Err(error) if error.kind() == ErrorKind::NotFound => Event::Transcript { agent, items: [].into() },
        Err(error) => unreadable(&error),
    }
}

pub fn changes(cx: &ToolCx, turn: bool) -> Event {
    Event::Changes(review::changes(cx, turn))
}

/// The file's extension decides the format.
pub fn export(exporter: Exporter, log: &Path, file: &Path, force: bool) -> Event {
    let (level, text) = match exporter(log, file, force) {
        Ok(()) => (Level::Info, texts::exported(file.display())),
        Err(_) if !log.exists() => (Level::Warning, texts::SESSION_EMPTY.to_owned()),
        Err(error) => (Level::Warning, texts::not_exported(error)),
    };
    Event::Notice { level, text }
}

fn unreadable(error: &std::io::Error) -> Event {
    let missing = error.kind() == ErrorKind::NotFound;
    let text = if missing { texts::SESSION_EMPTY.to_owned() } else { texts::log_unreadable(error) };
    Event::Notice { level: Level::Warning, text }
}

/// The first results are sent after this many files, more whenever the number has doubled.
const FIRST_FILES: usize = 500;

pub fn files(roots: &[PathBuf], events: &Events) -> Event {
    Event::Files(names(roots, |some| drop(events.send(Event::SomeFiles(some.into())))).into())
}

/// Files and folders of the workspace, then of added folders (absolute), without ignored ones.
fn names(roots: &[PathBuf], early: impl Fn(&[String])) -> Vec<String> {
    let mut files = Vec::new();
    let mut next = FIRST_FILES;
    let walks: Vec<Walk> = roots.iter().map(|root| Walk::new(root)).collect();
    for entry in walks.iter().flat_map(Walk::sorted) {
        if files.len() >= MAX_FILES {
            break;
        }
        let path = entry.path().strip_prefix(&roots[0]).unwrap_or(entry.path());
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
