//! The list of notes, cached in `notes_index.json`. The files are authoritative: changed ones are read again
//! each time.

use std::collections::{HashMap, HashSet};
use std::fs;

use serde::{Deserialize, Serialize};

use super::error::NoteError;
use super::folder::{ARCHIVE, FolderEntry, INDEX_FILE, Lock, NoteFolder};
use super::name;
use super::record::{Note, NoteFacts, NoteKind, USUAL_IMPORTANCE};
use base::folder::atomic_write::Expect;
use base::format::{encoding, frontmatter};
use base::pattern::Pattern;
use base::{clock, file, text};

/// Larger files are left out, because notes are meant to be read.
pub const MAX_NOTE_BYTES: u64 = 1024 * 1024;
const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;
/// Raise when the index format changes; an index with another number is rebuilt.
const VERSION: u32 = 2;
/// A file changed this shortly before the index was written may change again without a new time stamp.
const TICK_MS: i64 = 2_000;
const MAX_TITLE_CHARS: usize = 200;
const MAX_GIST_CHARS: usize = 300;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct NoteEntry {
    #[serde(flatten)]
    seen: FolderEntry,
    hash: String,
    facts: NoteFacts,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct IndexFile {
    version: u32,
    written_ms: u64,
    count: usize,
    /// Checksum of `notes`, to detect manual edits and truncation.
    check: String,
    notes: Vec<NoteEntry>,
}

#[derive(Debug, Default)]
pub struct NoteListing {
    /// Current notes before archived ones, each by file name.
    pub notes: Vec<Note>,
    pub notices: Vec<String>,
}

/// Updates the index if possible; a read-only folder works too.
pub fn load(folder: &NoteFolder) -> Result<NoteListing, NoteError> {
    let (listing, outdated) = look(folder)?;
    match outdated.is_some().then(|| folder.lock_if_free()).flatten() {
        Some(lock) => load_locked(folder, &lock),
        // The list is correct even if the index is locked or read-only.
        None => Ok(listing),
    }
}

pub fn load_locked(folder: &NoteFolder, _lock: &Lock) -> Result<NoteListing, NoteError> {
    let (mut listing, outdated) = look(folder)?;
    if let Some(Err(why)) = outdated.map(|entries| write(folder, entries)) {
        listing.notices.push(format!("{INDEX_FILE} can't be written: it {why}"));
    }
    Ok(listing)
}

/// The notes, and new index entries if the stored ones are outdated.
fn look(folder: &NoteFolder) -> Result<(NoteListing, Option<Vec<NoteEntry>>), NoteError> {
    let (files, mut notices) = folder.files()?;
    let stored = stored(folder).unwrap_or_default();
    let known: HashMap<&str, &NoteEntry> =
        stored.notes.iter().map(|entry| (entry.seen.file.as_str(), entry)).collect();
    let settled = |seen: &FolderEntry, at_ms: u64| seen.modified_ns / 1_000_000 + TICK_MS < at_ms as i64;
    let now_ms = clock::now_ms();
    let mut entries = Vec::with_capacity(files.len());
    let mut in_step = true;
    for seen in files {
        let trusted = settled(&seen, stored.written_ms);
        // Rewriting the index after the clock tick makes it trustworthy for this file.
        in_step &= trusted || !settled(&seen, now_ms);
        let entry = match known.get(seen.file.as_str()) {
            Some(entry) if trusted && entry.seen == seen => Ok((*entry).clone()),
            _ => read(folder, &seen),
        };
        match entry {
            Ok(entry) => entries.push(entry),
            Err(why) => notices.push(format!("{} {why}: skipped", seen.file)),
        }
    }
    let notes = named(&entries, &mut notices);
    let outdated = (!in_step || stored.notes != entries).then_some(entries);
    Ok((NoteListing { notes, notices }, outdated))
}

fn stored(folder: &NoteFolder) -> Option<IndexFile> {
    let bytes = folder.read(INDEX_FILE, MAX_INDEX_BYTES).ok()?;
    let index: IndexFile = serde_json::from_slice(&bytes).ok()?;
    let whole =
        index.version == VERSION && index.count == index.notes.len() && index.check == check(&index.notes);
    whole.then_some(index)
}

fn check(notes: &[NoteEntry]) -> String {
    file::hash(&serde_json::to_vec(notes).unwrap_or_default())
}

fn write(folder: &NoteFolder, notes: Vec<NoteEntry>) -> Result<(), String> {
    let path = folder.path.join(INDEX_FILE);
    if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        return Err("is a link or a folder; remove it".to_owned());
    }
    let index = IndexFile {
        version: VERSION,
        written_ms: clock::now_ms(),
        count: notes.len(),
        check: check(&notes),
        notes,
    };
    let mut bytes = serde_json::to_vec_pretty(&index).map_err(|error| error.to_string())?;
    bytes.push(b'\n');
    folder.write(INDEX_FILE, &bytes, Expect::Anything).map_err(|error| error.to_string())
}

