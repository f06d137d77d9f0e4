//! Lists stored sessions by reading both ends of each log, so there is no index to get out of date
//! and no log is read in full.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::session::log;
use crate::session::record::{Meta, Record};
use base::clock;
use base::file;
use base::model::item::Item;
use base::protocol::event::SessionRow;
use base::protocol::lists::PreviewMessage;
use base::text;

/// Bytes read from a log's start, in steps, until the first message is found.
const HEAD_BYTES: [u64; 2] = [8 * 1024, 64 * 1024];
/// Bytes read from its end until the end of a turn is found.
const TAIL_BYTES: [u64; 3] = [4 * 1024, 64 * 1024, 1024 * 1024];
const TITLE_BYTES: usize = 2 * 1024;
const PREVIEW_CHARS: usize = 300;
/// The JSON key that tells the kind of an item is within this many bytes.
const ITEM_START_BYTES: usize = 128;

/// The sessions of one project, newest first, without unreadable files.
pub fn list(project_state: &Path) -> Vec<SessionRow> {
    rows(newest(files(project_state)))
}

/// The sessions of all projects, newest first; `projects` is the folder with the projects' state.
pub fn everywhere(projects: &Path, most: usize) -> Vec<SessionRow> {
    let mut logs = newest(states(projects).flat_map(|state| files(&state)).collect());
    logs.truncate(most);
    rows(logs)
}

fn states(projects: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(projects).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn rows(logs: Vec<(PathBuf, u64)>) -> Vec<SessionRow> {
    logs.into_iter().filter_map(|(path, ms)| row(&path, ms)).collect()
}

fn newest(mut logs: Vec<(PathBuf, u64)>) -> Vec<(PathBuf, u64)> {
    logs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.file_name().cmp(&a.0.file_name())));
    logs
}

pub fn last(project_state: &Path) -> Option<PathBuf> {
    let mut paths = newest(files(project_state)).into_iter().map(|(path, _)| path);
    paths.find(|path| !meta(path).is_some_and(|meta| meta.review))
}

pub fn project_of(projects: &Path, id: &str) -> Option<PathBuf> {
    states(projects).find(|state| has(state, id))
}

pub fn has(project_state: &Path, id: &str) -> bool {
    find(project_state, id).is_ok_and(|path| path.file_stem().is_some_and(|stem| stem == id))
}

/// The one session whose id is `wanted` or begins with it.
pub fn find(project_state: &Path, wanted: &str) -> Result<PathBuf, String> {
    let stem =
        |path: &PathBuf| path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let mut hits: Vec<PathBuf> = files(project_state).into_iter().map(|(path, _)| path).collect();
    if let Some(exact) = hits.iter().find(|path| stem(path) == wanted) {
        return Ok(exact.clone());
    }
    hits.retain(|path| stem(path).starts_with(wanted) && !wanted.is_empty());
    match hits.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!("no session '{wanted}' in this project")),
        several => Err(format!(
            "'{wanted}' matches {} sessions ({}); type more of the ID",
            several.len(),
            several.iter().take(4).map(stem).collect::<Vec<_>>().join(", ")
        )),
    }
}

pub fn meta(path: &Path) -> Option<Meta> {
    let (mut log, _) = file::open(path).ok()?;
    let head = part(&mut log, 0, HEAD_BYTES[0]).ok()?;
    let first = head.split(|byte| *byte == b'\n').next()?;
    let Ok(Record::Meta(meta)) = serde_json::from_slice(first) else { return None };
    Some(meta)
}

pub fn made_for(project_state: &Path, session: &str, call_id: &str) -> Option<String> {
    files(project_state).into_iter().find_map(|(path, _)| {
        let meta = meta(&path)?;
        let parent = meta.parent?;
        (parent.session == session && parent.call_id == call_id).then_some(meta.id)
    })
}

/// The logs changed at or after `since`, in milliseconds since the Unix epoch.
pub fn changed_since(project_state: &Path, since: u64) -> Vec<PathBuf> {
    files(project_state).into_iter().filter(|(_, ms)| *ms >= since).map(|(path, _)| path).collect()
}

pub fn title_path(log: &Path) -> PathBuf {
    log.with_extension("title")
}

