//! What servers have reported, stored for later sessions in `servers.json` in the state folder: their windows, their refusals
//! of long requests, and refused fields. Small and written in full; an unreadable file, or another version's, counts
//! as empty.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use base::config::settings::{MAX_WINDOW_TOKENS, MIN_WINDOW_TOKENS, Origin};
use base::folder::update::update;
use base::{clock, file};

const VERSION: u32 = 1;
const MAX_BYTES: u64 = 256 * 1024;
const MAX_SERVERS: usize = 200;
const DAY_MS: u64 = 24 * 3_600_000;
/// Older records are outdated: servers get more memory, and models get other providers.
const KEPT_MS: u64 = 7 * DAY_MS;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelKey {
    pub server: String,
    pub model: String,
}

/// Times in milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// 0 to ask again.
    #[serde(default)]
    asked_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<u64>,
    /// Which of the server's answers said so.
    #[serde(default)]
    source: String,
    #[serde(default)]
    said_ms: u64,
    /// The window named in a refusal, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    #[serde(default)]
    refused_ms: u64,
    /// Fields to leave out of this model's requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    #[serde(default)]
    fields_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownWindow {
    pub tokens: u64,
    /// `Server` or `Error`.
    pub origin: Origin,
    /// Which of the server's answers said so, and when, unless it was just now.
    pub source: String,
}

impl ServerRecord {
    pub fn is_fresh(&self, now: u64) -> bool {
        now.abs_diff(self.asked_ms) < DAY_MS
    }

    pub fn was_asked(&self) -> bool {
        self.asked_ms > 0
    }

    /// The smaller of what the server reports and what it refuses.
    pub fn window(&self, now: u64) -> Option<KnownWindow> {
        let counts = |learned_ms: u64| now.abs_diff(learned_ms) < KEPT_MS;
        let said = self.said.filter(|_| counts(self.said_ms));
        let refused = self.refused.filter(|_| counts(self.refused_ms));
        let refused = refused.filter(|refused| said.is_none_or(|said| *refused < said));
        let known = match refused {
            Some(tokens) => KnownWindow {
                tokens,
                origin: Origin::Error,
                source: format!("a refusal of {}", clock::local(self.refused_ms)),
            },
            None => KnownWindow { tokens: said?, origin: Origin::Server, source: self.source.clone() },
        };
        (MIN_WINDOW_TOKENS..=MAX_WINDOW_TOKENS).contains(&known.tokens).then_some(known)
    }

    pub fn refused_fields(self, now: u64) -> Vec<String> {
        if now.abs_diff(self.fields_ms) < KEPT_MS { self.fields } else { Vec::new() }
    }

    fn ask(&mut self, answer: Option<(u64, &str)>, now: u64) {
        self.asked_ms = now;
        let Some((tokens, source)) = answer else { return };
        // It was set up differently, so an older refusal no longer applies.
        if self.said != Some(tokens) {
            self.refused = None;
        }
        (self.said, self.said_ms) = (Some(tokens), now);
        source.clone_into(&mut self.source);
    }

    fn refuse(&mut self, tokens: u64, now: u64) {
        (self.refused, self.refused_ms, self.asked_ms) = (Some(tokens), now, 0);
    }
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    place: ModelKey,
    #[serde(flatten)]
    record: ServerRecord,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    windows: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub struct KnownServers {
    path: PathBuf,
}

impl KnownServers {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub fn get(&self, place: &ModelKey) -> ServerRecord {
        let entry = self.read().into_iter().find(|entry| entry.place == *place);
        entry.map(|entry| entry.record).unwrap_or_default()
    }

    /// `answer` is the window that the server named, in tokens, and where.
    pub fn asked(&self, place: &ModelKey, answer: Option<(u64, &str)>) -> ServerRecord {
        self.change(place, |record| record.ask(answer, clock::now_ms()))
    }

    pub fn refused(&self, place: &ModelKey, tokens: u64) {
        if tokens >= MIN_WINDOW_TOKENS {
            self.change(place, |record| record.refuse(tokens, clock::now_ms()));
        }
    }

    pub fn refuses(&self, place: &ModelKey, fields: Vec<String>) {
        self.change(place, |record| {
            record.fields.retain(|known| !fields.contains(known));
            record.fields.extend(fields.iter().cloned());
            record.fields_ms = clock::now_ms();
        });
    }