fn read(folder: &NoteFolder, seen: &FolderEntry) -> Result<NoteEntry, String> {
    let bytes = folder.read(&seen.file, MAX_NOTE_BYTES).map_err(|error| error.to_string())?;
    let Ok((text, _)) = encoding::decode(&bytes) else {
        return Err(format!("is a {}, not text", file::binary_kind(&bytes)));
    };
    Ok(NoteEntry { seen: seen.clone(), hash: file::hash(&bytes), facts: facts(folder, &seen.file, &text) })
}

static WIKI_LINK: Pattern = Pattern::new(r"\[\[([^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]*)?\]\]");

pub fn facts(folder: &NoteFolder, file: &str, text: &str) -> NoteFacts {
    let parts = frontmatter::split(text);
    let head = parts.head.unwrap_or("");
    let mut oddities = Vec::new();
    let map = frontmatter::read(head).unwrap_or_else(|why| {
        oddities.push(format!("its front matter can't be read: {why}"));
        serde_json::Map::new()
    });
    let value = |key: &str| frontmatter::text_of(head, &map, key);
    let id = value("id");
    if let Some(bad) = id.as_deref().filter(|id| !name::is_id(id)) {
        oddities.push(format!("'{}' is not a valid id", text::one_line(bad, 60)));
    }
    let kind = value("type").map(|kind| kind.parse::<NoteKind>());
    if let Some(Err(why)) = &kind {
        oddities.push(text::one_line(why, 200));
    }
    let files = frontmatter::list_of(&map, "files")
        .iter()
        .filter_map(|path| name::project_path(&folder.root, path).map_err(|why| oddities.push(why)).ok())
        .collect();
    let mut links: Vec<String> = frontmatter::list_of(&map, "links")
        .into_iter()
        .map(|link| link.trim_matches(['[', ']']).to_owned())
        .collect();
    links.extend(WIKI_LINK.captures_iter(parts.body).map(|found| found[1].trim().to_owned()));
    let mut tags: Vec<String> = frontmatter::list_of(&map, "tags")
        .iter()
        .map(|tag| text::one_line(tag.trim_start_matches('#'), 60))
        .collect();
    for list in [&mut links, &mut tags] {
        let mut known = HashSet::new();
        list.retain(|item| !item.is_empty() && known.insert(item.clone()));
    }
    let stem = file.rsplit('/').next().unwrap_or(file);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let title =
        value("title").or_else(|| heading(parts.body)).unwrap_or_else(|| stem.replace(['-', '_'], " "));
    NoteFacts {
        id: id.filter(|id| name::is_id(id)),
        title: text::one_line(&title, MAX_TITLE_CHARS),
        kind: kind.and_then(Result::ok).unwrap_or_default(),
        tags,
        files,
        links,
        importance: value("importance").map_or(USUAL_IMPORTANCE, |word| importance(&word)),
        created_ms: value("created_at").and_then(|when| time(&when)),
        updated_ms: value("updated_at").and_then(|when| time(&when)),
        status: value("status"),
        gist: gist(parts.body),
        oddity: (!oddities.is_empty()).then(|| oddities.join("; ")),
    }
}