/// The last messages of a session, oldest first, from the end of its log.
pub fn last_messages(path: &Path, most: usize) -> io::Result<Vec<PreviewMessage>> {
    let (mut log, meta) = file::open(path).map_err(io::Error::other)?;
    let mut messages = Vec::new();
    for bytes in TAIL_BYTES {
        let tail = part(&mut log, meta.len().saturating_sub(bytes), bytes)?;
        messages = tail.split(|byte| *byte == b'\n').filter_map(message).collect();
        if messages.len() >= most || meta.len() <= bytes {
            break;
        }
    }
    messages.drain(..messages.len().saturating_sub(most));
    Ok(messages)
}

fn message(line: &[u8]) -> Option<PreviewMessage> {
    let is = |who: &[u8]| memchr::memmem::find(&line[..line.len().min(ITEM_START_BYTES)], who).is_some();
    if !(is(br#""item":{"user":"#) || is(br#""item":{"assistant":"#)) {
        return None;
    }
    let Ok(Record::Item(record)) = serde_json::from_slice(line) else { return None };
    let of = |by_user, text: &str| PreviewMessage { by_user, text: text::one_line(text, PREVIEW_CHARS) };
    match &*record.item {
        Item::User(message) => Some(of(true, &message.text)),
        Item::Assistant { text, .. } if !text.trim().is_empty() => Some(of(false, text)),
        _ => None,
    }
}

fn files(project_state: &Path) -> Vec<(PathBuf, u64)> {
    let Ok(entries) = fs::read_dir(project_state.join("sessions")) else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|path| {
            // Links and other users' files aren't our sessions.
            let meta = fs::symlink_metadata(&path).ok().filter(log::is_own)?;
            Some((path, meta.modified().map_or(0, clock::to_ms)))
        })
        .collect()
}

fn row(path: &Path, updated_ms: u64) -> Option<SessionRow> {
    let (mut log, meta) = file::open(path).ok()?;
    let begun = beginning(&mut log, meta.len()).ok()?;
    let (turns, cost_usd) = turns(&mut log, meta.len()).ok()?;
    let id = path.file_stem()?.to_string_lossy().into_owned();
    let title = file::small_text(&title_path(path), TITLE_BYTES as u64).unwrap_or(begun.title);
    Some(SessionRow { id, title, turns, updated_ms, cost_usd, ..begun })
}

/// What the start of the log tells about the session.
fn beginning(log: &mut (impl Read + Seek), size: u64) -> io::Result<SessionRow> {
    let mut row = SessionRow::default();
    for bytes in HEAD_BYTES {
        let head = part(log, 0, bytes)?;
        let mut lines = head.split(|byte| *byte == b'\n');
        if let Some(Ok(Record::Meta(meta))) = lines.next().map(serde_json::from_slice) {
            (row.workspace, row.branch, row.headless) = (meta.workspace, meta.branch, meta.headless);
        }
        if let Some(text) = lines.find_map(message_start) {
            row.title = text::one_line(&text, 100);
            break;
        }
        if size <= bytes {
            break;
        }
    }
    Ok(row)
}

