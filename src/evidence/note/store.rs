//! The project's notes. Changes take the folder's lock and replace files atomically; notes are never deleted.

use std::path::Path;

use serde_json::{Value, json};

use super::error::NoteError;
use super::folder::{ARCHIVE, Lock, NoteFolder};
use super::index::{self, MAX_NOTE_BYTES, NoteListing};
use super::name;
use super::record::{FOLDER, Note, NoteKind, USUAL_IMPORTANCE};
use base::file::FileError;
use base::folder::atomic_write::Expect;
use base::format::{encoding, frontmatter};
use base::text;

const MAX_TITLE_CHARS: usize = 200;
const MAX_LIST: usize = 50;
const MAX_TAG_CHARS: usize = 60;
const MAX_NAMES: usize = 1_000;

#[derive(Clone, Debug)]
pub struct NoteStore {
    pub folder: NoteFolder,
}

/// What to set; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteChange {
    pub title: Option<String>,
    pub content: Option<String>,
    pub kind: Option<NoteKind>,
    pub tags: Option<Vec<String>>,
    pub files: Option<Vec<String>>,
    pub links: Option<Vec<String>>,
    pub importance: Option<u8>,
}

impl NoteChange {
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let fields = [
            ("title", self.title.as_ref().map(|title| json!(title))),
            ("type", self.kind.map(|kind| json!(kind.as_str()))),
            ("tags", self.tags.as_ref().map(|tags| json!(tags))),
            ("files", self.files.as_ref().map(|files| json!(files))),
            ("links", self.links.as_ref().map(|links| json!(links))),
            ("importance", self.importance.map(|importance| json!(importance))),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

impl NoteStore {
    pub fn new(root: &Path) -> Self {
        Self { folder: NoteFolder::new(root) }
    }

    pub fn list(&self) -> Result<NoteListing, NoteError> {
        index::load(&self.folder)
    }

    /// The current text, without byte order mark and with `\n` line ends.
    pub fn text(&self, note: &Note) -> Result<String, NoteError> {
        let (text, ..) = self.raw(note)?;
        Ok(text.replace("\r\n", "\n"))
    }

    pub fn body(&self, note: &Note) -> Result<String, NoteError> {
        Ok(frontmatter::split(&self.text(note)?).body.trim().to_owned())
    }

    fn raw(&self, note: &Note) -> Result<(String, encoding::Encoding, Vec<u8>), NoteError> {
        let refused = |error: FileError| NoteError::file(&note.file, error);
        let bytes = self.folder.read(&note.file, MAX_NOTE_BYTES).map_err(|error| match error {
            FileError::Links => refused(FileError::Special("link")),
            error => refused(error),
        })?;
        match encoding::decode(&bytes) {
            Ok((text, encoding)) => Ok((text, encoding, bytes)),
            Err(_) => Err(refused(FileError::Unable("is binary data, not text".to_owned()))),
        }
    }

    pub fn create(&self, change: NoteChange) -> Result<Note, NoteError> {
        let change = self.checked(change)?;
        let content = change.content.clone().unwrap_or_default();
        let title = match &change.title {
            Some(title) => title.clone(),
            None => first_line(&content),
        };
        if title.is_empty() {
            return Err(NoteError::Invalid("a note needs a title or content".to_owned()));
        }
        let lock = self.folder.lock()?;
        let listing = index::load_locked(&self.folder, &lock)?;
        let (kind, files) = (change.kind.unwrap_or_default(), change.files.clone().unwrap_or_default());
        let is_twin = |note: &&Note| {
            !note.archived
                && note.facts.title == title
                && note.facts.kind == kind
                && note.facts.files == files
        };
        if let Some(twin) = listing.notes.iter().find(is_twin) {
            return Err(NoteError::Twin { id: twin.id.clone() });
        }
        let mut id = name::new_id();
        while listing.notes.iter().any(|note| note.id == id) {
            id = name::new_id();
        }
        let now = now();
        let whole = NoteChange {
            title: Some(title.clone()),
            content: None,
            kind: Some(change.kind.unwrap_or_default()),
            tags: Some(change.tags.unwrap_or_default()),
            files: Some(change.files.unwrap_or_default()),
            links: Some(change.links.unwrap_or_default()),
            importance: Some(change.importance.unwrap_or(USUAL_IMPORTANCE)),
        };
        let head: Vec<(&str, Value)> = [("id", json!(id))]
            .into_iter()
            .chain(whole.fields())
            .chain([("created_at", json!(now)), ("updated_at", json!(now))])
            .collect();
        let body = if content.is_empty() { String::new() } else { format!("\n{}\n", content.trim_end()) };
        let text = format!("---\n---\n{body}");
        let file = format!("{}-{id}.md", name::slug(&title));
        let text = frontmatter::set(&text, &head)
            .map_err(|why| NoteError::FrontMatter { name: file.clone(), why })?;
        self.folder
            .write(&file, text.as_bytes(), Expect::Missing)
            .map_err(|error| NoteError::file(&file, error))?;
        self.again(&file, &lock)
    }

    /// Everything else stays the same, byte for byte.
    pub fn update(&self, wanted: &str, change: NoteChange) -> Result<Note, NoteError> {
        let change = self.checked(change)?;
        let lock = self.folder.lock()?;
        let listing = index::load_locked(&self.folder, &lock)?;
        let note = find(&listing.notes, wanted, false)?;
        let (old, encoding, bytes) = self.raw(note)?;
        let mut head = change.fields();
        if head.is_empty() && change.content.is_none() {
            return Err(NoteError::Invalid("nothing to change was given".to_owned()));
        }
        let readable = frontmatter::split(&old).head.is_some_and(|head| frontmatter::read(head).is_ok());
        let mut text = match &change.content {
            Some(content) => with_body(&old, content),
            None => old.clone(),
        };
        // If only the body changes, missing or broken front matter stays that way.
        if readable || !head.is_empty() {
            head.push(("updated_at", json!(now())));
            text = frontmatter::set(&text, &head)
                .map_err(|why| NoteError::FrontMatter { name: note.path(), why })?;
        }
        let encoded = encoding::encode(&text, encoding).map_err(|sign| {
            let (name, path) = (encoding.name(), note.path());
            NoteError::Invalid(format!("'{sign}' can't be written in {name}, the encoding of {path}"))
        })?;
        self.folder
            .write(&note.file, &encoded, Expect::Bytes(&bytes))
            .map_err(|error| NoteError::file(&note.file, error))?;
        self.again(&note.file.clone(), &lock)
    }

    pub fn archive(&self, wanted: &str) -> Result<Note, NoteError> {
        self.relocate(wanted, true)
    }

    pub fn restore(&self, wanted: &str) -> Result<Note, NoteError> {
        self.relocate(wanted, false)
    }

    fn relocate(&self, wanted: &str, away: bool) -> Result<Note, NoteError> {
        let lock = self.folder.lock()?;
        let listing = index::load_locked(&self.folder, &lock)?;
        let note = find(&listing.notes, wanted, !away)?;
        if note.archived == away {
            let state = if away { "already archived" } else { "not archived" };
            return Err(NoteError::Invalid(format!("the note {} is {state}", note.id)));
        }
        let refused = |error: FileError| NoteError::file(&note.file, error);
        self.folder.make_archive()?;
        let name = note.file.rsplit('/').next().unwrap_or(&note.file);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, "md"));
        let prefix = if away { format!("{ARCHIVE}/") } else { String::new() };
        for number in 1..MAX_NAMES {
            let file = match number {
                1 => format!("{prefix}{name}"),
                number => format!("{prefix}{stem}-{number}.{extension}"),
            };
            match self.folder.rename(&note.file, &file) {
                Ok(()) => return self.again(&file, &lock),
                Err(FileError::Exists) => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(refused(FileError::Exists))
    }

    fn again(&self, file: &str, lock: &Lock) -> Result<Note, NoteError> {
        let listing = index::load_locked(&self.folder, lock)?;
        listing
            .notes
            .into_iter()
            .find(|note| note.file == file)
            .ok_or_else(|| NoteError::file(file, FileError::NotFound))
    }

    fn checked(&self, mut change: NoteChange) -> Result<NoteChange, NoteError> {
        let invalid = |message: String| Err(NoteError::Invalid(message));
        change.title = change.title.map(|title| text::one_line(&title, MAX_TITLE_CHARS));
        if change.title.as_deref() == Some("") {
            return invalid("the title is empty".to_owned());
        }
        if let Some(content) = &change.content {
            if content.len() as u64 > MAX_NOTE_BYTES / 4 {
                return invalid(format!(
                    "the content has {}, more than the limit of {}; keep what matters, and name the file with the rest",
                    text::human_bytes(content.len() as u64),
                    text::human_bytes(MAX_NOTE_BYTES / 4)
                ));
            }
            if content.contains('\0') {
                return invalid("the content contains a NUL character".to_owned());
            }
        }
        if change.importance.is_some_and(|importance| !(1..=5).contains(&importance)) {
            return invalid("importance must be from 1 to 5".to_owned());
        }
        for (what, list) in [("tags", &change.tags), ("files", &change.files), ("links", &change.links)] {
            if list.as_ref().is_some_and(|list| list.len() > MAX_LIST) {
                return invalid(format!("more than {MAX_LIST} {what}"));
            }
        }
        change.tags = change.tags.map(|tags| {
            tags.iter()
                .map(|tag| text::one_line(tag.trim_start_matches('#'), MAX_TAG_CHARS))
                .filter(|tag| !tag.is_empty())
                .collect()
        });
        for file in change.files.iter_mut().flatten() {
            *file = name::project_path(&self.folder.root, file).map_err(NoteError::Invalid)?;
        }
        for link in change.links.iter_mut().flatten() {
            *link = link.trim().trim_matches(['[', ']']).to_owned();
            if !name::is_id(link) {
                return invalid(format!("'{}' is not the id of a note", text::one_line(link, 60)));
            }
        }
        Ok(change)
    }
}

/// By id, file name, or an unambiguous start of an id; `archived_first` decides if both kinds match.
pub fn find<'a>(notes: &'a [Note], wanted: &str, archived_first: bool) -> Result<&'a Note, NoteError> {
    let wanted = wanted.trim().trim_start_matches("[[").trim_end_matches("]]");
    if let Some(exact) = notes.iter().find(|note| note.id == wanted) {
        return Ok(exact);
    }
    let stem = wanted.strip_prefix(FOLDER).map_or(wanted, |rest| rest.trim_start_matches('/'));
    let by_file = |note: &&Note| note.file == stem || note.file.strip_suffix(".md") == Some(stem);
    if let Some(exact) = notes.iter().find(by_file) {
        return Ok(exact);
    }
    let mut fits: Vec<&Note> =
        notes.iter().filter(|note| wanted.len() >= 3 && note.id.starts_with(wanted)).collect();
    if fits.len() > 1 && fits.iter().any(|note| note.archived == archived_first) {
        fits.retain(|note| note.archived == archived_first);
    }
    match fits.as_slice() {
        [one] => Ok(one),
        [] => {
            let names = notes.iter().map(|note| note.id.as_str());
            let near = base::search::fuzzy::nearest_name(wanted, names)
                .map_or(String::new(), |near| format!(" (did you mean {near}?)"));
            Err(NoteError::NoSuch { wanted: text::one_line(wanted, 80), near })
        }
        several => Err(NoteError::Ambiguous {
            wanted: text::one_line(wanted, 80),
            candidates: several.iter().take(5).map(|note| note.id.as_str()).collect::<Vec<_>>().join(", "),
        }),
    }
}

fn first_line(content: &str) -> String {
    let line = content.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    text::one_line(line.trim_start_matches('#'), 80)
}

/// Replaces the body, keeping the file's line ends.
fn with_body(old: &str, content: &str) -> String {
    let parts = frontmatter::split(old);
    let head = &old[..old.len() - parts.body.len()];
    let gap = if head.is_empty() || content.is_empty() { "" } else { "\n" };
    let end = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
    let body = format!("{gap}{}{end}", content.replace("\r\n", "\n"));
    let crlf = old.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n"));
    let body = if crlf { body.replace('\n', "\r\n") } else { body };
    format!("{head}{body}")
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