fn heading(body: &str) -> Option<String> {
    let line = body.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim_start_matches('#').trim().to_owned())
        .filter(|title| line.starts_with('#') && !title.is_empty())
}

fn gist(body: &str) -> String {
    let line = body
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#') && line.chars().any(char::is_alphanumeric))
        .unwrap_or("");
    let end =
        line.match_indices(['.', '!', '?', '。', '！', '？']).map(|(at, sign)| at + sign.len()).find(|end| {
            *end > 40 && line[*end..].starts_with([' ', '\t']) || line[..*end].ends_with(['。', '！', '？'])
        });
    text::one_line(&line[..end.unwrap_or(line.len())], MAX_GIST_CHARS)
}

/// A number from 1–5, a share of 0–1, or a word.
fn importance(word: &str) -> u8 {
    match word.to_lowercase().as_str() {
        "lowest" | "trivial" => 1,
        "low" | "minor" => 2,
        "high" | "major" => 4,
        "highest" | "critical" => 5,
        word => match word.parse::<f64>() {
            Ok(share) if word.contains('.') && (0.0..=1.0).contains(&share) => {
                1 + (share * 4.0).round() as u8
            }
            Ok(number) => number.round().clamp(1.0, 5.0) as u8,
            Err(_) => USUAL_IMPORTANCE,
        },
    }
}

/// A date or time in the forms used by people and other programs; UTC if there is no zone.
fn time(text: &str) -> Option<u64> {
    let stamp = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let plain: jiff::civil::DateTime = text.parse().ok()?;
        Some(plain.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })?;
    u64::try_from(stamp.as_millisecond()).ok()
}

/// Gives every file a unique id: its own, unless an earlier file has the same one (a manual copy).
fn named(entries: &[NoteEntry], notices: &mut Vec<String>) -> Vec<Note> {
    // The file with its id in its name is the original.
    let is_home = |entry: &NoteEntry, id: &str| name::id_of_file(&entry.seen.file).ends_with(id);
    let mut owner: HashMap<&str, usize> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let Some(id) = entry.facts.id.as_deref() else { continue };
        match owner.get(id) {
            Some(&other) if is_home(&entries[other], id) || !is_home(entry, id) => {}
            _ => {
                owner.insert(id, at);
            }
        }
    }
    let mut taken: HashSet<String> = owner.keys().map(|id| (*id).to_owned()).collect();
    let mut notes = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let own = entry.facts.id.clone().filter(|id| owner.get(id.as_str()) == Some(&at));
        let id = own.unwrap_or_else(|| {
            let base = name::id_of_file(&entry.seen.file);
            let mut id = base.clone();
            let mut number = 2;
            while !taken.insert(id.clone()) {
                id = format!("{base}-{number}");
                number += 1;
            }
            if let Some(claimed) = &entry.facts.id {
                notices.push(format!(
                    "{} has the id {claimed} of another note; it is listed as {id}",
                    entry.seen.file
                ));
            }
            id
        });
        if let Some(oddity) = &entry.facts.oddity {
            notices.push(format!("{}: {oddity}", entry.seen.file));
        }
        let modified_ms = u64::try_from(entry.seen.modified_ns / 1_000_000).unwrap_or(0);
        notes.push(Note {
            id,
            file: entry.seen.file.clone(),
            archived: entry.seen.file.starts_with(&format!("{ARCHIVE}/")),
            hash: entry.hash.clone(),
            bytes: entry.seen.bytes,
            changed_ms: entry.facts.updated_ms.or(entry.facts.created_ms).unwrap_or(modified_ms),
            facts: entry.facts.clone(),
        });
    }
    notes
}