fn message_start(line: &[u8]) -> Option<String> {
    const TEXT: &[u8] = br#","item":{"user":{"text":"#;
    let start = line.strip_prefix(br#"{"item":{"id":"#)?;
    let start = &start[..start.len().min(ITEM_START_BYTES + TITLE_BYTES)];
    let at = memchr::memmem::find(&start[..start.len().min(ITEM_START_BYTES)], TEXT)? + TEXT.len();
    let text = String::from_utf8_lossy(&start[at..]);
    if let Some(Ok(whole)) = serde_json::Deserializer::from_str(&text).into_iter().next() {
        return Some(whole);
    }
    // Ends at the last complete character; an escaped character takes up to twelve bytes.
    let ended = |cut: usize| {
        let end = text.floor_char_boundary(text.len().saturating_sub(cut));
        serde_json::from_str(&format!("{}\"", &text[..end])).ok()
    };
    (0..12).find_map(ended)
}

/// Number and cost of finished turns, from the last turn's record; in older logs, of those in the part that was read.
fn turns(log: &mut (impl Read + Seek), size: u64) -> io::Result<(usize, Option<f64>)> {
    let (mut count, mut cost) = (0, None);
    for bytes in TAIL_BYTES {
        let tail = part(log, size.saturating_sub(bytes), bytes)?;
        let ends = tail.split(|byte| *byte == b'\n').filter(|line| line.starts_with(br#"{"turn_end":"#));
        let numbers: Vec<usize> = ends
            .map(|line| match serde_json::from_slice(line) {
                Ok(Record::TurnEnd { turn, cost_usd, .. }) => {
                    cost = cost_usd;
                    turn
                }
                _ => 0,
            })
            .collect();
        count = numbers.last().copied().unwrap_or(0).max(numbers.len());
        let numbered = numbers.last().is_some_and(|number| *number > 0);
        let enough = bytes > TAIL_BYTES[0] && count > 0;
        if numbered || enough || size <= bytes {
            break;
        }
    }
    Ok((count, cost))
}

fn part(log: &mut (impl Read + Seek), from: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    log.seek(SeekFrom::Start(from))?;
    log.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::session::log::SessionLog;
    use crate::session::record::ItemRecord;
    use base::model::item::{ItemId, UserMessage};
    use base::model::usage::Usage;
    use base::protocol::event::{EndReason, TurnEnd};
    use std::path::PathBuf;

    fn user(text: &str) -> Record {
        let item = Item::User(UserMessage::new(text)).into();
        Record::Item(ItemRecord { id: ItemId(1), ms: 1_795_326_633_260, tokens: 1, item })
    }

    fn turn_end(turn: usize) -> Record {
        let end = TurnEnd {
            reason: EndReason::Done,
            steps: 1,
            denied: 0,
            usage: Usage::default(),
            elapsed_ms: 1,
            ..TurnEnd::default()
        };
        Record::TurnEnd { ms: 1, end, turn, cost_usd: Some(0.25) }
    }

    fn stored(folder: &Path, id: &str, records: &[Record]) -> PathBuf {
        let mut log = SessionLog::create(folder, id, Path::new("/w"), |_| ()).unwrap();
        records.iter().for_each(|record| log.append(record).unwrap());
        log.path().to_owned()
    }

    #[test]
    fn titles_of_long_messages_are_cut() {
        for text in
            ["word ".repeat(40_000), "\"é\\\n😀".repeat(30_000), "\u{1}".repeat(90_000), "\n".repeat(90_000)]
        {
            let dir = tempfile::tempdir().unwrap();
            stored(dir.path(), "a", &[user(&text), turn_end(1)]);
            let row = list(dir.path()).remove(0);
            let title = text::one_line(&text, 100);
            assert_eq!((row.title, row.turns, row.workspace.as_str()), (title, 1, "/w"));
        }
        for cut in 1..40 {
            let line = serde_json::to_vec(&user("é\u{1}😀\"\\ end")).unwrap();
            let start = message_start(&line[..line.len() - cut]).unwrap_or_default();
            assert!("é\u{1}😀\"\\ end".starts_with(start.trim_end_matches('\u{fffd}')), "{start}");
        }
    }

    #[test]
    fn turns_come_from_the_end_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let answer = "x".repeat(200_000);
        let numbered = [user("one"), turn_end(1), user(&answer), turn_end(2), user("three")];
        stored(dir.path(), "a", &numbered);
        let older = [user("one"), turn_end(0), user("two"), turn_end(0)];
        stored(dir.path(), "b", &older);
        stored(dir.path(), "c", &[user("one")]);
        let mut rows = list(dir.path());
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(rows.iter().map(|row| row.turns).collect::<Vec<_>>(), [2, 2, 0]);
    }

    struct Counted<R>(R, u64);

    impl<R: Read> Read for Counted<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read(buffer)?;
            self.1 += count as u64;
            Ok(count)
        }
    }

    impl<R: Seek> Seek for Counted<R> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn huge_logs_are_read_at_their_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = stored(dir.path(), "a", &[user(&"word ".repeat(40_000))]);
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(8 << 30).unwrap();
        drop(file);
        let mut log = SessionLog::open(&path).unwrap();
        log.append(&turn_end(321)).unwrap();
        let size = fs::metadata(&path).unwrap().len();
        let mut counted = Counted(fs::File::open(&path).unwrap(), 0);
        assert_eq!(beginning(&mut counted, size).unwrap().workspace, "/w");
        assert_eq!(turns(&mut counted, size).unwrap(), (321, Some(0.25)));
        assert_eq!(counted.1, HEAD_BYTES[0] + TAIL_BYTES[0]);
        assert!(list(dir.path())[0].title.starts_with("word word"));
    }
}
