//! Notes in a turn: the block of those that belong to a new task, and hints about the files that it seems to be about. The
//! block is found by the user's own words and files, hints by the files alone; neither repeats the other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::conversation::Conversation;
use base::clock;
use base::model::item::Item;
use base::sanitize;
use context::mention;
use context::tokens::estimate;
use evidence::hints::{ContextPacket, HintSource};
use evidence::keywords::Keyword;
use evidence::note::record::Note;
use evidence::note::retrieval::frame;
use evidence::note::retrieval::retrieve::{self, Form, Task};
use evidence::note::store::NoteStore;
use guard::redact::detector::TextSource;
use guard::redact::redactor::Redactor;

/// What the search may gather, in tokens; the context chooses among it.
const GATHERED_TOKENS: u32 = 4_000;
/// How a hint's line begins in the context.
const LINE: &str = "Note: ";

/// What notes may take of a request, in tokens, and at most which part of the window.
const MAX_NOTE_TOKENS: u64 = 800;
const NOTE_PART_OF_WINDOW: u64 = 40;

/// The notes of one project.
pub struct NoteHints {
    pub root: PathBuf,
}

impl HintSource for NoteHints {
    fn name(&self) -> &str {
        "notes"
    }

    fn hints(&self, _: &[Keyword], files: &[String]) -> Result<Vec<ContextPacket>, String> {
        let store = NoteStore::new(&self.root);
        let listing = store.list().map_err(|error| error.to_string())?;
        let task = Task {
            text: "",
            files,
            budget_tokens: GATHERED_TOKENS,
            tokens: &estimate::estimate,
            shown: &|_| false,
            now_ms: clock::now_ms(),
        };
        let hints = retrieve::retrieve(&store, &listing, &task).into_iter();
        Ok(hints
            .filter(|packet| packet.form == Form::Hint)
            .map(|packet| {
                let mark = frame::mark(&packet.source, &packet.version);
                // What a note says cannot end the block, nor imitate the program.
                let said = sanitize::clean(&packet.content).replace('<', "‹");
                ContextPacket {
                    content: format!("{} {mark}: {said}", packet.kind.as_str()),
                    timestamp_s: packet.timestamp_ms / 1000,
                    tokens: packet.tokens,
                    relevance: packet.relevance,
                    source: packet.source,
                }
            })
            .collect())
    }
}

/// The mark of the note that a hint made here tells of.
pub fn hint_mark(hint: &str) -> Option<&str> {
    let (mark, _) = hint.split_once(' ')?.1.split_once(": ")?;
    mark.contains('@').then_some(mark)
}

/// The marks of the hints in a task's context; none in any other text.
pub fn hint_marks(block: &str) -> impl Iterator<Item = &str> {
    let lines = if block.starts_with("<task-context>") { block } else { "" };
    lines.lines().filter_map(|line| hint_mark(line.strip_prefix(LINE)?))
}

/// What the block of notes may take in a window of so many tokens, in tokens.
pub fn budget(window_tokens: u64) -> u64 {
    (window_tokens / NOTE_PART_OF_WINDOW).min(MAX_NOTE_TOKENS)
}

/// The notes that belong to the task and are not in front of the model already. Notes are a help: what is wrong with
/// their folder is for `mycode notes` to say, not for a turn to fail on.
pub fn block(
    text: &str,
    root: &Path,
    redactor: &Redactor,
    shown: &HashSet<String>,
    budget: u64,
) -> Option<Arc<str>> {
    let store = NoteStore::new(root);
    let listing = store.list().ok()?;
    let files: Vec<String> = mention::mentions(text).into_iter().map(|mention| mention.path).collect();
    let mut packets = retrieve::retrieve(
        &store,
        &listing,
        &Task {
            text,
            files: &files,
            budget_tokens: u32::try_from(budget).unwrap_or(u32::MAX),
            tokens: &estimate::estimate,
            shown: &|note: &Note| shown.contains(&frame::mark(&note.id, retrieve::version(note))),
            now_ms: clock::now_ms(),
        },
    );
    // The frame counts too; what goes first is what came last.
    while let Some(block) = frame::block(&packets) {
        let block = redactor.redact(&block, TextSource::Text);
        if u64::from(estimate::estimate(&block)) <= budget {
            return Some(block.into());
        }
        packets.pop();
    }
    None
}

/// The marks of the notes that the history holds. What was archived with its round may be shown again.
pub fn shown(conversation: &Conversation) -> HashSet<String> {
    let messages = conversation.history.entries().iter().filter_map(|entry| match &*entry.item {
        Item::User(message) => Some(message),
        _ => None,
    });
    let blocks = messages.flat_map(|message| &message.injected);
    let marks = |block: &Arc<str>| {
        let hinted = hint_marks(block).map(str::to_owned);
        frame::marks(block).into_iter().chain(hinted).collect::<Vec<_>>()
    };
    blocks.flat_map(marks).collect()
}