    fn read(&self) -> Vec<Entry> {
        windows(file::small_text(&self.path, MAX_BYTES).unwrap_or_default().as_bytes())
    }

    fn change(&self, place: &ModelKey, change: impl Fn(&mut ServerRecord)) -> ServerRecord {
        let mut record = self.get(place);
        change(&mut record);
        // Failure is harmless.
        let _ = update(&self.path, |old| {
            let mut windows = windows(old.unwrap_or_default());
            let at = windows.iter().position(|entry| entry.place == *place);
            record = at.map(|at| windows.swap_remove(at).record).unwrap_or_default();
            change(&mut record);
            windows.push(Entry { place: place.clone(), record: record.clone() });
            let last_ms =
                |record: &ServerRecord| record.asked_ms.max(record.refused_ms).max(record.fields_ms);
            windows.sort_by_key(|entry| std::cmp::Reverse(last_ms(&entry.record)));
            windows.truncate(MAX_SERVERS);
            Ok(Some(serde_json::to_vec_pretty(&Contents { version: VERSION, windows })?))
        });
        record
    }
}

fn windows(text: &[u8]) -> Vec<Entry> {
    let contents: Option<Contents> = serde_json::from_slice(text).ok();
    contents
        .filter(|contents| contents.version == VERSION)
        .map(|contents| contents.windows)
        .unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn place(model: &str) -> ModelKey {
        ModelKey { server: "http://h/v1".to_owned(), model: model.to_owned() }
    }

    fn said(tokens: u64) -> (u64, &'static str) {
        (tokens, "its list of models")
    }

    fn window(record: &ServerRecord) -> Option<(u64, Origin)> {
        record.window(clock::now_ms()).map(|window| (window.tokens, window.origin))
    }

    #[test]
    fn what_a_server_says_and_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let windows = KnownServers::new(&folder.path().join("state/servers.json"));
        assert_eq!(windows.get(&place("m")), ServerRecord::default());
        windows.asked(&place("m"), Some(said(32_768)));
        windows.asked(&place("other"), None);
        assert_eq!(window(&windows.get(&place("m"))), Some((32_768, Origin::Server)));
        assert!(windows.get(&place("other")).is_fresh(clock::now_ms()));
        windows.refused(&place("m"), 8_192);
        let record = windows.get(&place("m"));
        assert_eq!(window(&record), Some((8_192, Origin::Error)));
        // It is asked again. The same answer doesn't undo the refusal; a different one does.
        assert!(!record.is_fresh(clock::now_ms()));
        assert_eq!(window(&windows.asked(&place("m"), Some(said(32_768)))), Some((8_192, Origin::Error)));
        assert_eq!(window(&windows.asked(&place("m"), Some(said(16_384)))), Some((16_384, Origin::Server)));
        windows.refused(&place("m"), 100_000);
        assert_eq!(window(&windows.get(&place("m"))), Some((16_384, Origin::Server)));
        windows.refused(&place("tiny"), 100);
        assert_eq!(windows.get(&place("tiny")), ServerRecord::default());
        // A server that is briefly down keeps its record, but not forever.
        assert_eq!(window(&windows.asked(&place("m"), None)), Some((16_384, Origin::Server)));
        assert_eq!(windows.get(&place("m")).window(clock::now_ms() + 8 * DAY_MS), None);
    }

    #[test]
    fn foreign_content_and_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        let windows = KnownServers::new(&path);
        for text in ["", "{}", "[1]", "{\"version\":2,\"windows\":[]}", "\u{0}"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(windows.get(&place("m")), ServerRecord::default(), "{text}");
        }
        let now = clock::now_ms();
        for (said, expected) in
            [("5", None), ("99999999999999", None), ("9000", Some((9_000, Origin::Server)))]
        {
            let entry =
                format!(r#"{{"server":"http://h/v1","model":"m","said":{said},"said_ms":{now},"more":0}}"#);
            std::fs::write(&path, format!(r#"{{"version":1,"windows":[{entry}]}}"#)).unwrap();
            assert_eq!(window(&windows.get(&place("m"))), expected);
        }
        for number in 0..MAX_SERVERS + 5 {
            windows.asked(&place(&number.to_string()), Some(said(8_192)));
        }
        assert_eq!(windows.read().len(), MAX_SERVERS);
        assert_eq!(window(&windows.get(&place("204"))), Some((8_192, Origin::Server)));
    }
}
