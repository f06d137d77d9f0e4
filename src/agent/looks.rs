//! Looks at the open session that need nothing but its log: the ledger while a turn runs, and the story of an item. They
//! work beside the turn, on a thread that may block, so that neither the loop nor the screen waits for them.

use std::path::PathBuf;

use super::control::Events;
use super::answer::notice;
use crate::config::settings::ContextSettings;
use crate::context::logbook::Logbook;
use crate::context::story;
use crate::protocol::event::{Event, Level};
use crate::session::reader;

/// Sends the ledger as the log tells it.
pub fn ledger(log: PathBuf, settings: ContextSettings, events: Events) {
    tokio::task::spawn_blocking(move || match reader::read(&log) {
        Ok(read) => {
            let _ = events.send(Event::Ledger(Logbook::of(&read.records).ledger(&settings)));
        }
        Err(error) => unreadable(&error, &events),
    });
}

/// Sends the story of what the ledger shows as `id`.
pub fn story(log: PathBuf, id: String, events: Events) {
    tokio::task::spawn_blocking(move || match reader::read(&log) {
        Ok(read) => match story::story(&read.records, &id) {
            Ok(story) => {
                let _ = events.send(Event::Story(story));
            }
            Err(refusal) => notice(&events, Level::Warning, format!("{refusal}.")),
        },
        Err(error) => unreadable(&error, &events),
    });
}

fn unreadable(error: &std::io::Error, events: &Events) {
    let text = if error.kind() == std::io::ErrorKind::NotFound {
        "Nothing was said in this session yet; type a task first.".to_owned()
    } else {
        format!("The session's log can't be read: {error}.")
    };
    notice(events, Level::Warning, text);
}
